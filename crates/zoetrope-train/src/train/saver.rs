//! Checkpoints that are written while training goes on.
//!
//! The state is copied between two epochs. A thread of its own hashes the copy, writes it, flushes it and
//! reads it back while the next epochs are computed. One copy is on its way at a time, so that a slow disk
//! does not fill the memory with states. When a due checkpoint is begun, `Pace` says: one that waits
//! stays due, and the state at the end of the epoch at which it may begin is the one that is saved.
//! What goes wrong is told at the end of the next epoch.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use zoetrope_heap::during;
use zoetrope_run::RunError;
use zoetrope_run::checkpoint::{CheckpointStore, SavedState};

use crate::error::TrainError;
use crate::stages;
use crate::train::pace::Pace;

/// Writes the checkpoints of a run.
pub(super) struct Saver {
    store: CheckpointStore,
    pace: Pace,
    is_due: bool,
    /// The save on its way, which ends with how long it took.
    under_way: Option<JoinHandle<Result<Duration, RunError>>>,
}

impl Saver {
    /// A saver with nothing on its way, whose saves may take a share of the time.
    pub(super) fn new(store: CheckpointStore, share: Option<f64>) -> Self {
        Self { store, pace: Pace::new(share), is_due: false, under_way: None }
    }

    /// The end of an epoch: takes the state and begins to save it, if a checkpoint is due now or since
    /// an earlier epoch and need not wait.
    ///
    /// # Errors
    /// If a save that is over failed, or a number of the state is not finite.
    pub(super) fn epoch(
        &mut self,
        is_due: bool,
        state: impl FnOnce() -> SavedState,
    ) -> Result<(), TrainError> {
        self.is_due |= is_due;
        if self.under_way.as_ref().is_some_and(JoinHandle::is_finished) {
            self.wait()?;
        }
        let now = Instant::now();
        if self.is_due && self.pace.allows(now) {
            self.is_due = false;
            self.begin(now, state)?;
        }
        Ok(())
    }

    /// Begins to save a state, as soon as the one before is saved.
    fn begin(&mut self, at: Instant, state: impl FnOnce() -> SavedState) -> Result<(), TrainError> {
        self.wait()?;
        let state = state();
        state.check_finite()?;
        self.pace.begun(at);
        let (store, state) = (self.store.clone(), Arc::new(state));
        let copy = Arc::clone(&state);
        let started = Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || store.save(&copy).map(|_written| at.elapsed()));
        match started {
            Ok(thread) => self.under_way = Some(thread),
            // The system has no thread to give: it is saved before training goes on.
            Err(_) => {
                self.save(&state)?;
                self.pace.over(at.elapsed());
            }
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
        self.store.save(state)?;
        Ok(())
    }

    /// Waits for what is on its way.
    fn wait(&mut self) -> Result<(), TrainError> {
        match self.under_way.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(saved)) => {
                self.pace.over(saved?);
                Ok(())
            }
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
        let mut saver = Saver::new(CheckpointStore::new(file.join("checkpoints"), 1), None);
        saver.epoch(true, SavedState::default).unwrap();
        assert!(matches!(
            saver.save(&SavedState::default()),
            Err(TrainError::Run(RunError::Io { .. }))
        ));
        // It was told; the next one is tried again.
        saver.epoch(true, SavedState::default).unwrap();
    }

    #[test]
    fn what_is_on_its_way_is_saved_when_a_run_ends_early() {
        let folder = tempfile::tempdir().unwrap();
        let store = CheckpointStore::new(folder.path().join("checkpoints"), 1);
        let mut saver = Saver::new(store.clone(), Some(0.03));
        saver.epoch(true, SavedState::default).unwrap();
        drop(saver);
        assert!(store.load_latest().unwrap().is_some());
    }

    /// The state after so many updates.
    fn state(step: u64) -> SavedState {
        let mut state = SavedState::default();
        state.cursor.step = step;
        state
    }

    #[test]
    fn a_checkpoint_that_waits_stays_due_and_the_last_one_is_always_saved() {
        let folder = tempfile::tempdir().unwrap();
        let store = CheckpointStore::new(folder.path().join("checkpoints"), 9);
        // So small a share that the second one waits for the full ten seconds.
        let mut saver = Saver::new(store.clone(), Some(1e-9));
        for step in 1..=4 {
            saver.epoch(step <= 2, || state(step)).unwrap();
        }
        assert!(saver.is_due, "the second is due since its epoch");
        saver.save(&state(4)).unwrap();
        let steps = || -> Vec<u64> {
            store
                .survey()
                .unwrap()
                .iter()
                .map(|s| s.read.as_ref().unwrap().state.cursor.step)
                .collect()
        };
        assert_eq!(steps(), [4, 1]);
        // Its time is earned: the state of that moment is saved, though nothing is due at that epoch.
        saver.is_due = true;
        saver.pace = Pace::new(Some(1.0));
        saver.epoch(false, || state(5)).unwrap();
        drop(saver);
        assert_eq!(steps(), [5, 4, 1]);
    }

    #[test]
    fn without_a_share_every_due_checkpoint_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = CheckpointStore::new(folder.path().join("checkpoints"), 99);
        let mut saver = Saver::new(store.clone(), None);
        for step in 1..=20 {
            saver.epoch(true, || state(step)).unwrap();
        }
        drop(saver);
        assert_eq!(store.survey().unwrap().len(), 20);
    }
}
