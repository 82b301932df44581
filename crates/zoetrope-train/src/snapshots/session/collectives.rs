//! What the ranks of a run do together besides computing: agree, add up, count.

use zoetrope_dist::{Ranks, Reduction};
use zoetrope_nn::forward::BatchStatistics;
use zoetrope_run::{Bytes, DeviceUse};

use super::Session;
use super::cuda_graphs::Between;
use crate::error::TrainError;
use crate::training_run::{Collectives, RunTraffic};

/// What a rank that takes frames of its own found in those of an update, before all ranks know it.
#[derive(Debug, Default)]
pub(super) struct OwnFrames {
    losses: Vec<f64>,
    /// Of the frame that is computed.
    statistics: Vec<BatchStatistics>,
    /// Of the frames before it, with their places in the epoch.
    placed: Vec<(u64, BatchStatistics)>,
}

impl Collectives for Session {
    fn agree(&self, says: bool) -> Result<bool, TrainError> {
        let Some(ranks) = &self.ranks else { return Ok(says) };
        Ok(ranks.all_reduce_one(u64::from(says), Reduction::Max)? > 0)
    }

    fn take_time(&self) {
        if let Some(ranks) = &self.ranks {
            ranks.take_time();
        }
    }

    fn traffic(&self) -> Result<Option<RunTraffic>, TrainError> {
        let Some(ranks) = &self.ranks else { return Ok(None) };
        let own = ranks.traffic();
        let kinds =
            [own.all_to_all, own.all_reduce, own.all_gather, own.broadcast, own.point_to_point];
        let mut sums = kinds.map(|cost| cost.bytes);
        ranks.all_reduce(&mut sums, Reduction::Sum)?;
        let [all_to_all, all_reduce, all_gather, broadcast, point_to_point] = sums;
        // A broadcast is a message from one to each of the others.
        let point_to_point = point_to_point + broadcast;
        let bytes =
            Bytes { all_to_all, all_reduce, all_gather, point_to_point, ..Bytes::default() };
        Ok(Some(RunTraffic { bytes, own_seconds: own.seconds() }))
    }

    fn devices(&self) -> Result<Vec<DeviceUse>, TrainError> {
        let Some(gpu) = self.tape.device().gpu() else { return Ok(Vec::new()) };
        let memory = gpu.memory_use();
        let [sent, predicted] = self.sent;
        let is_predicted = u64::from(self.forecast.is_some());
        let own = [memory.peak as u64, memory.limit as u64, sent, predicted, is_predicted];
        let all = match &self.ranks {
            Some(ranks) => ranks.all_gather_varied(&own)?,
            None => vec![own.to_vec()],
        };
        let of = |one: &Vec<u64>| {
            let at = |place: usize| one.get(place).copied().unwrap_or(0);
            let (peak_bytes, limit_bytes) = (at(0), at(1));
            let predicted_bytes = (at(4) > 0).then(|| at(3));
            DeviceUse { peak_bytes, limit_bytes, sent_bytes: at(2), predicted_bytes }
        };
        Ok(all.iter().map(of).collect())
    }
}

impl Session {
    /// A frame of this rank is through, at that place of the update.
    pub(super) fn end_frame(&mut self, place: usize, share: f64) {
        if !self.shares_frames() {
            return self.learner.end_frame(share);
        }
        let loss = self.learner.set_frame_aside(share);
        let place = (self.learner.progress.frame + place) as u64;
        if share > 0.0 {
            self.own_losses.push(place);
        }
        self.own_frames.losses.extend(loss);
        let statistics = std::mem::take(&mut self.own_frames.statistics);
        for one in statistics {
            self.own_frames.placed.push((place, one));
        }
    }

    /// Moves the running statistics of batch norms towards those of the frame that is on the tape: at once, or
    /// after the update in the order of its frames if ranks take different ones.
    pub(super) fn apply_updates(&mut self) {
        if self.shares_frames() {
            self.own_frames.statistics.extend(self.updates.take(&self.tape));
        } else {
            self.updates.apply(&self.tape, &mut self.network.parameters);
        }
    }

