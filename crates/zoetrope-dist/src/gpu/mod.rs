//! Messages between the GPUs of ranks, which never pass the host.
//!
//! If every rank has a GPU of its own and NCCL is installed ([`Ranks::link_gpus`]), rows and sums are sent
//! from GPU to GPU in the compute stream. Everything else is as through the host: who sends what to whom,
//! the order of sums, what is counted, and how a lost rank is reported.
//!
//! The host launches messages and does not wait; its GPU waits for the other GPUs. So supervision has to
//! know what the GPU waits for: each message lies between two CUDA events, and whenever the host waits for
//! the GPU it asks which of them have passed ([`WaitHook`]). Once a rank is lost the link is ended, which
//! lets the GPU finish with meaningless results, and [`Ranks::check`] returns the error.

mod join;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zoetrope_tensor::Gpu;
use zoetrope_tensor::cuda::{CudaError, Event, Incoming, Link, RowLists, View, ViewMut, WaitHook};

use crate::communicator::{Communicator, Fault};
use crate::error::DistError;
#[cfg(feature = "faults")]
use crate::fault_point;
use crate::ranks::{Ranks, all_reduce_bytes, all_reduce_slices};
use crate::site::{Call, Site};
use crate::sync::lock;

pub use join::{NoLink, SHARE_VARIABLE};

/// How long a failure of NCCL may wait for a verdict that names the rank behind it.
const VERDICT_WAIT: Duration = Duration::from_secs(2);

/// Messages that are in the stream.
#[derive(Debug)]
struct RunningCall {
    site: Site,
    begin: Event,
    end: Event,
}

/// The link of this rank's GPU with those of all others.
#[derive(Debug)]
pub(crate) struct GpuLink {
    communicator: Arc<dyn Communicator>,
    link: Link,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    under_way: VecDeque<RunningCall>,
    /// The message that this rank is shown to wait for.
    shown: Option<Site>,
    /// When NCCL first failed.
    failed: Option<Instant>,
    ended: bool,
}

impl GpuLink {
    fn new(communicator: Arc<dyn Communicator>, link: Link) -> Self {
        Self { communicator, link, state: Mutex::default() }
    }

    /// Waits until NCCL has completed its last call, visibly to the others; for ever, or for the given
    /// time.
    fn settle(&self, site: Site, most: Option<Duration>) -> Result<(), Fault> {
        let start = Instant::now();
        let through = loop {
            match self.link.is_through() {
                Ok(true) => break Ok(()),
                Ok(false) => {}
                // While GPUs are being linked nobody else has seen it yet, and all will agree.
                Err(error) if most.is_some() => break Err(error.into()),
                Err(error) => self.failed(&error),
            }
            if let Some(verdict) = self.communicator.board().verdict() {
                self.end();
                break Err(Fault::Lost(verdict.clone()));
            }
            if most.is_some_and(|most| start.elapsed() > most) {
                let reason =
                    format!("not all GPUs joined within {:.0} s", start.elapsed().as_secs_f64());
                break Err(CudaError::Call { call: "linking GPUs", reason }.into());
            }
            self.show(Some(site));
            self.communicator.look_after();
            pause(start.elapsed());
        };
        self.show(None);
        through
    }

    /// Writes down what this rank waits for, if that has changed.
    fn show(&self, site: Option<Site>) {
        let mut state = lock(&self.state);
        if state.shown != site {
            state.shown = site;
            let (board, rank) = (self.communicator.board(), self.communicator.rank());
            board.update(rank, |position| position.waits = site);
        }
    }

    /// NCCL says that something failed, but seldom which rank caused it: a rank that was lost is found by those
    /// who watch it. If they find none, it is this rank that cannot go on.
    fn failed(&self, error: &CudaError) {
        let since = *lock(&self.state).failed.get_or_insert_with(Instant::now);
        if since.elapsed() > VERDICT_WAIT {
            let board = self.communicator.board();
            let how = format!("its GPU lost the link with the others: {error}");
            self.communicator.condemn(board.ended(self.communicator.rank(), how));
        }
    }

    /// Ends the link: nothing waits in it any more.
    fn end(&self) {
        let ended = std::mem::replace(&mut lock(&self.state).ended, true);
        if !ended {
            self.link.abort();
        }
    }

