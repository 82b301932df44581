//! Plans and weights from files.

use std::path::Path;

use zoetrope_config::Config;
use zoetrope_data::regular_file;
use zoetrope_nn::Parameters;
use zoetrope_nn::weights::{VertexRows, load_safetensors_for};
use zoetrope_plan::Plan;
use zoetrope_run::{RunError, RunFolder};

use crate::error::TrainError;

/// The saved plan that a configuration names, if it names one rather than a planner.
///
/// # Errors
/// If the file cannot be read or holds no plan.
pub fn load_plan(config: &Config) -> Result<Option<Plan>, TrainError> {
    config.plan_file().map(read_plan).transpose()
}

/// The saved plan of a run that is continued, or the one that a configuration names. A plan is for the data
/// that it was made for: a run whose data has changed is planned anew.
pub(super) fn plan_of(
    config: &Config,
    resumed: Option<&Path>,
    changes: &[String],
) -> Result<Option<Plan>, TrainError> {
    let Some(root) = resumed.filter(|_| changes.is_empty()) else { return load_plan(config) };
    let mut plan = read_plan(&RunFolder::plan_of(root))?;
    // What changes no result may be asked for anew, and the device may be another one.
    match &mut plan {
        Plan::Frames(plan) => plan.gpu = None,
        Plan::Batches(plan) => {
            plan.gpu = None;
            if !config.prefetches() {
                plan.prefetch = 0;
            }
        }
    }
    Ok(Some(plan))
}

fn read_plan(path: &Path) -> Result<Plan, TrainError> {
    let bytes = regular_file::read(path).map_err(|error| TrainError::io(path, error))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| RunError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    Ok(Plan::from_json(&text)?)
}

/// Fills the parameters of a network from a safetensors file; `rows` says which row of them belongs
/// to which vertex, if the data has other vertices than the weights were saved with.
///
/// # Errors
/// If the file cannot be read, or names, shapes or values do not fit.
pub fn load_weights(
    parameters: &mut Parameters,
    path: &Path,
    rows: Option<&VertexRows>,
) -> Result<(), TrainError> {
    let bytes = regular_file::read(path).map_err(|error| TrainError::io(path, error))?;
    load_safetensors_for(parameters, &bytes, rows)
        .map_err(|source| TrainError::Weights { path: path.to_owned(), source })
}
