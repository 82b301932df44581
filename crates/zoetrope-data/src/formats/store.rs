//! Zoetrope's own event store: `.zoe` files, which are mapped into memory.
//!
//! The format lives in [`zoetrope_graph::store`]; here it is recognised, checked as a file from
//! outside must be, and its errors get a path and a byte.

use std::path::Path;

use zoetrope_graph::store::{self, MAGIC, StoreFile, StoreProblem};
use zoetrope_graph::{EventStore, GraphError};

use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::{DataError, Location, Problem};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::progress::Progress;

/// Files up to this size are verified byte by byte before use: that takes about a second at
/// worst. Larger ones would be pulled through memory for it, so their columns are trusted and a
/// warning says so.
const VERIFY_BYTES: u64 = 8 << 30;

/// Why a file is a store, if its first bytes say so.
pub fn recognises(_: &Path, head: &[u8]) -> Option<String> {
    head.starts_with(&MAGIC).then(|| "it starts with the magic bytes of a Zoetrope store".into())
}

/// Opens a store; columns stay mapped. Checksums, time order and vertex range are verified first.
///
/// # Errors
/// [`DataError::Io`] if the system refuses, [`DataError::Invalid`] with byte positions if
/// the file is damaged.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let failed = |error| data_error(path, error, options.max_problems);
    let file = StoreFile::open(path).map_err(failed)?;
    let mut notes = Notes::new(Format::Store, "it starts with the magic bytes of a Zoetrope store");
    notes.files.push(path.into());
    if file.bytes() <= VERIFY_BYTES {
        progress.begin("verifying", Some(file.bytes()));
        file.verify(&|bytes| progress.advance(bytes)).map_err(failed)?;
    } else {
        let gib = file.bytes() >> 30;
        notes.warnings.push(format!("columns of {gib} GiB are mapped without being verified"));
    }
    let store = file.events().map_err(failed)?;
    Ok(Loaded { dataset: Dataset::Events(store), notes })
}

/// Writes a store; the target is replaced whole or not at all.
///
/// # Errors
/// [`DataError::Io`] if the system refuses, [`DataError::Graph`] if vertex attributes do not
/// fit the vertices.
pub fn write(path: &Path, store: &EventStore, progress: &dyn Progress) -> Result<(), DataError> {
    progress.begin("writing", Some(store.column_bytes() as u64));
    store::write(path, store, &|bytes| progress.advance(bytes))
        .map_err(|error| data_error(path, error, usize::MAX))
}

pub(crate) fn data_error(path: &Path, error: GraphError, max_problems: usize) -> DataError {
    match error {
        GraphError::Io { path, source } => DataError::Io { path, source },
        GraphError::Damaged { path, problems } => DataError::Invalid {
            total: problems.len() as u64,
            problems: problems
                .into_iter()
                .take(max_problems.max(1))
                .map(|problem| located(&path, problem))
                .collect(),
        },
        source => DataError::Graph { path: path.into(), source },
    }
}

fn located(path: &Path, problem: StoreProblem) -> Problem {
    let StoreProblem { byte, section, expected, found } = problem;
    Problem::new(Location::file(path).byte(byte).column(section), expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Quiet;
    use zoetrope_graph::{TimeScale, VertexNames};

    fn example() -> EventStore {
        let (src, dst, time) = (vec![0, 1, 2], vec![1, 2, 0], vec![10, 20, 30]);
        let names = VertexNames::identity(3);
        EventStore::new(src, dst, time, Default::default(), TimeScale::SECONDS, names).unwrap()
    }

    #[test]
    fn a_store_is_recognised_and_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zoe");
        write(&path, &example(), &Quiet).unwrap();
        assert!(recognises(&path, &std::fs::read(&path).unwrap()).is_some());
        assert!(recognises(&path, b"src,dst").is_none());
        let loaded = read(&path, &ReadOptions::default(), &Quiet).unwrap();
        assert_eq!(loaded.dataset, Dataset::Events(example()));
        assert_eq!(loaded.notes.format, Format::Store);
    }

    #[test]
    fn damage_is_reported_with_path_byte_and_section() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zoe");
        write(&path, &example(), &Quiet).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 0x80;
        std::fs::write(&path, &bytes).unwrap();
        let error = read(&path, &ReadOptions::default(), &Quiet).unwrap_err().to_string();
        assert!(error.contains("a.zoe, byte ") && error.contains("`time`"), "{error}");
        std::fs::write(&path, &bytes[..last]).unwrap();
        let error = read(&path, &ReadOptions::default(), &Quiet).unwrap_err().to_string();
        assert!(error.contains("byte 16, `header`: expected a file of"), "{error}");
    }
}
