//! The whole state of a run over events, to and from a checkpoint.

use zoetrope_nn::memory::VertexState;
use zoetrope_run::checkpoint::{SavedState, SavedTensor, Tensors};

use super::identity::EventRecord;
use super::recall::EVENTS;
use super::session::EventSession;
use crate::error::TrainError;
use crate::learner::unfit;
use crate::training_run::Checkpointed;

impl Checkpointed for EventSession {
    /// An epoch begins with an empty memory, so that memory is kept inside an epoch only.
    fn save(&self) -> SavedState {
        let inside = self.learner.progress.frame > 0;
        let state = self.state.as_ref().filter(|_| inside);
        let hidden = state.map_or_else(Vec::new, |state| state.save());
        let mut hidden: Tensors = hidden
            .into_iter()
            .map(|(name, dims, values)| (name, SavedTensor::new(dims, values)))
            .collect();
        hidden.extend(self.save_memory());
        let mut state = self.learner.save(&self.network.parameters, self.config.train.seed, hidden);
        let record = serde_json::to_value(self.material.record()).unwrap_or_default();
        state.cursor.parts.insert(EVENTS.to_owned(), record);
        state
    }

    fn restore(&mut self, state: SavedState) -> Result<(), TrainError> {
        let seed = self.config.train.seed;
        // Checkpoints of older versions do not say which events they belong to.
        if state.cursor.parts.contains_key(EVENTS)
            && state.cursor.get::<EventRecord>(EVENTS)? != *self.material.record()
        {
            return Err(unfit("the data"));
        }
        let hidden = self.learner.restore(&mut self.network.parameters, seed, state)?;
        self.forget();
        self.known = None;
        self.restore_best(&hidden)?;
        let inside = self.learner.progress.frame > 0;
        if let Some(state) = self.state.as_mut().filter(|_| inside) {
            let find = |name: &str| hidden.get(name).map(|saved| (saved.dims(), saved.data()));
            state.restore(find).map_err(|name| unfit(&name))?;
            must_be_of(state, self.material.store.len())?;
        }
        Ok(())
    }
}

/// Refuses a state whose mails are of events that the data does not have.
pub(super) fn must_be_of(state: &VertexState, events: usize) -> Result<(), TrainError> {
    if state.mails_are_below(events) { Ok(()) } else { Err(unfit("mail_events")) }
}
