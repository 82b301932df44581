//! Edge lists: one event a line, in any dialect.

use std::path::Path;

use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::DataError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::table::{self, Preset, Table};

/// Why a file is an edge list, if its first bytes look like one.
pub fn recognises(_: &Path, head: &[u8]) -> Option<String> {
    let is_json = matches!(head.trim_ascii_start().first(), Some(b'{' | b'['));
    if is_json || head.contains(&0) {
        return None;
    }
    let cut = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..=end]);
    table::dialect::sniff(cut, true, None, None).ok()?;
    Some("text in rows of equal columns".into())
}

/// Whether a text table has a time column, so that it is a stream of events rather than a list
/// of names beside one; `None` if only its reader can ask.
pub(crate) fn has_timed_edges(path: &Path, head: &[u8]) -> Option<bool> {
    let cut = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..=end]);
    table::find_time(path, cut)
}

/// Reads an edge list.
///
/// # Errors
/// See [`table::read`].
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let table = table::read(path, &Preset::default(), options, progress)?;
    Ok(loaded(path, Format::EdgeList, table))
}

/// A table as a data set of a format.
pub(crate) fn loaded(path: &Path, format: Format, table: Table) -> Loaded {
    let notes = Notes {
        files: vec![path.to_owned()],
        sorted: table.sorted,
        skipped_rows: table.skipped_rows,
        missing_values: table.missing_values,
        warnings: table.warnings,
        columns: table.columns,
        reading: Some(table.reading),
        ..Notes::new(format, table.reason)
    };
    Loaded { dataset: Dataset::Events(table.store), notes }
}
