//! The model of a run folder, ready to be used.

use std::path::Path;

use zoetrope_data::Progress;
use zoetrope_run::{Interrupted, RunFolder, Timeline};

use crate::VertexRows;
use crate::error::TrainError;
use crate::events::SavedRun;
use crate::train::{Opened, Run, load_plan, load_weights, put_saved_weights, vertex_rows};
use crate::training_run::TrainingRun;

/// Opens a run as it was trained, with its weights, its data and, for event models, its memory: it can be
/// evaluated and asked. The data is looked for where it was, and beside the folder.
///
/// # Errors
/// If the folder holds no run or no weights, or the data of the run is not there or cannot be read.
pub fn open_run(root: &Path, progress: &dyn Progress) -> Result<Run, TrainError> {
    let mut config = RunFolder::config_layer(root)?.build()?;
    RunFolder::find_files(root, &mut config)?;
    // What belongs to the training of the run and not to the use of its model.
    (config.train.weights, config.train.resume) = (None, None);
    let mut saved = SavedRun::read(root)?;
    let opened = Opened::open_for(&mut config, progress, saved.as_ref(), Some(root))?;
    let plan = load_plan(&config)?;
    let mut run = opened.start(config, plan, Timeline::new())?;
    let rows = vertex_rows(run.session(), Some(root))?;
    put_run_weights(root, run.session_mut(), rows.as_ref())?;
    if let (Some(saved), Some(rows)) = (&mut saved, &rows) {
        saved.arrange_vertices(rows)?;
    }
    if let Run::Events(session) = &mut run {
        session.recall(saved.as_ref())?;
    }
    Ok(run)
}

/// Puts the weights of a run in place: the final ones, or those that an interrupted run has saved, of which
/// it returns how far that run had come.
///
/// # Errors
/// If the run has no weights yet, or they do not fit.
pub fn put_run_weights(
    root: &Path,
    run: &mut dyn TrainingRun,
    rows: Option<&VertexRows>,
) -> Result<Option<Interrupted>, TrainError> {
    let parameters = run.parameters_mut();
    match RunFolder::interrupted(root)? {
        None => {
            load_weights(parameters, &root.join("weights.safetensors"), rows)?;
            Ok(None)
        }
        Some((state, found)) => {
            put_saved_weights(parameters, &found.state, rows)?;
            Ok(Some(state))
        }
    }
}
