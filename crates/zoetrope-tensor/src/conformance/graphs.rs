//! The graphs of the cases: one vertex, no edges, empty rows, isolated vertices, many snapshots.

use std::sync::Arc;

use crate::{SparseGroup, SparseMatrix};
use zoetrope_graph::Csr;

use super::{Kind, numbers};

/// Destination and source of each edge.
type Edges<'a> = &'a [(u32, u32)];

/// Names of the small graphs.
pub const NAMES: [&str; 6] = ["empty", "one", "loop", "odd", "both", "long"];

/// A small graph by name; `golden/operators.py` knows the same ones.
pub fn group(name: &str) -> SparseGroup {
    let odd: Edges = &[(0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (3, 0)];
    let star: Edges = &[(2, 0), (2, 1), (2, 2), (2, 3), (2, 4)];
    let steps: Vec<(u32, Vec<(u32, u32)>)> = match name {
        "empty" => vec![(0, vec![])],
        "one" => vec![(1, vec![])],
        "loop" => vec![(1, vec![(0, 0)]), (1, vec![])],
        // Vertex 4 is isolated at first; the second snapshot has no edge at all.
        "odd" => vec![(5, odd.to_vec()), (5, vec![]), (5, star.to_vec())],
        // Its own transpose if values are equal: see below.
        "both" => vec![(3, vec![(0, 1), (0, 2), (1, 0), (2, 0), (2, 2)])],
        // More snapshots than the sparse product takes at once.
        "long" => (0..18).map(|t| (3, vec![(t % 3, (t + 1) % 3)])).collect(),
        _ => panic!("no graph {name}"),
    };
    let members = steps.iter().enumerate().map(|(step, (vertices, edges))| {
        let mut values = numbers(&format!("graph/{name}/{step}"), Kind::Plain, edges.len());
        if name == "both" {
            values.fill(0.5);
        }
        Arc::new(SparseMatrix::new(csr(*vertices, edges, values)))
    });
    SparseGroup::new(members.collect())
}

/// A matrix of edges sorted by destination, then source.
pub fn csr(vertices: u32, edges: Edges<'_>, values: Vec<f32>) -> Csr {
    let mut offsets = vec![0; vertices as usize + 1];
    for &(row, _) in edges {
        offsets[row as usize + 1] += 1;
    }
    for at in 1..offsets.len() {
        offsets[at] += offsets[at - 1];
    }
    let columns = edges.iter().map(|&(_, column)| column).collect();
    Csr::new(vertices, vertices, offsets, columns, values).expect("sorted edges")
}
