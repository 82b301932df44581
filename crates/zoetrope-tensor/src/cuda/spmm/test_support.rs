//! Sequences of matrices that change from snapshot to snapshot, for tests.

use std::sync::Arc;

use zoetrope_graph::normalise::{GcnOptions, gcn, gcn_parts, scale};
use zoetrope_graph::random::Random;
use zoetrope_graph::{Csr, SnapshotSequence};

use crate::sparse::{Side, SparseMatrix};

pub(super) const SIDES: [Side; 2] = [Side::Matrix, Side::Transpose];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Values follow from degrees.
    Plain,
    /// Values follow from weights and degrees.
    Weighted,
    /// The same with few different weights, of a graph that is its own transpose.
    Symmetric,
    /// Values are what they are, with repeated edges and empty rows.
    Given,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::Weighted, Self::Symmetric, Self::Given];
}

/// Edges (destination, source) with weights: each lives for some steps, one vertex has edges from
/// most others, some have a few dozen and the last ones none.
fn edges(kind: Kind, vertices: u32, step: u32) -> Vec<(u32, u32, f32)> {
    let random = Random::new(9, 4);
    let mut edges = Vec::new();
    let mut put = |destination: u32, source: u32, key: u64| {
        // Alive in four fifths of the steps, with a weight that changes now and then.
        if random.at_step(step / 2).unit(2 * key + u64::from(step % 2)) < 0.2 {
            return;
        }
        let age = (u64::from(step) + key) / 13;
        let weight = 0.5 + random.at_step(77 + age as u32).unit(key) as f32;
        let weight = if kind == Kind::Symmetric { (4.0 * weight).round() / 4.0 } else { weight };
        edges.push((destination, source, weight));
        if kind == Kind::Symmetric && destination != source {
            edges.push((source, destination, weight));
        }
        if kind == Kind::Given && key.is_multiple_of(11) {
            edges.push((destination, source, weight + 1.0));
        }
    };
    for vertex in 0..vertices - vertices / 10 {
        let degree = match vertex {
            3 => vertices - 1,
            7 => 257,
            vertex if vertex % 50 == 1 => 40,
            vertex => vertex % 5,
        };
        for edge in 0..degree.min(vertices / 2) {
            let key = u64::from(vertex) << 20 | u64::from(edge);
            let source = random.at_step(1_000_000).below(key, u64::from(vertices)) as u32;
            put(vertex, source, key);
        }
    }
    edges.sort_by_key(|&(destination, source, _)| (destination, source));
    if kind != Kind::Given {
        edges.dedup_by_key(|edge| (edge.0, edge.1));
    }
    edges
}

/// The matrices of some consecutive snapshots.
pub(super) fn sequence(kind: Kind, vertices: u32, steps: u32) -> Vec<Arc<SparseMatrix>> {
    let matrix = |step: u32| {
        let edges = edges(kind, vertices, step);
        let [dst, src]: [Vec<u32>; 2] =
            [edges.iter().map(|edge| edge.0).collect(), edges.iter().map(|edge| edge.1).collect()];
        let weight = (kind != Kind::Plain).then(|| edges.iter().map(|edge| edge.2).collect());
        let ends = vec![0, src.len() as u64];
        let graph = SnapshotSequence::new(vertices, ends, src, dst, weight).unwrap();
        let options = GcnOptions::default();
        Arc::new(match kind {
            Kind::Plain => SparseMatrix::for_gpu(gcn(graph.at(0), options).unwrap()),
            Kind::Given => SparseMatrix::for_gpu(Csr::from_view(graph.at(0)).unwrap()),
            Kind::Weighted | Kind::Symmetric => {
                let (weights, factors) = gcn_parts(graph.at(0), options).unwrap();
                let own = weights.values().to_vec();
                SparseMatrix::for_gpu(scale(weights, &factors)).made_from(own, factors)
            }
        })
    };
    (0..steps).map(matrix).collect()
}
