//! The memory that a finished run left, for commands that use its model.
//!
//! Memory that is rebuilt with the last weights is not the memory that grew with them (`best`), so a
//! run that is measured again, or asked for predictions, goes on from what its best epoch left.

use std::path::Path;

use super::session::StreamSession;
use crate::checkpoint::CheckpointStore;
use crate::config::Config;
use crate::error::TrainError;
use crate::run::RunFolder;

impl StreamSession {
    /// Puts weights and memory as the best epoch of a finished run left them in place. Says whether
    /// that was possible: where data, model or batches are not those of the run, or it had no
    /// validation part, nothing changes and memory is rebuilt when it is needed.
    ///
    /// # Errors
    /// Where a file of the run cannot be read.
    pub fn recall(&mut self, root: &Path) -> Result<bool, TrainError> {
        let (saved, own) = (RunFolder::read_config(root)?, &self.config);
        let batches = |config: &Config| (config.train.batch_size, config.train.seed);
        let same = saved.data == own.data
            && saved.model == own.model
            && saved.task.name == own.task.name
            && batches(&saved) == batches(own)
            && RunFolder::read_digest(root)?.is_some_and(|sha| sha == self.material.sha256);
        if !same {
            return Ok(false);
        }
        let store = CheckpointStore::new(RunFolder::checkpoints_of(root), 1);
        let Some(found) = store.load_latest()? else { return Ok(false) };
        self.restore_state(found.state)?;
        self.take_best();
        Ok(self.known.is_some())
    }
}
