//! From snapshots to hypergraphs.
//!
//! [`of_edges`]: an edge of the union of all snapshots is a net of its two ends, as heavy as the number
//! of snapshots it is in (each direction counts). The cost of a partition is the cut.
//!
//! [`of_rows`]: a vertex of a snapshot is a net of itself and of all vertices that its edges lead to,
//! because whoever owns one of those needs its row. The cost of a partition is the volume
//! `Σ_t Σ_v λ_t(v)` of [`volume::halo`](crate::volume::halo), exactly. Vertices mostly keep their
//! neighbours for a while, and equal nets are one net with their weights added. If there are more
//! pins than wanted all the same, several consecutive snapshots are united before, twice as many
//! each time, and the cost is an upper bound of the volume.

use std::ops::Range;

use rayon::prelude::*;
use zoetrope_graph::{GraphError, SnapshotSequence, SnapshotView};

use super::hypergraph::{Hypergraph, Nets};

/// Pins above which snapshots are united: half a gigabyte in all while a partition is made.
pub const MAX_PINS: usize = 1 << 24;

/// Edges that are collected before they are counted.
const BATCH_EDGES: usize = 1 << 23;

/// The union of snapshots, its edges without direction.
///
/// # Errors
/// If a snapshot cannot be made.
///
/// # Panics
/// If the sequence does not have those steps.
pub fn of_edges(graph: &SnapshotSequence, steps: Range<usize>) -> Result<Hypergraph, GraphError> {
    let mut counted: Vec<(u64, i64)> = Vec::new();
    let mut batch: Vec<u64> = Vec::new();
    graph.visit(steps, |_, view| {
        let mut previous = None;
        for edge in view.src.iter().copied().zip(view.dst.iter().copied()) {
            // Edges are sorted, so an edge that repeats follows itself.
            if edge.0 != edge.1 && previous != Some(edge) {
                batch.push(u64::from(edge.0.min(edge.1)) << 32 | u64::from(edge.0.max(edge.1)));
            }
            previous = Some(edge);
        }
        if batch.len() >= BATCH_EDGES {
            counted = count(std::mem::take(&mut counted), &mut batch);
        }
        Ok::<_, GraphError>(())
    })?;
    let mut nets = Nets::default();
    for (edge, weight) in count(counted, &mut batch) {
        nets.push([(edge >> 32) as u32, edge as u32], weight);
    }
    Ok(Hypergraph::of_distinct(vec![1; graph.vertices() as usize], nets))
}

/// Adds the edges of a batch to those counted before, ascending, and empties it.
fn count(counted: Vec<(u64, i64)>, batch: &mut Vec<u64>) -> Vec<(u64, i64)> {
    batch.par_sort_unstable();
    let mut old = counted.into_iter().peekable();
    let mut all = Vec::new();
    for same in batch.chunk_by(|left, right| left == right) {
        while let Some(before) = old.next_if(|&(edge, _)| edge < same[0]) {
            all.push(before);
        }
        let known = old.next_if(|&(edge, _)| edge == same[0]).map_or(0, |(_, weight)| weight);
        all.push((same[0], known + same.len() as i64));
    }
    all.extend(old);
    batch.clear();
    all
}

/// A net for each vertex of each snapshot; at most about `max_pins` pins.
///
/// # Errors
/// If a snapshot cannot be made.
///
/// # Panics
/// If the sequence does not have those steps.
pub fn of_rows(
    graph: &SnapshotSequence,
    steps: Range<usize>,
    max_pins: usize,
) -> Result<Hypergraph, GraphError> {
    let mut united = 1;
    loop {
        if let Some(nets) = rows_of(graph, steps.clone(), united, max_pins)? {
            return Ok(Hypergraph::new(vec![1; graph.vertices() as usize], nets));
        }
        united *= 2;
    }
}

/// As [`of_rows`] with every `united` snapshots as one; none if that takes too many pins and
/// more could be united.
fn rows_of(
    graph: &SnapshotSequence,
    steps: Range<usize>,
    united: usize,
    max_pins: usize,
) -> Result<Option<Nets>, GraphError> {
    let vertices = graph.vertices();
    let mut nets = Nets::default();
    let mut latest = vec![usize::MAX; vertices as usize];
    let mut active = vec![0_i64; vertices as usize];
    let (mut edges, mut net) = (Vec::new(), Vec::new());
    for first in steps.clone().step_by(united) {
        edges.clear();
        graph.visit(first..steps.end.min(first + united), |_, view| {
            senders(view, &mut edges, &mut active);
            Ok::<_, GraphError>(())
        })?;
        edges.par_sort_unstable();
        edges.dedup();
        for row in edges.chunk_by(|left, right| left >> 32 == right >> 32) {
            let vertex = (row[0] >> 32) as u32;
            net.clear();
            net.extend(row.iter().map(|&edge| edge as u32));
            net.insert(net.partition_point(|&pin| pin < vertex), vertex);
            let weight = std::mem::take(&mut active[vertex as usize]);
            match latest[vertex as usize] {
                known if known != usize::MAX && nets.net(known) == net => {
                    nets.add_weight(known, weight)
                }
                _ => {
                    latest[vertex as usize] = nets.len();
                    nets.push(net.iter().copied(), weight);
                }
            }
        }
        if nets.pins() > max_pins && united < steps.len() {
            return Ok(None);
        }
    }
    Ok(Some(nets))
}

/// Adds the edges of a snapshot as (source, destination), and 1 for every vertex that has one.
fn senders(view: SnapshotView<'_>, edges: &mut Vec<u64>, active: &mut [i64]) {
    let first = edges.len();
    let others = view.src.iter().zip(view.dst).filter(|(src, dst)| src != dst);
    edges.extend(others.map(|(&src, &dst)| u64::from(src) << 32 | u64::from(dst)));
    let here = &mut edges[first..];
    here.sort_unstable();
    for row in here.chunk_by(|left, right| left >> 32 == right >> 32) {
        active[(row[0] >> 32) as usize] += 1;
    }
}
