//! What the ranks of a run do together besides computing: agree, add up, count.

use zoetrope_dist::Reduction;

use super::Session;
use crate::course::RunTraffic;
use crate::error::TrainError;
use crate::run::Bytes;

impl Session {
    /// Whether any rank says so; all of them ask at the same place.
    ///
    /// # Errors
    /// Where a rank is lost.
    pub fn agree(&self, says: bool) -> Result<bool, TrainError> {
        let Some(team) = self.runner.team() else { return Ok(says) };
        Ok(team.ranks.all_reduce_one(u64::from(says), Reduction::Max)? > 0)
    }

    /// Tells other ranks that something follows that may take longer than computing.
    pub fn take_time(&self) {
        if let Some(team) = self.runner.team() {
            team.ranks.take_time();
        }
    }

    /// What ranks have sent each other so far, in training and evaluation.
    ///
    /// # Errors
    /// Where a rank is lost.
    pub fn traffic(&self) -> Result<Option<RunTraffic>, TrainError> {
        let Some(team) = self.runner.team() else { return Ok(None) };
        let own = team.ranks.traffic();
        let kinds =
            [own.all_to_all, own.all_reduce, own.all_gather, own.broadcast, own.point_to_point];
        let mut sums = kinds.map(|cost| cost.bytes);
        team.ranks.all_reduce(&mut sums, Reduction::Sum)?;
        let [all_to_all, all_reduce, all_gather, broadcast, point_to_point] = sums;
        // A broadcast is a message from one to each of the others.
        let point_to_point = point_to_point + broadcast;
        let bytes =
            Bytes { all_to_all, all_reduce, all_gather, point_to_point, ..Bytes::default() };
        Ok(Some(RunTraffic { bytes, own_seconds: own.seconds() }))
    }

    /// Waits for a card, and takes over what it found.
    pub(super) fn collect(&mut self) -> Result<(), TrainError> {
        let ranks = self.runner.team().map(|team| &team.ranks);
        let sum = |losses: &mut [f64]| match ranks {
            Some(ranks) => Ok(ranks.all_reduce(losses, Reduction::Sum)?),
            None => Ok(()),
        };
        self.learner.collect(&mut self.network.parameters, "frame", sum)
    }

    /// Adds up the gradients of all ranks.
    pub(super) fn share_gradients(&mut self) -> Result<(), TrainError> {
        let Some(team) = self.runner.team() else { return Ok(()) };
        let ranks = team.ranks.clone();
        self.learner.reduce_gradients(&self.network.parameters, &ranks)?;
        ranks.set_step(self.learner.progress.frames);
        Ok(())
    }
}