    /// What ranks that take different frames of an update tell each other besides gradients: losses, and
    /// statistics of batch norms, both counted in the order of frames as one rank would.
    pub(super) fn share_frames(&mut self) -> Result<(), TrainError> {
        let Some(ranks) = self.ranks.clone().filter(|_| self.shares_frames()) else {
            return Ok(());
        };
        let placed = std::mem::take(&mut self.own_frames.placed);
        for statistics in statistics_in_order(&ranks, &placed)? {
            statistics.apply(&mut self.network.parameters, self.tape.device());
        }
        if self.learner.is_on_gpu() {
            return Ok(());
        }
        let mut losses = std::mem::take(&mut self.own_frames.losses);
        let places = std::mem::take(&mut self.own_losses);
        in_order(&ranks, &places, &mut losses)?;
        self.learner.add_losses(losses);
        Ok(())
    }

    /// Waits for a GPU, and takes over what it found.
    pub(super) fn collect(&mut self) -> Result<(), TrainError> {
        let by_frames = self.shares_frames();
        let (ranks, places) = (self.ranks.as_ref(), std::mem::take(&mut self.own_losses));
        let share = |losses: &mut Vec<f64>| match ranks {
            Some(ranks) if by_frames => in_order(ranks, &places, losses),
            Some(ranks) => Ok(ranks.all_reduce(losses, Reduction::Sum)?),
            None => Ok(()),
        };
        self.learner.collect(&mut self.network.parameters, "frame", share)
    }

    /// Adds up the gradients of all ranks, if there are several.
    pub(super) fn share_gradients(&mut self) -> Result<(), TrainError> {
        if self.ranks.is_none() { Ok(()) } else { self.apart(Between::Gradients) }
    }

    pub(super) fn add_up_gradients(&mut self) -> Result<(), TrainError> {
        let Some(ranks) = self.ranks.clone() else { return Ok(()) };
        ranks.check()?;
        self.learner.reduce_gradients(&self.network.parameters, &ranks)?;
        ranks.set_step(self.learner.progress.frames);
        Ok(())
    }
}

/// Replaces the losses of this rank, found at those places of an epoch, by those of all ranks in the order of
/// their places.
fn in_order(ranks: &Ranks, places: &[u64], losses: &mut Vec<f64>) -> Result<(), TrainError> {
    debug_assert_eq!(places.len(), losses.len());
    let own = places.iter().zip(losses.iter());
    let own: Vec<u64> = own.flat_map(|(&place, loss)| [place, loss.to_bits()]).collect();
    let all = ranks.all_gather_varied(&own)?;
    let mut found: Vec<(u64, u64)> =
        all.iter().flat_map(|one| one.chunks_exact(2).map(|pair| (pair[0], pair[1]))).collect();
    found.sort_unstable();
    *losses = found.into_iter().map(|(_, bits)| f64::from_bits(bits)).collect();
    Ok(())
}

/// The statistics of batches of all ranks, in the order of their frames.
fn statistics_in_order(
    ranks: &Ranks,
    own: &[(u64, BatchStatistics)],
) -> Result<Vec<BatchStatistics>, TrainError> {
    let mut words = Vec::new();
    for (place, statistics) in own {
        words.extend([*place as u32, (*place >> 32) as u32]);
        statistics.pack(&mut words);
    }
    let mut found = Vec::new();
    for (rank, words) in ranks.all_gather_varied(&words)?.iter().enumerate() {
        let mut rest = &words[..];
        while let Some((&[low, high], behind)) = rest.split_first_chunk() {
            rest = behind;
            let place = u64::from(low) | u64::from(high) << 32;
            // Ranks run the same program: what one packs all can read.
            let Some(statistics) = BatchStatistics::unpack(&mut rest) else { break };
            found.push((place, rank, statistics));
        }
    }
    // A frame has one rank, whose statistics stand in the order of its layers.
    found.sort_by_key(|&(place, rank, _)| (place, rank));
    Ok(found.into_iter().map(|(.., statistics)| statistics).collect())
}
