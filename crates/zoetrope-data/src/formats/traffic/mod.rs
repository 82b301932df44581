//! `traffic`: a dense adjacency matrix and a table of values, both csv (METR-LA, PeMSD7).
//!
//! The path is a folder that holds both, or either file with its partner beside it. The matrix is
//! the file with as many rows as columns; the table has a column for each of its vertices, a row a
//! step, and optionally a header with the names of the sensors. An entry in row `i` and column `j`
//! of the matrix is an edge from `i` to `j`. Empty cells and NaN in the table are missing values.
//! A column of the table may be the time of each row (dates, or a name such as `timestamp`), with
//! the hour in another: they are then no sensors, and the times are the boundaries of the steps. A
//! matrix may have a row of names, by which its sensors are found in the table. In a folder
//! without a matrix, a list `from, to [, weight or distance]` of sensors takes its place.
//!
//! A matrix with a zero diagonal, positive entries almost everywhere else and some above 1 holds
//! distances in metres. As in STGCN, which publishes such matrices, the weight of an edge is then
//! `exp(-(d / 10,000)^2 / 0.1)`, kept if it is at least 0.5. Any other matrix holds weights.
//!
//! Features are 12 lags, standardised over all sensors and steps, as PyG-Temporal's METR-LA loader
//! takes them; the target is the next step.

mod list;
mod matrix;
mod pair;
mod table;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;

use zoetrope_graph::{NameTable, SnapshotSequence, TextTable, Time, VertexFeatures, VertexNames};

pub use matrix::{KERNEL_KEPT, KERNEL_METRES, KERNEL_VARIANCE};
pub use write::write;

use crate::dataset::{Dataset, Loaded, Notes, Signal, SnapshotDataset, Standardise};
use crate::error::{DataError, Location};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::table::timestamp::Stamp;
use pair::Pair;
use table::Table;

/// The lags that the METR-LA loader takes.
const LAGS: usize = 12;
/// Smaller squares are too often a coincidence to be recognised unasked.
const LEAST_SENSORS: usize = 5;

/// Says why a folder or file is traffic data, if it is.
pub fn recognises(path: &Path, head: &[u8]) -> Option<String> {
    if !path.is_dir() && !table::may_be_table(path, head) {
        return None;
    }
    let pair = Pair::find(path, &ReadOptions::default()).ok()?;
    (pair.vertices >= LEAST_SENSORS).then(|| pair.reason())
}

/// Fails if a file is a square matrix, which is no list of edges.
///
/// # Errors
/// [`DataError::Unsupported`] for a matrix whose table of values is not beside it.
pub(crate) fn refuse_matrix(path: &Path, options: &ReadOptions) -> Result<(), DataError> {
    let shape = if table::is_csv(path) {
        pair::probe(path, options).ok().flatten().filter(pair::Shape::is_matrix)
    } else {
        None
    };
    let Some(shape) = shape else { return Ok(()) };
    let why = match Pair::find(path.parent().unwrap_or(Path::new("")), options) {
        Ok(_) => String::new(),
        Err(error) => format!(" ({error})"),
    };
    Err(DataError::Unsupported {
        at: crate::error::Location::file(path),
        what: format!("a square matrix of {} rows without its table of values{why}", shape.columns),
        advice:
            "put a csv beside it with a row a step and a column a sensor (one row per sensor and \
                 step must be turned into that); --format edge-list reads rows as edges"
                .into(),
    })
}

