//! What a user asked of planners. What is left open they decide.

use crate::partition::Objective;
use crate::plan::batch_plan::BatchRule;
use crate::plan::frame::FrameRule;
use crate::plan::frame_plan::OperatorOrder;
use crate::plan::gpu::{Coding, Precision, Residency, Transport};
use crate::strategy::Strategy;

/// A way for ranks to share a run, by the name that users know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategyWish {
    /// Different frames of an update on different ranks.
    Frames,
    /// Each snapshot on one rank.
    Snapshot,
    /// Each vertex on one rank, with few edges between ranks.
    Vertex,
    /// Each vertex on one rank, with few rows between ranks.
    Hypergraph,
    /// Snapshots over groups of ranks, vertices inside of a group.
    Hybrid,
}

impl StrategyWish {
    /// The planner whose strategy it is.
    pub fn planner(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Snapshot | Self::Vertex | Self::Hypergraph | Self::Hybrid => "esdg",
        }
    }

    /// The way to share cells that it names, for groups of `members` ranks; None if it shares frames.
    pub fn cells(self, members: u32) -> Option<Strategy> {
        Some(match self {
            Self::Frames => return None,
            Self::Snapshot => Strategy::Snapshot,
            Self::Vertex => Strategy::Vertex { objective: Objective::EdgeCut },
            Self::Hypergraph => Strategy::Vertex { objective: Objective::Connectivity },
            Self::Hybrid => Strategy::Hybrid { members },
        })
    }
}

/// Whether rows are to be redistributed beside computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlapWish {
    /// No.
    Never,
    /// Yes; refused if nothing can be computed meanwhile.
    Always,
    /// If that is predicted to be faster.
    IfItGains,
}

/// What was asked of planners, whatever is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Wishes {
    /// The planner; None lets all of them propose.
    pub planner: Option<String>,
    /// Ranks that compute.
    pub ranks: u32,
    /// How many of them are in one process.
    pub in_process: u32,
    /// How they share the run, if decided.
    pub strategy: Option<StrategyWish>,
    /// Ranks of a group of a hybrid, if decided.
    pub members: Option<u32>,
    /// Whether METIS is to divide vertices.
    pub metis: bool,
    /// Whether rows are redistributed in parts beside computing.
    pub overlap: OverlapWish,
    /// How frames are cut.
    pub rule: FrameRule,
    /// How batches of events are cut.
    pub batches: BatchRule,
    /// Snapshots in a group, if decided.
    pub group: Option<usize>,
    /// The order of products, if decided.
    pub order: Option<OperatorOrder>,
    /// Whether aggregations of the first layer may be kept.
    pub reuse: bool,
    /// Blocks of a frame, if decided; otherwise as few as the memory allows.
    pub blocks: Option<usize>,
    /// Whether blocks are recomputed in the backward pass.
    pub recompute: bool,
    /// Whether equal vertices, questions and events of a batch are computed once.
    pub deduplicate: bool,
    /// Whether batches are prepared ahead.
    pub prefetch: bool,
    /// How dense products on a GPU round.
    pub precision: Precision,
    /// Whether what a GPU reads several times stays on it, if decided.
    pub residency: Option<Residency>,
    /// Where states before recomputed blocks wait, if decided.
    pub block_states: Option<Residency>,
    /// How snapshots are written down when they are sent to a GPU.
    pub coding: Coding,
    /// Whether updates may be recorded.
    pub record: bool,
    /// How ranks exchange GPU data, if decided.
    pub transport: Option<Transport>,
    /// The memory that a process may take, if limited.
    pub memory_limit: Option<u64>,
    /// The key of random draws of partitioners.
    pub seed: u64,
    /// Whether all ways are compared, which takes as many partitions of the vertices; otherwise a good one
    /// that needs no partition is taken if there is one.
    pub compare: bool,
}

/// What one rank is asked for by a user who leaves everything to the planners.
impl Default for Wishes {
    fn default() -> Self {
        Self {
            planner: None,
            ranks: 1,
            in_process: 1,
            strategy: None,
            members: None,
            metis: false,
            overlap: OverlapWish::Never,
            rule: FrameRule { frame: None, stride: 1, truncate: None },
            batches: BatchRule { events: 200, chunks: None, whole_times: true },
            group: None,
            order: None,
            reuse: true,
            blocks: None,
            recompute: true,
            deduplicate: true,
            prefetch: true,
            precision: Precision::F32,
            residency: None,
            block_states: None,
            coding: Coding::Auto,
            record: true,
            transport: None,
            memory_limit: None,
            seed: 0,
            compare: false,
        }
    }
}
