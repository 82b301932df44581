//! Files of candidate pairs: who might meet whom, and when.
//!
//! A candidate file is a table like an edge list (any delimiter, gzip or zstd, header or not) with
//! a source, a destination and, if it has one, a time or (under the heading `snapshot`) the number
//! of a snapshot. Vertices are named as in the graph's own file. The order of the rows is kept: answers go back row by row. Further columns are read by name, if
//! the model asks with them.

use std::path::Path;

use zoetrope_graph::{EventStore, TextTable, Time, TimeScale, VertexId, VertexNames};

use crate::error::{DataError, Location};
use crate::options::{ColumnMap, ColumnRef, ReadOptions};
use crate::progress::Progress;
use crate::source::Source;
use crate::table::{self, Preset};

/// Pairs in the order of their file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidates {
    /// The source of each pair, as the graph numbers it.
    pub src: Vec<VertexId>,
    /// The destination of each pair.
    pub dst: Vec<VertexId>,
    /// When they might meet, in the ticks of the graph or as numbers of snapshots; empty if the file
    /// says neither.
    pub time: Vec<Time>,
    /// Whether `time` holds numbers of snapshots.
    pub by_snapshot: bool,
    /// The columns that were asked for, row by row; NaN for a missing value.
    pub features: Vec<f32>,
}

/// Bytes at the start of a file that show whether it has a time column.
const HEAD_BYTES: usize = 64 << 10;

/// The heading of a column that holds numbers of snapshots.
pub const SNAPSHOT: &str = "snapshot";

/// The name of the column that holds the weights of events.
const WEIGHT: &str = "weight";

/// Whose pairs are read: what the data of the model calls its vertices, times and features.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The vertices.
    pub names: &'a VertexNames,
    /// What times mean; None if a column of times holds numbers of snapshots.
    pub scale: Option<TimeScale>,
    /// The features of events; empty if they have no names.
    pub feature_names: &'a TextTable,
}

/// Reads candidate pairs of the vertices of `graph`, with `columns` by their names in the data of the
/// graph: `weight` is the column of weights, whatever the file calls it, and a number is a feature by
/// its place, if the features have no names.
///
/// # Errors
/// If the file cannot be read as a table, names a vertex that the graph does not have, has times of
/// another unit or numbers of snapshots, or lacks a column.
pub fn read(
    path: &Path,
    graph: &EventStore,
    columns: &[String],
    progress: &dyn Progress,
) -> Result<Candidates, DataError> {
    let (names, feature_names) = (graph.names(), &graph.feature_names);
    let known = Known { names, scale: Some(graph.scale()), feature_names };
    let found = read_pairs(path, known, columns, progress)?;
    match found.by_snapshot {
        false => Ok(found),
        true => Err(DataError::invalid(
            Location::file(path).column(SNAPSHOT),
            "times, because this model learns from events",
            "numbers of snapshots",
        )),
    }
}

