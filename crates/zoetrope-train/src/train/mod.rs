//! A whole run: from a configuration to a run folder.
//!
//! `job` owns the order of things: lock the folder, open the data, start or continue the session, run its
//! epochs, save checkpoints, measure at the end, write the summary. It prints nothing: whoever wants
//! to show progress is a [`Observer`].

pub(crate) mod agreement;
mod changed_data;
pub(crate) mod classes;
mod folder;
mod job;
mod leader;
mod loading;
mod open;
mod pace;
mod peak;
mod ranks;
mod saver;
mod settle;
mod unlabelled;
mod unread;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Instant;

use zoetrope_nn::weights::VertexRows;

use crate::config::{Config, FeatureRule};
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::observer::Observer;
use crate::training_run::TrainingRun;
use zoetrope_run::{Metrics, RunVertices, Summary};

pub use crate::learner::put_saved_weights;
pub use classes::RunClasses;
pub use loading::{load_plan, load_weights};
pub use open::{Opened, Run};
pub use peak::peak_host_bytes;
#[cfg(feature = "mpi")]
pub use ranks::train_by_mpi;
pub use ranks::train_by_threads;

use job::job;
use leader::First;

/// What a run ended with.
#[derive(Debug)]
pub struct Finished {
    /// The run folder.
    pub folder: PathBuf,
    /// What `summary.json` holds.
    pub summary: Summary,
    /// The epoch whose weights were measured, if one was chosen, with its measure.
    pub best: Option<(usize, f64)>,
    /// Whether the folder has an event file for TensorBoard.
    pub has_event_file: bool,
}

/// Trains as the configuration says and leaves everything in a run folder. `begun` is when the
/// process started: the summary says how long the first step had to wait.
///
/// # Errors
/// If anything of the configuration, the data or the machine stands in the way; and
/// [`TrainError::Interrupted`] if the run was asked to stop, with a checkpoint saved.
///
/// # Panics
/// Never: the first rank has the run.
pub fn train(
    config: Config,
    begun: Instant,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<Finished, TrainError> {
    let first = First { observer, begun, reading_since: Instant::now() };
    Ok(job(config, interrupt, None, None, Some(first))?.expect("the first rank has the run"))
}

/// Which row of the weights of a run belongs to each vertex of the data; None if they are the same
/// vertices, or if weights do not depend on vertices.
///
/// # Errors
/// [`TrainError::Unfit`] if the weights say nothing about the vertices of the data.
pub fn vertex_rows(
    session: &dyn TrainingRun,
    run: Option<&Path>,
) -> Result<Option<VertexRows>, TrainError> {
    let rule = session.config().data.features;
    if !rule.is_by_vertex() {
        return Ok(None);
    }
    let Some(vertices) = run.map(RunVertices::read).transpose()?.flatten() else {
        return Ok(None);
    };
    let Some(rows) = vertices.rows_for(session.vertex_names()).map(VertexRows) else {
        return Ok(None);
    };
    let (unknown, all) = (rows.unknown(), rows.0.len());
    if rule == FeatureRule::OneHot || unknown == all {
        return Err(TrainError::Unfit {
            what: if unknown == all {
                "none of the vertices of this data is in the run's data".to_owned()
            } else {
                format!(
                    "this data has other vertices than the run's data ({unknown} of {all} are new), \
                     and data.features = \"one-hot\" has a column for each"
                )
            },
            advice:
                "give data with the run's vertices, or train with data.features=learned, which \
                     finds vertices by name, or with features that do not depend on who a vertex is"
                    .to_owned(),
        });
    }
    Ok(Some(rows))
}

/// Whether any metric besides the loss has a value, or there is none besides it.
pub fn is_measured(metrics: &Metrics) -> bool {
    let mut others = metrics.iter().filter(|(name, _)| *name != "loss").peekable();
    others.peek().is_none() || others.any(|(_, value)| !value.is_nan())
}

/// The error for parts in which nothing could be judged.
pub fn unmeasured(parts: &str) -> TrainError {
    TrainError::Unmeasured {
        what: format!("{parts} hold nothing that the task asks about"),
        advice: "Look at the data with `zoetrope data inspect` and check which columns were read \
                 (--src, --dst, --time, --label), or change data.split or data.window"
            .to_owned(),
    }
}
