//! Partitions of the vertices, for vertex partitioning (ESDG §4.1, §6.4) and inside groups (§6.5).
//!
//! Two objectives, one method. [`edge_cut`] is METIS's: the edges between parts of the union of all
//! snapshots, each as heavy as the number of snapshots it is in. [`connectivity`] is PaToH's:
//! `Σ_nets weight · (parts − 1)`, with one net for each snapshot and vertex, which is the volume of
//! communication itself, up to one unit: see [`nets`]. An edge is a net of two vertices, so both are the
//! same multilevel method on a [`Hypergraph`]:
//!
//! 1. `coarsen`: vertices join the neighbour that they share most with, until few are left;
//! 2. `initial`: those are cut in two, and again, by growing parts from random seeds;
//! 3. `refine`: in the backward pass up, single vertices change parts (Fiduccia and Mattheyses),
//!    also uphill, and the best state seen is kept; then coarsened inside of parts, and once more.
//!
//! No part is heavier than `1 + imbalance` times the mean. Every draw is keyed by the seed, and threads look for what one
//! after the other then does, so that the same graph gives the same parts on any number of threads. Why not a library
//! alone: `docs/decisions/partitioner.md`.

mod coarsen;
mod gains;
mod growing;
pub mod hypergraph;
mod initial;
mod multilevel;
pub mod nets;
mod pins;
mod refine;
mod renaming;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::{GraphError, SnapshotSequence};

pub use hypergraph::Hypergraph;
pub use multilevel::{Options, partition};
pub use renaming::{Renaming, visit_renamed};

/// The part of each vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The number of parts.
    pub parts: u32,
    /// The part of each vertex.
    pub of: Vec<u32>,
}

/// Divides vertices in another way than this crate: a library that is installed.
pub trait Divider: Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// The part of each vertex, with few edges between parts; `edges` has nets of two pins.
    ///
    /// # Errors
    /// Why it cannot.
    fn divide(&self, edges: &Hypergraph, parts: u32) -> Result<Vec<u32>, String>;
}

/// What a partitioner makes small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Edges between parts, as METIS does.
    EdgeCut,
    /// Rows between ranks, as hypergraph partitioners do.
    Connectivity,
}

impl Objective {
    /// Partitions the vertices for some snapshots of a sequence.
    ///
    /// # Errors
    /// If a snapshot cannot be made.
    ///
    /// # Panics
    /// If the sequence does not have those steps.
    pub fn partition(
        self,
        graph: &SnapshotSequence,
        steps: Range<usize>,
        options: &Options,
    ) -> Result<Partition, GraphError> {
        match self {
            Self::EdgeCut => edge_cut(graph, steps, options),
            Self::Connectivity => connectivity(graph, steps, options),
        }
    }
}

/// Parts with few edges between them, counted over some snapshots.
///
/// # Errors
/// If a snapshot cannot be made.
///
/// # Panics
/// If the sequence does not have those steps.
pub fn edge_cut(
    graph: &SnapshotSequence,
    steps: Range<usize>,
    options: &Options,
) -> Result<Partition, GraphError> {
    Ok(partition(&nets::of_edges(graph, steps)?, options))
}

/// Parts between which few rows have to move, counted over some snapshots.
///
/// # Errors
/// If a snapshot cannot be made.
///
/// # Panics
/// If the sequence does not have those steps.
pub fn connectivity(
    graph: &SnapshotSequence,
    steps: Range<usize>,
    options: &Options,
) -> Result<Partition, GraphError> {
    Ok(partition(&nets::of_rows(graph, steps, nets::MAX_PINS)?, options))
}

impl Partition {
    /// The weight of the heaviest part against the mean, less 1.
    pub fn imbalance(&self, weights: impl Iterator<Item = u64>) -> f64 {
        let mut parts = vec![0_u64; self.parts as usize];
        for (&part, weight) in self.of.iter().zip(weights) {
            parts[part as usize] += weight;
        }
        let total: u64 = parts.iter().sum();
        let heaviest = parts.iter().copied().max().unwrap_or(0);
        match total {
            0 => 0.0,
            _ => heaviest as f64 * f64::from(self.parts) / total as f64 - 1.0,
        }
    }

    /// New numbers for the vertices, so that those of each part are consecutive.
    pub fn renaming(&self) -> Renaming {
        Renaming::new(self)
    }
}