/// The same for vertices and times of any data, with numbers of snapshots if the file has a column
/// of that name, or the data no times.
///
/// # Errors
/// As [`read`], but for numbers of snapshots.
pub fn read_pairs(
    path: &Path,
    graph: Known<'_>,
    columns: &[String],
    progress: &dyn Progress,
) -> Result<Candidates, DataError> {
    let bipartite = Some(graph.names.second.is_some());
    let options = ReadOptions { bipartite, ..ReadOptions::default() };
    let (timed, numbered) = {
        let mut source = Source::open(path, &options.limits, &crate::progress::Quiet)?;
        let mut head = vec![0; HEAD_BYTES];
        let filled = source.fill(&mut head)?;
        head.truncate(filled);
        let cut = memchr::memrchr(b'\n', &head).map_or(&head[..], |end| &head[..=end]);
        let numbered = table::column_named(cut, SNAPSHOT);
        (numbered.is_some() || table::has_time(path, cut), numbered)
    };
    let by_snapshot = numbered.is_some() || graph.scale.is_none();
    let scale = graph.scale.filter(|_| !by_snapshot).unwrap_or(TimeScale::STEPS);
    let time = numbered.map(ColumnRef::Position);
    let options = ReadOptions {
        time_unit: Some(scale.unit),
        columns: ColumnMap { time, ..ColumnMap::default() },
        ..options
    };
    let preset = Preset { keep_order: true, ..Preset::default() };
    let table = table::read(path, &preset, &options, progress)?;
    let store = &table.store;
    if timed && store.scale().unit != scale.unit {
        return Err(DataError::invalid(
            Location::file(path),
            format!("times in {}, as in the graph", scale.unit.symbol()),
            format!("times in {}", store.scale().unit.symbol()),
        ));
    }
    let sources = known(path, store, graph.names, store.src(), true)?;
    let destinations = known(path, store, graph.names, store.dst(), false)?;
    let rows = store.len();
    let picked = columns
        .iter()
        .map(|column| pick(path, store, graph.feature_names, column))
        .collect::<Result<Vec<Picked<'_>>, DataError>>()?;
    let mut found = Candidates {
        features: vec![0.0; rows * picked.len()],
        src: vec![0; rows],
        dst: vec![0; rows],
        time: vec![0; if timed { rows } else { 0 }],
        by_snapshot: timed && by_snapshot,
    };
    let picked_count = picked.len();
    for place in 0..rows {
        let row = table.order.as_ref().map_or(place, |order| order[place] as usize);
        found.src[row] = sources[store.src()[place] as usize];
        found.dst[row] = destinations[store.dst()[place] as usize];
        if timed {
            found.time[row] = store.time()[place];
        }
        for (at, picked) in picked.iter().enumerate() {
            found.features[row * picked_count + at] = picked.at(place);
        }
    }
    Ok(found)
}

/// A column of the file.
#[derive(Debug, Clone, Copy)]
struct Picked<'a> {
    values: &'a [f32],
    /// Numbers in a row of the values, and which one it is.
    stride: usize,
    offset: usize,
}

impl Picked<'_> {
    fn at(&self, place: usize) -> f32 {
        self.values[place * self.stride + self.offset]
    }
}

/// The column that the graph knows by a name.
fn pick<'a>(
    path: &Path,
    store: &'a EventStore,
    feature_names: &TextTable,
    column: &str,
) -> Result<Picked<'a>, DataError> {
    let names = &store.feature_names;
    let stride = store.feature_width();
    let named = (0..names.len().min(stride)).find(|&at| names.get(at) == column.as_bytes());
    let placed = || {
        let unnamed = feature_names.is_empty();
        column.parse().ok().filter(|&place: &usize| unnamed && place < stride)
    };
    if let (Some(offset), Some(values)) = (named.or_else(placed), store.features()) {
        return Ok(Picked { values, stride, offset });
    }
    if let (WEIGHT, Some(values)) = (column, store.weight()) {
        return Ok(Picked { values, stride: 1, offset: 0 });
    }
    let mut has: Vec<String> =
        (0..names.len()).map(|at| String::from_utf8_lossy(names.get(at)).into_owned()).collect();
    has.extend(store.weight().map(|_| WEIGHT.to_owned()));
    let found = match has.is_empty() {
        true => "no columns besides source, destination and time".to_owned(),
        false => format!("columns {}", has.join(", ")),
    };
    let expected = format!("a column \"{column}\", which the model reads of each pair");
    Err(DataError::invalid(Location::file(path), &expected, found))
}

