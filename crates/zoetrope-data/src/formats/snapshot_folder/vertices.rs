//! Vertices numbered in ascending order of the ids in the files.

use std::path::Path;

use zoetrope_graph::{GraphError, NameTable, TextTable, VertexId, VertexNames};

use super::rows::{Edges, Snapshot, sort};
use crate::error::DataError;

type Columns = (VertexNames, Vec<u64>, Vec<VertexId>, Vec<VertexId>, Option<Vec<f32>>);

/// Puts the snapshots end to end with vertices `0..n`: names, offsets, sources, targets, weights.
///
/// # Errors
/// [`DataError::Graph`] if there are more ids than 32 bits can name.
pub(super) fn renumber(snapshots: Vec<Snapshot>, path: &Path) -> Result<Columns, DataError> {
    if snapshots.iter().any(|snapshot| matches!(snapshot.edges, Edges::Named(_))) {
        return renumber_names(snapshots, path);
    }
    let rows = snapshots.iter().map(Snapshot::len).sum();
    let ids = Numbering::of(&snapshots, rows);
    if ids.count() > u32::MAX as usize {
        let (count, limit) = (ids.count() as u64, u64::from(u32::MAX));
        let source = GraphError::TooMany { what: "vertices", count, limit };
        return Err(DataError::Graph { path: path.to_owned(), source });
    }
    let weighted = snapshots.iter().any(|snapshot| snapshot.weight.is_some());
    let mut weight = weighted.then(|| Vec::with_capacity(rows));
    let (mut src, mut dst) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut offsets = Vec::with_capacity(snapshots.len() + 1);
    offsets.push(0);
    for snapshot in snapshots {
        match snapshot.edges {
            Edges::Narrow(edges) => {
                src.extend(edges.iter().map(|&edge| ids.vertex(low(edge))));
                dst.extend(edges.iter().map(|&edge| ids.vertex(high(edge))));
            }
            Edges::Wide(edges) => {
                src.extend(edges.iter().map(|&(_, src)| ids.vertex(src)));
                dst.extend(edges.iter().map(|&(dst, _)| ids.vertex(dst)));
            }
            // The layout is that of all members: either all have names or none has.
            Edges::Named(_) => {}
        }
        if let (Some(all), Some(weights)) = (&mut weight, snapshot.weight) {
            all.extend(weights);
        }
        offsets.push(src.len() as u64);
    }
    Ok((ids.names(), offsets, src, dst, weight))
}

/// The same for names, in ascending order of their bytes.
fn renumber_names(snapshots: Vec<Snapshot>, path: &Path) -> Result<Columns, DataError> {
    let tables = snapshots.iter().filter_map(|snapshot| match &snapshot.edges {
        Edges::Named(named) => Some(&named.names),
        _ => None,
    });
    let mut all: Vec<Vec<u8>> =
        tables.flat_map(|names| names.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() > u32::MAX as usize {
        let (count, limit) = (all.len() as u64, u64::from(u32::MAX));
        let source = GraphError::TooMany { what: "vertices", count, limit };
        return Err(DataError::Graph { path: path.to_owned(), source });
    }
    let weighted = snapshots.iter().any(|snapshot| snapshot.weight.is_some());
    let (mut src, mut dst, mut weight) = (Vec::new(), Vec::new(), weighted.then(Vec::new));
    let mut offsets = vec![0];
    for snapshot in snapshots {
        let mut weights = snapshot.weight;
        if let Edges::Named(named) = snapshot.edges {
            // Every name was put into the list, so the search always finds it.
            let vertex =
                |name: &[u8]| all.binary_search_by(|known| known[..].cmp(name)).unwrap_or(0) as u32;
            let numbers: Vec<VertexId> = named.names.iter().map(vertex).collect();
            let number = |code: u32| numbers[code as usize];
            let mut edges: Vec<(VertexId, VertexId)> =
                named.edges.iter().map(|&(dst, src)| (number(dst), number(src))).collect();
            sort(&mut edges, weights.as_mut());
            src.extend(edges.iter().map(|&(_, src)| src));
            dst.extend(edges.iter().map(|&(dst, _)| dst));
        }
        if let (Some(all), Some(weights)) = (&mut weight, weights) {
            all.extend(weights);
        }
        offsets.push(src.len() as u64);
    }
    let names =
        VertexNames { first: NameTable::Text(all.iter().collect::<TextTable>()), second: None };
    Ok((names, offsets, src, dst, weight))
}

fn low(edge: u64) -> i64 {
    (edge & 0xffff_ffff) as i64
}

fn high(edge: u64) -> i64 {
    (edge >> 32) as i64
}

/// Ids in ascending order and, if they are dense enough, a table from id to vertex.
struct Numbering {
    ids: Vec<i64>,
    table: Vec<VertexId>,
}

impl Numbering {
    fn of(snapshots: &[Snapshot], rows: usize) -> Self {
        // A table costs 4 bytes an id: never more than 8 bytes a row, or 4 MiB.
        let most = (2 * rows as i64).max(1 << 20);
        let (mut lowest, mut highest) = (0, -1);
        each_id(snapshots, |id| {
            lowest = id.min(lowest);
            highest = id.max(highest);
        });
        if lowest < 0 || highest >= most {
            let mut ids = Vec::with_capacity(2 * rows);
            each_id(snapshots, |id| ids.push(id));
            ids.sort_unstable();
            ids.dedup();
            return Self { ids, table: Vec::new() };
        }
        let mut seen = vec![false; (highest + 1) as usize];
        each_id(snapshots, |id| seen[id as usize] = true);
        let mut ids = Vec::new();
        let mut table = vec![0; seen.len()];
        for (id, _) in seen.iter().enumerate().filter(|&(_, &seen)| seen) {
            table[id] = ids.len() as VertexId;
            ids.push(id as i64);
        }
        Self { ids, table }
    }

    fn count(&self) -> usize {
        self.ids.len()
    }

    fn vertex(&self, id: i64) -> VertexId {
        if self.table.is_empty() {
            // Every id was put into the list, so the search always finds it.
            self.ids.binary_search(&id).unwrap_or(0) as VertexId
        } else {
            self.table[id as usize]
        }
    }

    fn names(self) -> VertexNames {
        let identity = self.ids.iter().enumerate().all(|(vertex, &id)| vertex as i64 == id);
        let first = if identity {
            NameTable::Identity(self.ids.len() as u32)
        } else {
            NameTable::Integers(self.ids)
        };
        VertexNames { first, second: None }
    }
}

fn each_id(snapshots: &[Snapshot], mut visit: impl FnMut(i64)) {
    for snapshot in snapshots {
        match &snapshot.edges {
            Edges::Narrow(edges) => {
                for &edge in edges {
                    visit(low(edge));
                    visit(high(edge));
                }
            }
            Edges::Wide(edges) => {
                for &(dst, src) in edges {
                    visit(src);
                    visit(dst);
                }
            }
            Edges::Named(_) => {}
        }
    }
}
