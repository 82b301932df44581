//! The memory of the best validation epoch, as it was at the end of training.
//!
//! Weights change while memory grows, and the last weights fit the memory that grew with them:
//! memory rebuilt from the first event by those weights is another one (docs/evaluation.md has
//! figures). So what an epoch's training left is set aside before its validation, and kept if that
//! epoch is the best so far. From there on weights stand still: the memory after the validation
//! part, and after any event behind it, follows from what was kept, to the bit.

use zoetrope_nn::memory::VertexState;
use zoetrope_run::checkpoint::{SavedTensor, Tensors, entries};

use super::identity::Appearance;
use super::restore::must_be_of;
use super::session::EventSession;
use crate::error::TrainError;
use crate::learner::unfit;

/// The prefix of that memory in a checkpoint.
const MEMORY: &str = entries::BEST_MEMORY.name;

/// A state that knows the training part, of an epoch.
#[derive(Debug)]
pub(super) struct Kept {
    /// The epoch that left it, from 1.
    epoch: usize,
    state: VertexState,
}

impl Kept {
    /// The state alone.
    pub(super) fn into_state(self) -> VertexState {
        self.state
    }
}

/// Memory that grew with the weights in place.
#[derive(Debug)]
pub(super) struct Grown {
    /// How many events it knows.
    pub(super) events: usize,
    pub(super) state: VertexState,
}

impl EventSession {
    /// Sets a copy of the state aside: training of an epoch has ended, and validation follows.
    pub(super) fn set_aside(&mut self) {
        let Some(state) = &self.state else { return };
        let mut copy = self.spare.take().unwrap_or_else(|| state.fresh());
        copy.copy_from(state);
        self.spare = Some(copy);
    }

    /// Puts the state that was set aside back: validation was not finished.
    pub(super) fn put_back(&mut self) {
        if let (Some(state), Some(kept)) = (&mut self.state, &self.spare) {
            state.copy_from(kept);
        }
        (self.known, self.grew) = (None, false);
    }

    /// Keeps what was set aside if the epoch that has just ended is the best one.
    pub(super) fn keep_if_best(&mut self) {
        let epoch = self.learner.epochs().len();
        if self.learner.best_epoch().is_some_and(|(best, _)| best == epoch)
            && let Some(state) = self.spare.take()
        {
            self.spare = self.kept.replace(Kept { epoch, state }).map(|kept| kept.state);
        }
    }

    /// Puts the weights of the best epoch in place with the memory that its training left.
    pub(super) fn take_best(&mut self) {
        let Some((best, _)) = self.learner.best_epoch() else { return };
        self.learner.choose_best(&mut self.network.parameters);
        self.known = None;
        let kept = self.kept.take_if(|kept| kept.epoch == best);
        let events = self.material.split.train.end;
        self.grown = kept.map(|kept| Grown { events, state: kept.state });
    }

    /// The memory at the end of training that belongs to the weights which the run would choose now,
    /// for a checkpoint: that of the best epoch, or of the last one without a validation part.
    pub(super) fn save_memory(&self) -> Tensors {
        let last = if self.material.split.validation.is_empty() {
            let ended = self.grew && self.known == Some(self.material.split.train.end);
            self.state.as_ref().filter(|_| ended)
        } else {
            // No epoch is the best one if what is watched has no value.
            let is_between = self.learner.progress.frame == 0 && self.learner.progress.epoch > 0;
            self.spare.as_ref().filter(|_| self.learner.best_epoch().is_none() && is_between)
        };
        let Some(state) = self.kept.as_ref().map(|kept| &kept.state).or(last) else {
            return Tensors::new();
        };
        let order = Appearance::of(&self.material.store, self.material.split.train.end);
        let arrays = state.save_numbered(|vertex| order.place(vertex)).into_iter();
        arrays
            .map(|(name, dims, values)| (format!("{MEMORY}{name}"), SavedTensor::new(dims, values)))
            .collect()
    }

    /// Takes the memory of the best epoch from a checkpoint, if it has one.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] if it belongs to another model or data set.
    pub(super) fn restore_best(&mut self, hidden: &Tensors) -> Result<(), TrainError> {
        self.kept = None;
        let (Some(state), Some((epoch, _))) = (&self.state, self.learner.best_epoch()) else {
            return Ok(());
        };
        let order = Appearance::of(&self.material.store, self.material.split.train.end);
        let memory = read_memory(hidden, state, &order, self.material.store.len())?;
        self.kept = memory.map(|state| Kept { epoch, state });
        Ok(())
    }
}

/// The memory that a checkpoint kept, in a new state of the same shape as `like`; None if it kept
/// none. Its mails are of the first `events` events.
///
/// # Errors
/// [`TrainError::Unfit`] if it belongs to another model or data set.
pub(super) fn read_memory(
    hidden: &Tensors,
    like: &VertexState,
    order: &Appearance,
    events: usize,
) -> Result<Option<VertexState>, TrainError> {
    if !hidden.keys().any(|name| name.starts_with(MEMORY)) {
        return Ok(None);
    }
    let mut state = like.fresh();
    let find = |name: &str| {
        let saved = hidden.get(&format!("{MEMORY}{name}"));
        saved.map(|saved| (saved.dims(), saved.data()))
    };
    let vertex = |place: u32| order.vertex(place);
    state.restore_numbered(find, vertex).map_err(|name| unfit(&name))?;
    must_be_of(&state, events)?;
    Ok(Some(state))
}