/// What the graph calls each vertex of the file that stands on one side of a pair.
fn known(
    path: &Path,
    store: &EventStore,
    names: &VertexNames,
    side: &[VertexId],
    is_source: bool,
) -> Result<Vec<VertexId>, DataError> {
    let mut found = vec![VertexId::MAX; store.vertices() as usize];
    for &vertex in side {
        if found[vertex as usize] != VertexId::MAX {
            continue;
        }
        let name = store.names().name(vertex);
        let there = match is_source {
            true => names.find_source(&name),
            false => names.find_destination(&name),
        };
        found[vertex as usize] = there.ok_or_else(|| {
            let kind = if is_source { "source" } else { "destination" };
            let expected = format!("a {kind} that the graph has");
            DataError::invalid(Location::file(path), &expected, format!("vertex {name}"))
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Quiet;

    fn graph(folder: &Path) -> EventStore {
        let path = folder.join("graph.csv");
        std::fs::write(&path, "a,x,10\nb,y,20\nc,x,30\n").unwrap();
        let options = ReadOptions { bipartite: Some(true), ..ReadOptions::default() };
        match crate::open(path.to_str().unwrap(), &options, &Quiet).unwrap().dataset {
            crate::Dataset::Events(store) => store,
            crate::Dataset::Snapshots(_) => unreachable!(),
        }
    }

    #[test]
    fn rows_keep_their_order_and_vertices_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path());
        let path = folder.path().join("pairs.csv");
        std::fs::write(&path, "c,y,99\na,x,31\nb,x,50\n").unwrap();
        let found = read(&path, &graph, &[], &Quiet).unwrap();
        assert_eq!(found.src, [2, 0, 1]);
        assert_eq!(found.dst, [4, 3, 3]);
        assert_eq!(found.time, [99, 31, 50]);
    }

    #[test]
    fn numbers_of_snapshots_go_by_their_heading_and_are_no_times_of_events() {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path());
        let path = folder.path().join("pairs.csv");
        std::fs::write(&path, "src,dst,snapshot\nc,y,2\na,x,0\n").unwrap();
        let (names, feature_names) = (graph.names(), &graph.feature_names);
        let known = Known { names, scale: Some(graph.scale()), feature_names };
        let found = read_pairs(&path, known, &[], &Quiet).unwrap();
        assert_eq!((found.time, found.by_snapshot), (vec![2, 0], true));
        assert!(read(&path, &graph, &[], &Quiet).unwrap_err().to_string().contains("times"));
        std::fs::write(&path, "src,dst\nc,y\n").unwrap();
        let found = read_pairs(&path, known, &[], &Quiet).unwrap();
        assert_eq!((found.time, found.by_snapshot), (vec![], false));
    }

    #[test]
    fn a_vertex_that_the_graph_does_not_have_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path());
        let path = folder.path().join("pairs.csv");
        std::fs::write(&path, "a,x,31\nz,x,50\n").unwrap();
        let error = read(&path, &graph, &[], &Quiet).unwrap_err().to_string();
        assert!(error.contains("vertex z") && error.contains("pairs.csv"), "{error}");
    }

    #[test]
    fn columns_are_read_by_name_in_the_order_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("graph.csv");
        std::fs::write(&data, "src,dst,time,amount,risk\na,x,10,5,1\nb,y,20,6,2\n").unwrap();
        let loaded = crate::open(data.to_str().unwrap(), &ReadOptions::default(), &Quiet).unwrap();
        let crate::Dataset::Events(graph) = loaded.dataset else { unreachable!() };
        let wanted = ["risk".to_owned(), "weight".to_owned()];
        let path = folder.path().join("pairs.csv");
        // In another order, with a column that nobody asked for, and with a value missing.
        let rows = "src,risk,dst,time,amount,note\nb,0.5,x,99,7,1\na,,y,31,8,1\n";
        std::fs::write(&path, rows).unwrap();
        let found = read(&path, &graph, &wanted, &Quiet).unwrap();
        assert_eq!(found.time, [99, 31]);
        assert_eq!([found.features[0], found.features[1], found.features[3]], [0.5, 7.0, 8.0]);
        assert!(found.features[2].is_nan(), "{:?}", found.features);
        std::fs::write(&path, "src,dst,time,amount\nb,x,99,7\n").unwrap();
        let error = read(&path, &graph, &wanted, &Quiet).unwrap_err().to_string();
        for part in ["pairs.csv", "a column \"risk\"", "columns weight"] {
            assert!(error.contains(part), "{error}");
        }
        std::fs::write(&path, "src,dst,time\nb,x,99\n").unwrap();
        let error = read(&path, &graph, &wanted[1..], &Quiet).unwrap_err().to_string();
        assert!(error.contains("a column \"weight\""), "{error}");
    }
}
