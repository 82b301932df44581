//! Writing a data set to the path on the command line; nothing is left out without being named.

use std::path::Path;

use zoetrope_data::parts::DatasetPart;
use zoetrope_data::{DataError, Dataset, Format, save};

use crate::exit::Failure;
use crate::progress::{Bars, Unit};

/// What was written: the data set as it is on file, its format, and what was left out.
pub(crate) struct Written {
    pub(crate) dataset: Dataset,
    pub(crate) format: Format,
    pub(crate) dropped: Vec<DatasetPart>,
}

/// Writes a data set. Parts that the format cannot hold are left out if `drop` allows it, and
/// named; otherwise they are an error.
pub(crate) fn write(
    mut dataset: Dataset,
    path: &Path,
    format: Option<Format>,
    drop: bool,
    quiet: bool,
) -> Result<Written, Failure> {
    let bars = Bars::new(Unit::Events, quiet);
    let mut dropped = Vec::new();
    loop {
        let outcome = save(path, format, &dataset, &bars);
        bars.finish();
        let (what, error) = match outcome {
            Ok(format) => return Ok(Written { dataset, format, dropped }),
            Err(DataError::CannotHold { format, what, advice }) => {
                (what, DataError::CannotHold { format, what, advice })
            }
            Err(error) => return Err(error.into()),
        };
        let Some(part) = DatasetPart::named_in(what).filter(|part| part.is_in(&dataset)) else {
            return Err(error.into());
        };
        if !drop {
            return Err(Failure::from(error).hint(format!("--drop leaves {part} out")));
        }
        dataset = part.left_out(dataset)?;
        dropped.push(part);
    }
}

/// Parts by name, for a sentence.
pub(crate) fn list(parts: &[DatasetPart]) -> String {
    let names: Vec<String> = parts.iter().map(DatasetPart::to_string).collect();
    names.join(", ")
}
