//! Checkpoints that are written while training goes on.
//!
//! The state is copied between two epochs. A thread of its own hashes the copy, writes it, flushes it and
//! reads it back while the next epoch is computed. One copy is on its way at a time: a disk that needs
//! longer than an epoch slows training down rather than fill the memory with states. What goes wrong is
//! told at the next save.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use zoetrope_heap::during;

use crate::checkpoint::{CheckpointStore, SavedState};
use crate::error::TrainError;
use crate::stages;

/// Writes the checkpoints of a run.
pub(super) struct Saver {
    store: CheckpointStore,
    under_way: Option<JoinHandle<Result<(), TrainError>>>,
}

impl Saver {
    /// A saver with nothing on its way.
    pub(super) fn new(store: CheckpointStore) -> Self {
        Self { store, under_way: None }
    }

    /// Begins to save a state, as soon as the one before is saved.
    ///
    /// # Errors
    /// If the save before failed, or a number of the state is not finite.
    pub(super) fn begin(&mut self, state: SavedState) -> Result<(), TrainError> {
        self.wait()?;
        state.check_finite()?;
        let (store, state) = (self.store.clone(), Arc::new(state));
        let copy = Arc::clone(&state);
        let started = Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || store.save(&copy).map(|_written| ()));
        match started {
            Ok(thread) => self.under_way = Some(thread),
            // The system has no thread to give: it is saved before training goes on.
            Err(_) => self.save(&state)?,
        }
        Ok(())
    }

    /// Saves a state; when this returns, it is on the disk.
    ///
    /// # Errors
    /// If this save or the one before failed.
    pub(super) fn save(&mut self, state: &SavedState) -> Result<(), TrainError> {
        self.wait()?;
        let _saving = during(&stages::SAVING);
        self.store.save(state).map(|_written| ())
    }

    /// Waits for what is on its way.
    fn wait(&mut self) -> Result<(), TrainError> {
        match self.under_way.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(saved)) => saved,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Saver {
    /// A run that fails leaves what it was saving; how it failed matters more than how the save ended.
    fn drop(&mut self) {
        if let Some(thread) = self.under_way.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_behind_is_told_at_the_next_save() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "no folder").unwrap();
        let mut saver = Saver::new(CheckpointStore::new(file.join("checkpoints"), 1));
        saver.begin(SavedState::default()).unwrap();
        assert!(matches!(saver.begin(SavedState::default()), Err(TrainError::Io { .. })));
        // It was told; the next one is tried again.
        saver.begin(SavedState::default()).unwrap();
    }

    #[test]
    fn what_is_on_its_way_is_saved_when_a_run_ends_early() {
        let folder = tempfile::tempdir().unwrap();
        let store = CheckpointStore::new(folder.path().join("checkpoints"), 1);
        let mut saver = Saver::new(store.clone());
        saver.begin(SavedState::default()).unwrap();
        drop(saver);
        assert!(store.load_latest().unwrap().is_some());
    }
}
