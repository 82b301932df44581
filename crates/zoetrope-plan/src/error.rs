//! What can be wrong with a plan or with what is asked of a planner.

use zoetrope_graph::GraphError;
use zoetrope_heap::Bytes;

use crate::plan::contradiction::Contradiction;

/// A refusal of a planner, or of a plan that does not fit its workload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A frame is longer than the part of the timeline that it should walk through.
    #[error(
        "a frame of {frame} snapshots does not fit into the {snapshots} snapshots to train on; choose a frame of at most {snapshots}"
    )]
    FrameTooLong {
        /// Snapshots of a frame.
        frame: usize,
        /// Snapshots there are.
        snapshots: usize,
    },
    /// There is nothing to train on.
    #[error("there is no snapshot to train on")]
    NoSnapshots,
    /// There is no planner of that name.
    #[error("there is no planner `{name}`; there are {known}, or give the file of a saved plan")]
    UnknownPlanner {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A saved plan was made for something else.
    #[error(
        "the plan was made for {field} {planned}, but this run has {found}; make a new one with `zoetrope plan`"
    )]
    Mismatch {
        /// What differs.
        field: &'static str,
        /// What the plan says.
        planned: String,
        /// What the run has.
        found: String,
    },
    /// A planner was asked for a way of another one.
    #[error(
        "plan.name = \"{planner}\" does not have that plan.strategy: it is one of `{of}`; leave one of them out"
    )]
    StrategyOfAnother {
        /// The planner asked for.
        planner: String,
        /// The planner whose strategy it is.
        of: &'static str,
    },
    /// A planner has no way to lay out such work.
    #[error(
        "the planner `{planner}` does not lay out what this model learns from; leave plan.name out"
    )]
    NothingProposed {
        /// The planner asked for.
        planner: String,
    },
    /// A planner for several ranks was asked to plan for one.
    #[error(
        "the planner `{planner}` shares work between ranks, and there is one; choose --ranks, or leave plan.name out"
    )]
    OneRank {
        /// The planner asked for.
        planner: &'static str,
    },
    /// What ranks would exchange is found by running the model in miniature, and that failed.
    #[error(
        "{model} did not run in miniature, so that nobody knows what ranks would exchange; use --ranks 1"
    )]
    NoMiniature {
        /// The model.
        model: String,
    },
    /// Rows are to move beside computing, and there is nothing to compute meanwhile.
    #[error(
        "plan.overlap = true for {model}: what it computes before and after rows move needs all of them at once; \
         leave plan.overlap out"
    )]
    NothingBeside {
        /// The model.
        model: String,
    },
    /// A hidden state goes on from frame to frame, which several ranks compute at the same time.
    #[error(
        "train.carry_state with {ranks} ranks that compute different frames at the same time: a frame would \
         begin before the one whose state it needs has ended; use plan.strategy = \"snapshot\", \"vertex\", \
         \"hypergraph\" or \"hybrid\""
    )]
    StateAcrossRanks {
        /// The ranks.
        ranks: u32,
    },
    /// There are more ranks than vertices.
    #[error("{ranks} ranks for {vertices} vertices; choose fewer ranks")]
    TooFewVertices {
        /// The vertices.
        vertices: usize,
        /// The ranks.
        ranks: u32,
    },
    /// Batches of events are computed by one rank.
    #[error("train.ranks = {ranks} for {model}; event models train on one rank: use --ranks 1")]
    EventsAcrossRanks {
        /// The model.
        model: String,
        /// The ranks.
        ranks: u32,
    },
    /// Groups of a size do not divide the ranks.
    #[error("plan.members = {members} with {ranks} ranks; choose a number that divides the ranks")]
    UnevenGroups {
        /// Ranks of a group.
        members: u32,
        /// The ranks.
        ranks: u32,
    },
    /// NCCL was asked for and cannot be had.
    #[error("plan.device_transport = \"nccl\" ({why}); leave it out to go by way of the host")]
    NotLinked {
        /// Why not.
        why: String,
    },
    /// The library that was asked to divide the vertices does not.
    #[error("{name} does not divide the vertices ({why}); leave plan.partitioner out")]
    Divider {
        /// The library.
        name: String,
        /// Why not.
        why: String,
    },
    /// Differences were asked for of what does not follow from the snapshot before.
    #[error(
        "plan.difference = \"on\" if ranks share the vertices of a snapshot: the part of a rank numbers its \
         neighbours anew in every snapshot, so that nothing is left as it was; use plan.strategy = \
         \"snapshot\", or leave plan.difference out"
    )]
    DifferencesOfParts,
    /// The vertices of a graph cannot be renamed as a partition says.
    #[error("the vertices cannot be renamed: {why}; make a new plan with `zoetrope plan`")]
    Renaming {
        /// What does not fit.
        why: String,
    },
    /// A saved plan is of another version of the format.
    #[error(
        "the plan is of version {found} of the format, this program reads {known}; make a new one with \
         `zoetrope plan`"
    )]
    Schema {
        /// The version of the plan.
        found: u64,
        /// The version that is read.
        known: u32,
    },
    /// A saved plan has a key that no plan has.
    #[error("not a plan: unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A saved plan contradicts itself.
    #[error("the plan is broken: {0}")]
    Broken(#[from] Contradiction),
    /// A text is no plan.
    #[error("not a plan: {0}")]
    NotAPlan(String),
    /// The plan does not fit into the memory that it may take.
    #[error(
        "the plan needs {}, of which {} for {largest}, but may take {}; {advice}",
        Bytes(*.needed),
        Bytes(*.largest_bytes),
        Bytes(*.limit)
    )]
    TooLarge {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// The largest consumer.
        largest: &'static str,
        /// Its bytes.
        largest_bytes: u64,
        /// What to change.
        advice: &'static str,
    },
    /// The plan does not fit into the memory of a GPU.
    #[error(
        "the plan needs {} on the GPU of a rank, of which {} for {largest}, but may take {} there; {advice}",
        Bytes(*.needed),
        Bytes(*.largest_bytes),
        Bytes(*.limit)
    )]
    TooLargeForGpu {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// The largest consumer.
        largest: &'static str,
        /// Its bytes.
        largest_bytes: u64,
        /// What to change.
        advice: &'static str,
    },
}

impl From<GraphError> for PlanError {
    fn from(error: GraphError) -> Self {
        Self::Renaming { why: error.to_string() }
    }
}
