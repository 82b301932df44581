//! Text tables: one event a line, in whatever dialect.
//!
//! [`read`] looks at the first rows, decides separator, header and the role of each column, then
//! reads the file in parallel blocks and joins them into an [`EventStore`]. Formats that are
//! text tables underneath (edge lists, JODIE, the csv parts of TGL and TGN) differ only in the
//! [`Preset`] they pass.

pub(crate) mod chunk;
pub(crate) mod dialect;
mod fast_row;
mod finish;
pub mod kind;
pub(crate) mod number;
mod pipeline;
pub(crate) mod plan;
pub mod reading;
pub(crate) mod row;
pub(crate) mod timestamp;

use std::path::Path;

use zoetrope_graph::EventStore;

use crate::error::{DataError, Location};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::source::Source;
pub use reading::{TableReading, TimeReading};

/// What a format knows about its columns beforehand; empty for a free edge list.
#[derive(Debug, Clone, Default)]
pub struct Preset {
    /// Fixed roles by position; otherwise names and values decide.
    pub roles: Option<crate::roles::Roles>,
    /// Whether source and destination number their vertices separately.
    pub bipartite: bool,
    /// Whether to report the row of the file that each event came from: features of TGL and TGN
    /// stand in files of their own, in row order.
    pub keep_order: bool,
    /// Whether identifiers of sources and of destinations are text, where that is known.
    pub text_ids: Option<[bool; 2]>,
    /// The ticks that times are brought to.
    pub times: Option<TimeReading>,
}

/// A table as read.
#[derive(Debug)]
pub struct Table {
    /// The events.
    pub store: EventStore,
    /// What was decided about the file, in words.
    pub reason: String,
    /// Whether the rows were in time order.
    pub sorted: bool,
    /// The row (from 0, good rows only) that each event came from, where it was asked for and
    /// the rows were not in time order.
    pub order: Option<Vec<u64>>,
    /// Bad rows that were skipped.
    pub skipped_rows: u64,
    /// Missing values, kept as NaN.
    pub missing_values: u64,
    /// What a user should know.
    pub warnings: Vec<String>,
    /// The columns and what they were taken for; empty where the format fixes them.
    pub columns: Vec<crate::roles::ColumnNote>,
    /// How it was read, so that other tables can be read the same way.
    pub reading: TableReading,
}

/// How much of the file is looked at before it is read.
const HEAD_BYTES: usize = 128 << 10;

/// Reads a text table.
///
/// # Errors
/// Where the file cannot be read, no layout fits, or rows are bad and `options.lenient` is off.
pub fn read(
    path: &Path,
    preset: &Preset,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Table, DataError> {
    let mut source = Source::open(path, &options.limits, progress)?;
    let (head, whole) = read_head(&mut source, options)?;
    let layout = match options.usual.as_deref() {
        Some(usual) => usual.sniff_data(&head, whole, options),
        None => dialect::sniff(&head, whole, options.delimiter, options.header),
    };
    let layout = layout.map_err(|found| {
        DataError::invalid(Location::file(path), "rows of an event table", found)
    })?;
    let plan = plan::make(path, &layout, preset, options)?;
    let rows = &head[layout.data_start..];
    let start = layout.data_start as u64;
    let columns = pipeline::read_rows(&plan.rows, source, rows, start, &options.limits)?;
    finish::finish(path, &layout, &plan, preset, options, columns)
}

/// Whether the rows in `head` have a column of times.
pub(crate) fn has_time(path: &Path, head: &[u8]) -> bool {
    let options = ReadOptions::default();
    dialect::sniff(head, true, None, None)
        .ok()
        .and_then(|layout| plan::make(path, &layout, &Preset::default(), &options).ok())
        .is_some_and(|plan| plan.rows.has_time)
}

/// The first bytes, up to a line end; more than usual only where the first line is longer.
pub(crate) fn read_head(
    source: &mut Source<'_>,
    options: &ReadOptions,
) -> Result<(Vec<u8>, bool), DataError> {
    let mut head = Vec::new();
    loop {
        let start = head.len();
        head.resize(start + HEAD_BYTES, 0);
        let filled = source.fill(&mut head[start..])?;
        head.truncate(start + filled);
        if filled < HEAD_BYTES {
            return Ok((head, true));
        }
        if head.contains(&b'\n') {
            return Ok((head, false));
        }
        if head.len() > options.limits.line_bytes {
            return Err(DataError::Limit {
                at: Location::file(source.path()).line(1),
                what: "the length of a line in bytes",
                limit: options.limits.line_bytes as u64,
                advice: "check that the file has line ends",
            });
        }
    }
}
