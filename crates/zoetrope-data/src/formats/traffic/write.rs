//! Writing a folder with `adjacency.csv` and `values.csv`.

use std::fmt::Write as _;
use std::path::Path;

use zoetrope_graph::{NameTable, VertexFeatures};

use super::matrix::is_distances;
use crate::dataset::SnapshotDataset;
use crate::error::DataError;
use crate::format::Format;
use crate::formats::folder_sink::FolderSink;
use crate::progress::Progress;
use crate::sink::Sink;

/// A dense matrix of more vertices than this is better kept in another format.
const MOST_VERTICES: usize = 20_000;

/// Writes a folder with the matrix of weights and the measured series. The number of lags and the
/// scaling are not kept: reading proposes its own.
///
/// # Errors
/// [`DataError::CannotHold`] if the topology changes, an edge repeats or weighs nothing, weights
/// would be taken for distances, or there is no series of one channel; [`DataError::Io`] if the
/// disk refuses. Nothing is left behind then.
pub fn write(
    path: &Path,
    data: &SnapshotDataset,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    let values = series(data)?;
    let matrix = matrix(data)?;
    progress.begin("writing", Some(values.steps() as u64));
    let folder = FolderSink::create(path)?;
    let size = data.sequence.vertices() as usize;
    let mut out = Sink::create_plain(&folder.file("adjacency.csv"))?;
    let mut line = String::new();
    for row in matrix.chunks(size) {
        join(&mut line, row.iter().map(|&weight| weight as f32));
        out.put(line.as_bytes())?;
    }
    out.finish()?;
    let mut out = Sink::create_plain(&folder.file("values.csv"))?;
    out.put(header(&data.names.first).as_bytes())?;
    for step in 0..values.steps() {
        join(&mut line, values.at(step).iter().copied());
        out.put(line.as_bytes())?;
        progress.advance(1);
    }
    out.finish()?;
    folder.finish()
}

/// A line of cells. Every number has a point, which keeps a row from looking like a header of ids.
fn join(line: &mut String, cells: impl Iterator<Item = f32>) {
    line.clear();
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            line.push(',');
        }
        if !cell.is_nan() {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:?}");
        }
    }
    line.push('\n');
}

fn header(names: &NameTable) -> String {
    if matches!(names, NameTable::Identity(_)) {
        return String::new();
    }
    let quoted = |at: usize| match names {
        NameTable::Integers(names) => names[at].to_string(),
        _ => format!("\"{}\"", names.name(at).replace('"', "\"\"").replace('\n', " ")),
    };
    let cells: Vec<String> = (0..names.len()).map(quoted).collect();
    cells.join(",") + "\n"
}

fn refuse<T>(what: &'static str, advice: &'static str) -> Result<T, DataError> {
    Err(DataError::CannotHold { format: Format::Traffic, what, advice })
}

fn series(data: &SnapshotDataset) -> Result<&VertexFeatures, DataError> {
    let advice = "use npz or pygt-json";
    match &data.signal {
        Some(signal) if signal.target.is_none() && signal.one_hot.is_none() => {
            if signal.values.width() == 1 && signal.values.steps() > 0 {
                Ok(&signal.values)
            } else {
                refuse("a series of several channels or no steps", advice)
            }
        }
        Some(_) => refuse("a target apart from the series", advice),
        None => refuse("data without a measured series", advice),
    }
}

fn matrix(data: &SnapshotDataset) -> Result<Vec<f64>, DataError> {
    let advice = "use npz or pygt-json";
    let sequence = &data.sequence;
    let size = sequence.vertices() as usize;
    if !(sequence.is_constant() || sequence.steps() == 1) {
        return refuse("a topology that changes", advice);
    }
    if data.names.second.is_some() || !(2..=MOST_VERTICES).contains(&size) {
        return refuse("bipartite data, or fewer than 2 or more than 20,000 vertices", advice);
    }
    let mut matrix = vec![0.0; size * size];
    let view = sequence.at(0);
    for edge in 0..view.len() {
        let entry = &mut matrix[view.src[edge] as usize * size + view.dst[edge] as usize];
        let weight = f64::from(view.weight_of(edge));
        if *entry != 0.0 || weight == 0.0 {
            return refuse("edges that repeat or weigh nothing", advice);
        }
        *entry = weight;
    }
    if is_distances(size, &matrix) {
        refuse("weights that would be taken for distances", advice)
    } else {
        Ok(matrix)
    }
}
