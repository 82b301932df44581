//! A run that is continued although its data is not what it was.
//!
//! Without `train.accept_changed_data` every difference is refused. With it, the run keeps what it has
//! learnt (weights, optimiser, schedule, finished epochs) and drops what belongs to the data that is
//! gone: memory of events, hidden states, the epoch that was begun, and the best epoch, because values
//! that were measured on other data say nothing about the next ones.

use std::path::Path;

use zoetrope_run::checkpoint::SavedState;
use zoetrope_run::{RunFolder, differences};

use super::{Opened, vertex_rows};
use crate::error::TrainError;
use crate::learner;
use crate::training_run::TrainingRun;

/// What differs between the data of the run in `root` and what was opened; nothing if it is the same.
///
/// # Errors
/// [`TrainError::Unfit`] that lists the differences if they are not accepted.
pub(super) fn accepted(
    root: &Path,
    opened: &Opened,
    accepts: bool,
) -> Result<Vec<String>, TrainError> {
    let Some(was) = RunFolder::read_data(root)? else { return Ok(Vec::new()) };
    let differences = differences(&was, &opened.summary());
    if differences.is_empty() || accepts {
        return Ok(differences);
    }
    Err(TrainError::Unfit {
        what: format!("{} is not the data of this run: {}", opened.name(), differences.join(", ")),
        advice: "name the right one with --data, start a new run, or go on with \
                 --accept-changed-data"
            .to_owned(),
    })
}

/// Accepting changed data makes sense for a run that is continued.
pub(super) fn must_continue() -> TrainError {
    TrainError::Unfit {
        what: "train.accept_changed_data is for a run that is continued".to_owned(),
        advice: "name its folder with --resume, or leave it out".to_owned(),
    }
}

/// Takes from a checkpoint what belongs to data that is gone.
///
/// # Errors
/// [`TrainError::Unfit`] if weights belong to vertices and the vertices are others.
pub(super) fn keep_what_was_learnt(
    session: &dyn TrainingRun,
    root: &Path,
    state: &mut SavedState,
) -> Result<(), TrainError> {
    if vertex_rows(session, Some(root))?.is_some() {
        return Err(TrainError::Unfit {
            what:
                "the weights of data.features = \"learned\" belong to vertices, and this data has \
                   others than the run's data"
                    .to_owned(),
            advice: "start a new run; --weights takes the weights of this one".to_owned(),
        });
    }
    learner::forget_data(state);
    Ok(())
}
