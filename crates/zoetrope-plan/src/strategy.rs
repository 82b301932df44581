//! Strategies for many ranks side by side: bytes, balance, memory, and which one to take.
//!
//! A strategy is a [`Grid`] and, where it has members, a partition of the vertices. [`compare`] makes the
//! partitions, fills one [`Row`] for each strategy from formulas alone ([`assess`]), and recommends the one
//! with the shortest predicted step among those whose memory fits. Everything is for one step of training:
//! one frame, forward and backward.

mod assess;
#[cfg(test)]
mod tests;
mod traffic;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::{GraphError, SnapshotSequence};

use crate::frames::Frame;
use crate::partition::{Objective, Options, Partition};
use crate::placement::grid::{Grid, even_starts};
use crate::workload::Workload;

pub use assess::{Balance, RankMemory, Row, assess};
pub(crate) use traffic::Moved;
pub use traffic::{LayerTraffic, Machine, Traffic};

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

    /// What a partition of its vertices makes small, where it needs one.
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

    /// The partition of the vertices that some time steps are best shared by; none where one rank of
    /// a group has all of them.
    pub fn partition(
        self,
        graph: &SnapshotSequence,
        steps: Range<usize>,
        ranks: u32,
        seed: u64,
    ) -> Option<Partition> {
        let members = self.grid(ranks).members;
        let objective = self.objective().filter(|_| members > 1)?;
        let options = Options { seed, ..Options::new(members) };
        Some(objective.partition(graph, steps, &options))
    }
}

/// Hybrid grids that are compared.
const HYBRIDS: usize = 2;

/// What strategies are compared for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The graph and the model.
    pub workload: &'a Workload,
    /// What the model exchanges.
    pub traffic: &'a Traffic,
    /// The topology, with the vertices as they are numbered in the data.
    pub graph: &'a SnapshotSequence,
    /// The frame of a step, of the time steps to train on; the one with most edges where they differ.
    pub frame: Frame,
    /// Ranks that share the work.
    pub ranks: u32,
    /// Blocks of the frame, where decided; otherwise as few as fit the memory.
    pub blocks: Option<usize>,
    /// Whether blocks are computed again on the way back.
    pub recompute: bool,
    /// Bytes that a rank may take, where limited.
    pub memory_limit: Option<u64>,
    /// What the ranks run on.
    pub machine: Machine,
    /// The key of random draws of partitioners.
    pub seed: u64,
}

/// Strategies side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Ranks that share the work.
    pub ranks: u32,
    /// One row for each strategy.
    pub rows: Vec<Row>,
    /// The row to take.
    pub recommended: usize,
    /// Why.
    pub reason: String,
}

impl Comparison {
    /// The row to take.
    pub fn best(&self) -> &Row {
        &self.rows[self.recommended]
    }
}

/// All strategies for the ranks of a question.
///
/// Partitions the vertices up to four times: seconds for a million edges.
///
/// # Errors
/// [`GraphError`] where the graph cannot be renamed.
pub fn compare(question: &Question<'_>) -> Result<Comparison, GraphError> {
    let mut rows = Vec::new();
    for strategy in Strategy::all(question.ranks) {
        // Vertices stay where they are for all frames.
        let training = question.workload.training.clone();
        let partition = strategy.partition(question.graph, training, question.ranks, question.seed);
        let row = match partition {
            Some(partition) => {
                let renaming = partition.renaming();
                let graph = renaming.snapshots(question.graph)?;
                assess(question, strategy, renaming.starts(), &graph)
            }
            None => {
                let starts = even_starts(question.graph.vertices(), 1);
                assess(question, strategy, &starts, question.graph)
            }
        };
        rows.push(row);
    }
    let (recommended, reason) = recommend(&rows);
    Ok(Comparison { ranks: question.ranks, rows, recommended, reason })
}

/// The row with the shortest step among those that fit, and why.
fn recommend(rows: &[Row]) -> (usize, String) {
    let order = |&at: &usize| {
        let row: &Row = &rows[at];
        // Predictions that differ by less than a part in a thousand are one: earlier rows are simpler.
        (!row.fits, (row.step_seconds().max(1e-12).ln() * 1e3).round() as i64)
    };
    let all = 0..rows.len();
    if rows.iter().all(|row| !row.fits) {
        let least = all.min_by_key(|&at| rows[at].memory.total()).expect("there are strategies");
        let (name, needed) = (rows[least].strategy.name(), size(rows[least].memory.total()));
        let says = "no strategy fits into the memory of a rank";
        return (least, format!("{says}; {name} comes nearest with {needed}"));
    }
    let best = all.min_by_key(order).expect("there are strategies");
    let row = &rows[best];
    let name = row.strategy.name();
    let second = (0..rows.len()).filter(|&at| at != best && rows[at].fits).min_by_key(order);
    let Some(second) = second.map(|at| &rows[at]) else {
        return (best, format!("{name}: the only one that fits into the memory of a rank"));
    };
    let says = |row: &Row| {
        let (moved, edges) = (size(row.row_bytes()), row.balance.edges);
        format!("{moved} of rows move, the busiest rank has {edges:.2} × the mean of edges")
    };
    let reason = format!(
        "{name}: the shortest predicted step; {}. Next {}: {}",
        says(row),
        second.strategy.name(),
        says(second),
    );
    (best, reason)
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1_000_000_000 => format!("{:.1} GB", bytes as f64 / 1e9),
        bytes if bytes >= 1_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        bytes if bytes >= 1_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        bytes => format!("{bytes} B"),
    }
}
