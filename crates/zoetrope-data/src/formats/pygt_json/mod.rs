//! `pygt-json`: the JSON files that PyG-Temporal's loaders read.
//!
//! | layout | keys | loaders | features and targets made of it |
//! | --- | --- | --- | --- |
//! | series | `edges`, `weights`?, `FX` or `X` | chickenpox, PedalMe | 4 lags, unscaled |
//! | series | `edges`, `weights`, `block` | windmill output | 8 lags, standardised by vertex |
//! | pages | `edges`, `weights`, `time_periods`, `0…`.`y` | Wikipedia maths | 8 lags, standardised |
//! | mapping | `edge_mapping`, `time_periods`, `y` | England covid | 8 lags, standardised |
//! | steps | `0…`.{`edges`, `weights`, `X`, `y`}, `time_periods` | Twitter tennis | one-hot classes of degree and transitivity; logarithm of the next step's target |
//! | node-link | `nodes`, `links` | Montevideo bus | 4 lags, standardised by vertex |
//! | hand | `edges`, `0…20`, `LABEL` | MTM-1 | coordinates of each frame, class of the frame |
//!
//! `weights` and `node_ids` are optional; unknown keys are skipped. `null` is a missing value.
//! What reading makes of a file is a [`Signal`](crate::dataset::Signal) with the loader's own
//! defaults, so that the number of lags can still be chosen.
//!
//! One deviation: a series that never changes is 0 after standardising; some loaders divide
//! by zero and train on NaN.
//!
//! Writing chooses the layout that the data fits (series, pages, mapping or steps) and adds a key
//! `zoetrope` with what that layout has no place for.

mod document;
mod extra;
mod layout;
mod node_link;
mod steps;
mod tennis;
mod topology;
mod values;
mod write;

#[cfg(test)]
mod tests;

use std::io::{self, BufReader};
use std::path::Path;

use serde::de::DeserializeSeed;

pub use write::write;

use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::{DataError, Location};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::source::{Source, bare_name};

/// Keys by which the start of a file shows that it is one of these.
const KEYS: [&str; 9] =
    ["edge_mapping", "edges", "FX", "X", "block", "time_periods", "node_ids", "nodes", "LABEL"];

/// Says why a file is PyG-Temporal JSON, if it is.
pub fn recognises(path: &Path, head: &[u8]) -> Option<String> {
    let start = head.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if head[start] != b'{' {
        return None;
    }
    let text = String::from_utf8_lossy(head);
    let found = KEYS.iter().find(|key| text.contains(&format!("\"{key}\"")));
    match found {
        Some(key) => Some(format!("a JSON object with the key `{key}`")),
        None if bare_name(path).ends_with(".json") => Some("a JSON object".to_owned()),
        None => None,
    }
}

/// Reads a file of any layout, compressed or not.
///
/// # Errors
/// [`DataError::Invalid`] with line and key if the JSON is broken, a value has the wrong type,
/// a key repeats, a row is ragged, a step is missing or an edge names no vertex.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let size = std::fs::metadata(path).map_err(|error| DataError::io(path, error))?.len();
    progress.begin("reading", Some(size));
    let source = Source::open(path, &options.limits, progress)?;
    let mut json =
        serde_json::Deserializer::from_reader(BufReader::with_capacity(256 << 10, source));
    let trail = document::Trail::new(options.limits.members);
    let document = trail
        .deserialize(&mut json)
        .and_then(|document| json.end().map(|()| document))
        .map_err(|error| located(path, &trail.path(), error))?;
    let mut notes = Notes::new(Format::PygtJson, "");
    notes.files.push(path.to_owned());
    let mut findings = topology::Findings::new(path, options.max_problems);
    let data = layout::build(document, &mut findings, &mut notes)?;
    Ok(Loaded { dataset: Dataset::Snapshots(data), notes })
}

/// A JSON error with file, line, key, and what was expected if the message says so.
fn located(path: &Path, keys: &str, error: serde_json::Error) -> DataError {
    if error.is_io() {
        return DataError::reading(path, io::Error::from(error));
    }
    let (line, column) = (error.line() as u64, error.column());
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let (found, expected) = match message.rsplit_once(", expected ") {
        Some((found, expected)) => (found.to_owned(), expected.to_owned()),
        None if error.is_eof() => ("the end of the file".to_owned(), "the rest of it".to_owned()),
        None => (message.to_owned(), "well-formed JSON".to_owned()),
    };
    let mut at = Location::file(path).line(line);
    if !keys.is_empty() {
        at = at.column(keys);
    }
    DataError::invalid(at, expected, format!("{found} (column {column})"))
}
