//! How far a run has come, for commands that use its model.

use std::path::Path;

use serde::Serialize;

use super::files;
use super::folder::{METRICS, RunFolder, SUMMARY};
use super::lock;
use super::metrics::read_metrics;
use crate::checkpoint::{CheckpointStore, Restored};
use crate::error::RunError;

/// A run that has not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    /// Epochs that are finished.
    pub epoch: usize,
    /// Epochs that it was to have.
    pub of: usize,
    /// Whether a process is at it now.
    pub running: bool,
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.running { "is still running, with" } else { "was interrupted after" };
        write!(f, "{how} epoch {} of {}", self.epoch, self.of)
    }
}

impl RunFolder {
    /// Whether a run was interrupted, with the checkpoint that it left; None if it is finished. A
    /// finished run that was continued and interrupted counts as interrupted.
    ///
    /// # Errors
    /// [`RunError::NoWeights`] if there is nothing to use yet; also if files cannot be read.
    pub fn interrupted(root: &Path) -> Result<Option<(Interrupted, Restored)>, RunError> {
        let config = Self::read_config(root)?;
        let summary = Self::read_summary(root)?;
        let epochs = summary.as_ref().and_then(|summary| summary["epochs"].as_array());
        let measured = epochs.map(Vec::len);
        let begun = read_metrics(&root.join(METRICS)).map_or(0, |lines| lines.len());
        if measured.is_some_and(|measured| begun <= measured) {
            return Ok(None);
        }
        let store = CheckpointStore::new(Self::checkpoints_of(root), 1);
        let found = match store.load_latest()? {
            Some(found) => found,
            None if measured.is_some() => return Ok(None),
            None => return Err(RunError::NoWeights { folder: root.to_owned() }),
        };
        let epoch = found.state.cursor.epochs.len();
        if measured.is_some_and(|measured| epoch <= measured) {
            return Ok(None);
        }
        let (of, running) = (config.train.epochs, lock::is_held(root));
        Ok(Some((Interrupted { epoch, of, running }, found)))
    }

    /// What `summary.json` holds; None if the run has not ended.
    ///
    /// # Errors
    /// [`RunError::Io`] if it cannot be read, [`RunError::Damaged`] if it is no JSON.
    pub(crate) fn read_summary(root: &Path) -> Result<Option<serde_json::Value>, RunError> {
        files::read_json(&root.join(SUMMARY))
    }
}
