//! Files of candidate pairs: who might meet whom, and when.
//!
//! A candidate file is a table like an edge list (any delimiter, gzip or zstd, header or not) with
//! a source, a destination and, where it has one, a time. Vertices are named as in the graph's own
//! file. The order of the rows is kept: answers go back row by row.

use std::path::Path;

use zoetrope_graph::{EventStore, Time, VertexId};

use crate::error::{DataError, Location};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::source::Source;
use crate::table::{self, Preset};

/// Pairs in the order of their file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates {
    /// The source of each pair, as the graph numbers it.
    pub src: Vec<VertexId>,
    /// The destination of each pair.
    pub dst: Vec<VertexId>,
    /// When they might meet, in the ticks of the graph; empty where the file has no times.
    pub time: Vec<Time>,
}

/// Bytes at the start of a file that show whether it has a time column.
const HEAD_BYTES: usize = 64 << 10;

/// Reads candidate pairs of the vertices of `graph`.
///
/// # Errors
/// Where the file cannot be read as a table, names a vertex that the graph does not have, or has
/// times of another unit.
pub fn read(
    path: &Path,
    graph: &EventStore,
    progress: &dyn Progress,
) -> Result<Candidates, DataError> {
    let options = ReadOptions {
        time_unit: Some(graph.scale().unit),
        bipartite: Some(graph.names().second.is_some()),
        ..ReadOptions::default()
    };
    let timed = {
        let mut source = Source::open(path, &options.limits, &crate::progress::Quiet)?;
        let mut head = vec![0; HEAD_BYTES];
        let filled = source.fill(&mut head)?;
        head.truncate(filled);
        let cut = memchr::memrchr(b'\n', &head).map_or(&head[..], |end| &head[..=end]);
        table::has_time(path, cut)
    };
    let preset = Preset { keep_order: true, ..Preset::default() };
    let table = table::read(path, &preset, &options, progress)?;
    let store = &table.store;
    if timed && store.scale().unit != graph.scale().unit {
        return Err(DataError::invalid(
            Location::file(path),
            format!("times in {}, as in the graph", graph.scale().unit.symbol()),
            format!("times in {}", store.scale().unit.symbol()),
        ));
    }
    let sources = known(path, store, graph, store.src(), true)?;
    let destinations = known(path, store, graph, store.dst(), false)?;
    let rows = store.len();
    let mut found = Candidates {
        src: vec![0; rows],
        dst: vec![0; rows],
        time: vec![0; if timed { rows } else { 0 }],
    };
    for place in 0..rows {
        let row = table.order.as_ref().map_or(place, |order| order[place] as usize);
        found.src[row] = sources[store.src()[place] as usize];
        found.dst[row] = destinations[store.dst()[place] as usize];
        if timed {
            found.time[row] = store.time()[place];
        }
    }
    Ok(found)
}

/// What the graph calls each vertex of the file that stands on one side of a pair.
fn known(
    path: &Path,
    store: &EventStore,
    graph: &EventStore,
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
            true => graph.names().find_source(&name),
            false => graph.names().find_destination(&name),
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
        let found = read(&path, &graph, &Quiet).unwrap();
        assert_eq!(found.src, [2, 0, 1]);
        assert_eq!(found.dst, [4, 3, 3]);
        assert_eq!(found.time, [99, 31, 50]);
    }

    #[test]
    fn a_vertex_that_the_graph_does_not_have_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path());
        let path = folder.path().join("pairs.csv");
        std::fs::write(&path, "a,x,31\nz,x,50\n").unwrap();
        let error = read(&path, &graph, &Quiet).unwrap_err().to_string();
        assert!(error.contains("vertex z") && error.contains("pairs.csv"), "{error}");
    }
}
