//! Linking the GPUs of all ranks, or agreeing not to.
//!
//! The ranks are already connected, by threads or MPI. Over that connection each says which GPU it has, the
//! first rank sends the identifier with which NCCL connects them, and afterwards all say whether that
//! worked. So all ranks use the link or none does, whichever of them failed.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zoetrope_tensor::Gpu;
use zoetrope_tensor::cuda::{CudaError, ID_BYTES, Link, WaitHook, link_version};

use super::GpuLink;
use crate::communicator::Fault;
use crate::error::DistError;
use crate::ranks::Ranks;
use crate::site::Call;

/// Set to 1, ranks with one GPU are not kept from NCCL, which refuses them unless it takes them for ranks
/// of different hosts: for tests on a machine with one GPU.
pub const SHARE_VARIABLE: &str = "ZOETROPE_SHARE_CARD";

/// The most time that linking GPUs may take; less if ranks wait less long for each other.
const LINK_TIMEOUT_MAX: Duration = Duration::from_secs(30);

/// Why GPUs cannot be linked. All ranks get the same reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoLink {
    /// There is no other rank to link with.
    #[error("there is one rank")]
    Alone,
    /// A rank has no NCCL.
    #[error("rank {rank} has no NCCL: {problem}")]
    Missing {
        /// The rank.
        rank: usize,
        /// What it found instead.
        problem: String,
    },
    /// NCCL links one GPU a rank.
    #[error("ranks {} and {} share a GPU, and NCCL links one GPU for each rank", ranks[0], ranks[1])]
    Shared {
        /// Two that do.
        ranks: [usize; 2],
    },
    /// NCCL refused, or did not get through.
    #[error("rank {rank} could not link its GPU: {problem}")]
    Refused {
        /// The first rank that could not.
        rank: usize,
        /// What NCCL said.
        problem: String,
    },
}

/// What a rank says about its GPU.
#[derive(Debug, Serialize, Deserialize)]
struct Offer {
    identity: Result<[u8; 16], String>,
    may_share: bool,
}

impl Offer {
    fn of(gpu: &Gpu) -> Self {
        let known = link_version().and_then(|_| gpu.identity());
        let may_share = std::env::var_os(SHARE_VARIABLE).is_some_and(|value| value == "1");
        Self { identity: known.map_err(|problem| problem.to_string()), may_share }
    }
}

/// Whether GPUs can be linked, as far as the offers tell.
fn judge(offers: &[Offer]) -> Result<(), NoLink> {
    let mut seen: Vec<&[u8; 16]> = Vec::new();
    for (rank, offer) in offers.iter().enumerate() {
        let identity = offer.identity.as_ref();
        let identity =
            identity.map_err(|problem| NoLink::Missing { rank, problem: problem.clone() })?;
        if let Some(other) = seen.iter().position(|known| *known == identity)
            && !(offer.may_share && offers[other].may_share)
        {
            return Err(NoLink::Shared { ranks: [other, rank] });
        }
        seen.push(identity);
    }
    Ok(())
}

impl Ranks {
    /// Links this rank's GPU with those of all others, so that rows and sums no longer pass the host.
    /// All ranks call it, and all get the same answer.
    ///
    /// # Errors
    /// If a rank is lost; inside, why the GPUs cannot be linked.
    pub fn link_gpus(&self, gpu: &Gpu) -> Result<Result<(), NoLink>, DistError> {
        if self.size() == 1 {
            return Ok(Err(NoLink::Alone));
        }
        if let Err(reason) = judge(&self.told(&Offer::of(gpu))?) {
            return Ok(Err(reason));
        }
        let made = (self.rank() == 0).then(Link::fresh_id);
        let mut id = [0; ID_BYTES];
        if let Some(Ok(made)) = &made {
            id = *made;
        }
        self.broadcast(0, &mut id)?;
        let met = match made {
            Some(Err(error)) => Err(error),
            // What a failed first rank sends is no number of NCCL's.
            _ if id == [0; ID_BYTES] => Ok(None),
            _ => self.meet_gpus(gpu, id)?.map(Some),
        };
        let problem = met.as_ref().err().map(ToString::to_string);
        let problems: Vec<Option<String>> = self.told(&problem)?;
        if let Some((rank, problem)) =
            problems.into_iter().enumerate().find_map(|(rank, one)| Some((rank, one?)))
        {
            if let Ok(Some(gpus)) = met {
                gpus.end();
            }
            return Ok(Err(NoLink::Refused { rank, problem }));
        }
        if let Ok(Some(gpus)) = met {
            let watched: Arc<dyn WaitHook> = Arc::clone(&gpus) as _;
            gpu.set_wait_hook(Arc::downgrade(&watched));
            self.keep_gpus(gpus);
        }
        Ok(Ok(()))
    }

    fn meet_gpus(
        &self,
        gpu: &Gpu,
        id: [u8; ID_BYTES],
    ) -> Result<Result<Arc<GpuLink>, CudaError>, DistError> {
        let site = self.enter(Call::Link)?;
        let link = match Link::meet(gpu, id, self.rank(), self.size()) {
            Ok(link) => link,
            Err(error) => return Ok(Err(error)),
        };
        let gpus = Arc::new(GpuLink::new(Arc::clone(self.communicator()), link));
        let most = LINK_TIMEOUT_MAX.min(self.communicator().board().timeouts().timeout / 2);
        match self.timed(site.call, || gpus.settle(site, Some(most))) {
            Ok(()) => Ok(Ok(gpus)),
            Err(Fault::Gpu(error)) => {
                gpus.end();
                Ok(Err(error))
            }
            Err(fault) => Err(self.fail(Some(site), fault)),
        }
    }

    /// What everyone says, by rank.
    fn told<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Vec<T>, DistError> {
        let text = serde_json::to_vec(own).expect("plain data can be written");
        let all = self.all_gather_varied(&text)?;
        let read = |text: Vec<u8>| serde_json::from_slice(&text).ok();
        let read: Option<Vec<T>> = all.into_iter().map(read).collect();
        read.ok_or_else(|| DistError::Channel {
            rank: self.rank(),
            message: "a rank speaks another language: is it the same version?".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(gpu: u8, may_share: bool) -> Offer {
        Offer { identity: Ok([gpu; 16]), may_share }
    }

    #[test]
    fn gpus_are_linked_where_everyone_has_one_and_nccl() {
        assert_eq!(judge(&[offer(0, false), offer(1, false)]), Ok(()));
        let shared = [offer(0, false), offer(1, false), offer(1, true)];
        assert_eq!(judge(&shared), Err(NoLink::Shared { ranks: [1, 2] }));
        assert_eq!(judge(&[offer(0, true), offer(0, true)]), Ok(()));
        let missing = Offer { identity: Err("not found".to_owned()), may_share: false };
        let reason = judge(&[offer(0, false), missing]).unwrap_err();
        assert_eq!(reason.to_string(), "rank 1 has no NCCL: not found");
    }
}
