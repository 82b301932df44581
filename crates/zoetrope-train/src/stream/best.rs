//! The memory of the best validation epoch.
//!
//! Weights change while memory grows, and the last weights fit the memory that grew with them:
//! memory rebuilt from the first event by those weights is another one. (tgn on the enron events,
//! rate 1e-3, the weights of the fourth epoch: AP 0.858 on the test part with the memory that the
//! epoch left, 0.555 with memory rebuilt.) So the state that the best epoch left after its
//! validation part is set aside when the next epoch begins, and the test part goes on from it.
//!
//! Nothing is copied: two states take turns. A run of one epoch, or one without a validation part,
//! has one.

use zoetrope_nn::memory::VertexState;

use super::session::StreamSession;
use crate::checkpoint::{SavedTensor, Tensors};
use crate::error::TrainError;
use crate::learner::unfit;

/// The prefix of the state of the best epoch in a checkpoint.
const BEST: &str = "best/";

/// A state that knows the training and the validation part.
#[derive(Debug)]
pub(super) struct Kept {
    /// The epoch that left it, from 1.
    epoch: usize,
    state: VertexState,
}

impl StreamSession {
    /// Sets the state aside where it is what the best epoch left. The state in place is then any.
    pub(super) fn set_best_aside(&mut self) {
        if !self.holds_best() {
            return;
        }
        let Some(state) = &mut self.state else { return };
        let spare = self.kept.take().map_or_else(|| state.fresh(), |kept| kept.state);
        let state = std::mem::replace(state, spare);
        self.kept = Some(Kept { epoch: self.learner.epochs().len(), state });
        self.known = None;
    }

    /// Puts the weights of the best epoch in place with the memory that it left.
    pub(super) fn take_best(&mut self) {
        if self.holds_best() {
            return;
        }
        let Some((best, _)) = self.learner.best_epoch() else { return };
        self.learner.choose_best(&mut self.network.parameters);
        self.known = None;
        if let Some(kept) = self.kept.take_if(|kept| kept.epoch == best) {
            self.state = Some(kept.state);
            self.known = Some(self.material.split.validation.end);
        }
    }

    /// Whether the last epoch is the best one and the state in place is what it left.
    fn holds_best(&self) -> bool {
        let last = self.learner.epochs().len();
        self.learner.best_epoch().is_some_and(|(best, _)| best == last)
            && self.known == Some(self.material.split.validation.end)
    }

    /// The state of the best epoch for a checkpoint.
    pub(super) fn save_best(&self) -> Tensors {
        let state = match &self.state {
            Some(state) if self.holds_best() => Some(state),
            _ => self.kept.as_ref().map(|kept| &kept.state),
        };
        let arrays = state.map_or_else(Vec::new, VertexState::save);
        let named =
            |(name, dims, values)| (format!("{BEST}{name}"), SavedTensor::new(dims, values));
        arrays.into_iter().map(named).collect()
    }

    /// Takes the state of the best epoch from a checkpoint, if it has one.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] where it belongs to another model or data set.
    pub(super) fn restore_best(&mut self, hidden: &Tensors) -> Result<(), TrainError> {
        self.kept = None;
        let saved = hidden.keys().any(|name| name.starts_with(BEST));
        let (Some(state), Some((epoch, _))) = (&self.state, self.learner.best_epoch()) else {
            return Ok(());
        };
        if saved {
            let mut state = state.fresh();
            let find = |name: &str| {
                let saved = hidden.get(&format!("{BEST}{name}"));
                saved.map(|saved| (saved.dims(), saved.data()))
            };
            state.restore(find).map_err(|name| unfit(&name))?;
            self.kept = Some(Kept { epoch, state });
        }
        Ok(())
    }
}