/// Reads a matrix and its table of values.
///
/// # Errors
/// [`DataError::Invalid`] with file, line and column if no pair of files fits, a row is ragged,
/// a cell is no number, or sizes disagree.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let pair = Pair::find(path, options)?;
    let mut notes = Notes::new(Format::Traffic, pair.reason());
    notes.files = vec![pair.adjacency.clone(), pair.values.clone()];
    let sizes = notes.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
    progress.begin("reading", Some(sizes.sum()));
    let strict = ReadOptions { header: Some(false), lenient: false, ..options.clone() };
    let mut table = Table::read(&pair.values, true, options, progress)?;
    let mut named_by_matrix = None;
    let (vertices, edges) = if pair.list {
        let names = table.header.as_deref();
        let warnings = &mut notes.warnings;
        let edges = list::edges(&pair.adjacency, names, table.columns, &strict, warnings)?;
        (table.columns, edges)
    } else {
        let strict = ReadOptions { header: Some(pair.named), ..strict };
        let matrix = Table::read(&pair.adjacency, pair.named, &strict, progress)?;
        if matrix.rows != matrix.columns {
            let found = format!("{} rows of {}", matrix.rows, matrix.columns);
            let at = Location::file(&pair.adjacency);
            return Err(DataError::invalid(at, "a square matrix", found));
        }
        let mut edges = matrix::edges(&matrix, &pair.adjacency, &mut notes.warnings)?;
        if table.columns == matrix.columns {
            matrix::rename(&mut edges, &matrix, &table.header, &pair.adjacency)?;
        }
        named_by_matrix = matrix.header.clone();
        (matrix.columns, edges)
    };
    if table.columns != vertices {
        let expected = format!("{vertices} columns, one for each row of the matrix");
        let at = Location::file(&pair.values).line(1);
        return Err(DataError::invalid(at, expected, table.columns.to_string()));
    }
    if table.rows == 0 {
        return Err(DataError::invalid(Location::file(&pair.values), "rows of values", "none"));
    }
    notes.skipped_rows = table.skipped;
    notes.missing_values = table.missing;
    let graph = |source| DataError::Graph { path: path.to_owned(), source };
    let (src, dst, weight) = edges;
    let steps = table.rows;
    let mut sequence = SnapshotSequence::constant(vertices as u32, steps, src, dst, Some(weight))
        .map_err(graph)?;
    if let Some(order) = table.times.as_deref().and_then(rising_order) {
        notes.warnings.push(
            "the rows of the table are not in the order of their times: they were sorted".into(),
        );
        table.sort(&order);
    }
    if let Some(times) = &table.times {
        match boundaries(times) {
            Some(boundaries) => {
                notes.reason.push_str("; a column of it is the time");
                notes.warnings.extend(gaps(&boundaries));
                sequence = sequence.with_boundaries(boundaries).map_err(graph)?;
            }
            None => notes.warnings.push(
                "times of the table repeat: its rows are numbered in their order, without dates"
                    .into(),
            ),
        }
    }
    let names = names(table.header.or(named_by_matrix), vertices);
    let values = table.values.into_iter().map(|value| value as f32).collect();
    let values = VertexFeatures::new(steps, vertices, 1, values).map_err(graph)?;
    let signal = Signal { standardise: Standardise::Overall, ..Signal::new(values, LAGS) };
    let data =
        SnapshotDataset { sequence, names, features: None, targets: None, signal: Some(signal) };
    Ok(Loaded { dataset: Dataset::Snapshots(data), notes })
}

/// The order of rows by time, rows of one time as they stand; `None` if they stand so already.
fn rising_order(times: &[Stamp]) -> Option<Vec<usize>> {
    // Exact whatever the number of decimals.
    let key = |stamp: &Stamp| {
        let finest = 10i128.pow(18 - u32::from(stamp.digits.min(18)));
        i128::from(stamp.ticks).saturating_mul(finest)
    };
    if times.windows(2).all(|pair| key(&pair[0]) <= key(&pair[1])) {
        return None;
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&row| key(&times[row]));
    Some(order)
}

/// Boundaries in whole seconds: a row holds until the next, the last one for as long as the one
/// before it. `None` if times do not rise.
fn boundaries(times: &[Stamp]) -> Option<Vec<Time>> {
    let seconds = |stamp: &Stamp| stamp.ticks / 10i64.pow(u32::from(stamp.digits));
    let mut boundaries: Vec<Time> = times.iter().map(seconds).collect();
    let step = match boundaries[..] {
        [.., before, last] => last.saturating_sub(before),
        _ => 1,
    };
    boundaries.extend(boundaries.last().map(|last| last.saturating_add(step)));
    boundaries.windows(2).all(|pair| pair[0] < pair[1]).then_some(boundaries)
}

/// A warning if some rows lie farther apart than usual: lags and frames take rows as they come.
fn gaps(boundaries: &[Time]) -> Option<String> {
    // The last boundary is ours.
    let times = &boundaries[..boundaries.len().saturating_sub(1)];
    let mut steps: Vec<Time> =
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    steps.sort_unstable();
    let usual = *steps.get(steps.len() / 2)?;
    // Months differ by less than a half.
    let long = steps.iter().filter(|&&step| step > usual.saturating_add(usual / 2)).count();
    let longest = *steps.last()?;
    (long > 0).then(|| {
        format!(
            "rows are missing: {long} of {} steps are longer than the usual {usual} s (the longest {longest} s), \
             and the rows at both ends are taken as neighbours in time",
            steps.len()
        )
    })
}

fn names(header: Option<Vec<String>>, vertices: usize) -> VertexNames {
    let Some(header) = header else { return VertexNames::identity(vertices as u32) };
    let integer = |name: &String| name.parse::<i64>().ok().filter(|id| id.to_string() == *name);
    let first = match header.iter().map(integer).collect::<Option<Vec<i64>>>() {
        Some(ids) => NameTable::Integers(ids),
        None => NameTable::Text(header.iter().collect::<TextTable>()),
    };
    VertexNames { first, second: None }
}
