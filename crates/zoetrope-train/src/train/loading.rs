//! Plans and weights from files.

use std::path::Path;

use zoetrope_nn::Parameters;
use zoetrope_nn::weights::{VertexRows, load_safetensors_for};
use zoetrope_plan::Plan;

use crate::error::TrainError;
use crate::run::read;

/// The plan of a file, where `name` names one rather than a planner.
///
/// # Errors
/// Where the file cannot be read or holds no plan.
pub fn load_plan(name: &str) -> Result<Option<Plan>, TrainError> {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "json")
        || name.contains(std::path::MAIN_SEPARATOR)
        || path.is_file();
    is_file.then(|| read_plan(path)).transpose()
}

pub(super) fn read_plan(path: &Path) -> Result<Plan, TrainError> {
    let fail = |error| TrainError::io(path, error);
    let text = String::from_utf8(read(path).map_err(fail)?)
        .map_err(|error| fail(std::io::Error::other(error)))?;
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
    let bytes = read(path).map_err(|error| TrainError::io(path, error))?;
    load_safetensors_for(parameters, &bytes, rows)
        .map_err(|source| TrainError::Weights { path: path.to_owned(), source })
}