    /// Remembers messages that are in the stream since `begin`.
    fn note(&self, site: Site, begin: Event) {
        let end = self.link.gpu().mark();
        let mut state = lock(&self.state);
        state.forget_done();
        state.under_way.push_back(RunningCall { site, begin, end });
    }
}

impl Drop for GpuLink {
    fn drop(&mut self) {
        // A link that ends in order waits for the others, of whom one is gone.
        if self.communicator.board().verdict().is_some() {
            self.end();
        }
    }
}

impl State {
    fn forget_done(&mut self) {
        while self.under_way.front().is_some_and(|first| first.end.is_over()) {
            self.under_way.pop_front();
        }
    }
}

impl WaitHook for GpuLink {
    fn look(&self) {
        if self.communicator.board().verdict().is_some() {
            return self.end();
        }
        let site = {
            let mut state = lock(&self.state);
            state.forget_done();
            // A GPU that computes does not wait for another rank, however long that takes.
            state.under_way.front().filter(|first| first.begin.is_over()).map(|first| first.site)
        };
        self.show(site);
        if let Err(error) = self.link.is_through() {
            self.failed(&error);
        }
        self.communicator.look_after();
    }

    fn over(&self) {
        self.show(None);
    }
}

/// Rests between two looks.
fn pause(waited: Duration) {
    const SPIN_LIMIT: Duration = Duration::from_micros(200);
    if waited < SPIN_LIMIT {
        std::thread::yield_now()
    } else {
        std::thread::sleep((waited / 20).min(Duration::from_millis(1)))
    }
}

impl From<CudaError> for Fault {
    fn from(error: CudaError) -> Self {
        Self::Gpu(error)
    }
}

impl Ranks {
    /// Whether rows and sums of that GPU go to other GPUs without passing the host.
    pub fn are_linked(&self, gpu: &Gpu) -> bool {
        self.gpu_link().is_some_and(|gpus| gpus.link.gpu() == gpu)
    }

    /// The GPU that is linked with those of the other ranks.
    pub(crate) fn linked_gpu(&self) -> Option<&Gpu> {
        self.gpu_link().map(|gpus| gpus.link.gpu())
    }

    /// Replaces values on the linked GPU by their sums over all ranks: the bits of
    /// [`all_reduce`](Ranks::all_reduce), and its bytes. Does not wait for the GPU.
    ///
    /// # Errors
    /// If a rank is lost, or no GPU is linked.
    pub fn all_reduce_on_gpu(&self, values: ViewMut<'_>) -> Result<(), DistError> {
        let slices = all_reduce_slices(values.len(), size_of::<f32>(), self.size());
        let bytes = all_reduce_bytes(values.len(), size_of::<f32>(), self.rank(), self.size());
        self.between_gpus(Call::AllReduce, bytes, |gpus, site| {
            gpus.link.sum(values, slices.as_deref(), || gpus.settle(site, None))
        })
    }

    /// Sends rows of the linked GPU and receives those of others.
    pub(crate) fn send_rows(
        &self,
        lists: &RowLists,
        x: View<'_>,
        cols: usize,
    ) -> Result<Incoming, DistError> {
        self.between_gpus(Call::Exchange, lists.bytes(cols), |gpus, site| {
            gpus.link.send_rows(lists, x, cols, || gpus.settle(site, None))
        })
    }

    /// Launches messages; counts what leaves.
    fn between_gpus<R>(
        &self,
        call: Call,
        bytes: usize,
        launch: impl FnOnce(&GpuLink, Site) -> Result<R, Fault>,
    ) -> Result<R, DistError> {
        self.check()?;
        let site = self.enter(call)?;
        let Some(gpus) = self.gpu_link() else {
            return Err(self.refuse(site, "the GPU", "linked", "not"));
        };
        self.timed(call, || {
            self.count_bytes(call, bytes);
            let begin = gpus.link.gpu().mark();
            let result = launch(gpus, site).map_err(|fault| self.fail(Some(site), fault))?;
            gpus.note(site, begin);
            #[cfg(feature = "faults")]
            fault_point::pass_rank(self.rank(), site, fault_point::Moment::In);
            Ok(result)
        })
    }
}
