//! Ways for many ranks to share the cells of frames, in numbers: bytes, balance, memory, time.
//!
//! A strategy is a [`Grid`] and, if it has members, a partition of the vertices. [`assess`] fills a [`Row`]
//! from formulas alone. Everything is for one step of training: one frame, forward and backward.

mod assess;
mod beside;
#[cfg(test)]
mod tests;
mod traffic;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::{GraphError, SnapshotSequence};

use crate::partition::{Objective, Options, Partition};
use crate::placement::grid::Grid;
use crate::plan::frame::Frame;
use crate::workload::FrameWorkload;

pub use assess::{Balance, RankMemory, Row, assess};
pub(crate) use assess::{all_reduce_bytes, reduced_bytes};
pub(crate) use beside::Forecast;
pub use traffic::{Machine, Traffic};
pub(crate) use traffic::{Moved, list_bytes, statistics_values};

/// How the work is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Strategy {
    /// Each snapshot on one rank, redistributed for time encoders (ESDG §4.2).
    Snapshot,
    /// Each vertex on one rank (§4.1).
    Vertex {
        /// What its partition makes small.
        objective: Objective,
    },
    /// Snapshots over groups of ranks, vertices inside of a group (§6.5).
    Hybrid {
        /// Ranks of a group.
        members: u32,
    },
}

impl Strategy {
    /// A few words for a table.
    pub fn name(self) -> String {
        match self {
            Self::Snapshot => "snapshot".to_owned(),
            Self::Vertex { objective: Objective::EdgeCut } => "vertex, edge cut".to_owned(),
            Self::Vertex { objective: Objective::Connectivity } => "vertex, hypergraph".to_owned(),
            Self::Hybrid { members } => format!("hybrid, groups of {members}"),
        }
    }

    /// The grid of `ranks` ranks.
    pub fn grid(self, ranks: u32) -> Grid {
        match self {
            Self::Snapshot => Grid::by_snapshot(ranks),
            Self::Vertex { .. } => Grid::by_vertex(ranks),
            Self::Hybrid { members } => Grid { groups: ranks / members, members },
        }
    }

    /// What a partition of its vertices makes small, if it needs one.
    pub fn objective(self) -> Option<Objective> {
        match self {
            Self::Snapshot => None,
            Self::Vertex { objective } => Some(objective),
            Self::Hybrid { .. } => Some(Objective::Connectivity),
        }
    }

    /// The strategies worth comparing for `ranks` ranks: all of one kind, and hybrids of small
    /// groups, because larger ones are nearly vertex partitioning.
    pub fn all(ranks: u32) -> Vec<Self> {
        let hybrids =
            Grid::hybrids(ranks).take(HYBRIDS).map(|grid| Self::Hybrid { members: grid.members });
        let vertex = [Objective::EdgeCut, Objective::Connectivity];
        let vertex = vertex.map(|objective| Self::Vertex { objective });
        std::iter::once(Self::Snapshot).chain(vertex).chain(hybrids).collect()
    }

    /// The partition of the vertices that some time steps are best shared by; none if one rank of a group has all of
    /// them.
    ///
    /// # Errors
    /// If a snapshot cannot be made.
    pub fn partition(
        self,
        graph: &SnapshotSequence,
        steps: Range<usize>,
        ranks: u32,
        seed: u64,
    ) -> Result<Option<Partition>, GraphError> {
        let members = self.grid(ranks).members;
        let Some(objective) = self.objective().filter(|_| members > 1) else { return Ok(None) };
        let options = Options { seed, ..Options::new(members) };
        objective.partition(graph, steps, &options).map(Some)
    }
}

/// Hybrid grids that are compared.
const HYBRIDS: usize = 2;

/// What strategies are compared for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The graph and the model.
    pub workload: &'a FrameWorkload,
    /// What the model exchanges.
    pub traffic: &'a Traffic,
    /// The topology, with the vertices as they are numbered in the data.
    pub graph: &'a SnapshotSequence,
    /// The frame of a step, of the time steps to train on; the one with most edges, if they differ.
    pub frame: Frame,
    /// Ranks that share the work.
    pub ranks: u32,
    /// Blocks of the frame, if decided; otherwise as few as fit the memory.
    pub blocks: Option<usize>,
    /// Whether blocks are recomputed in the backward pass.
    pub recompute: bool,
    /// Bytes that a rank may take, if limited.
    pub memory_limit: Option<u64>,
    /// What the ranks run on.
    pub machine: Machine,
    /// The key of random draws of partitioners.
    pub seed: u64,
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1_000_000_000 => format!("{:.1} GB", bytes as f64 / 1e9),
        bytes if bytes >= 1_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        bytes if bytes >= 1_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        bytes => format!("{bytes} B"),
    }
}
