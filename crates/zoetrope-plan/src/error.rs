//! What can be wrong with a plan or with what is asked of a planner.

use zoetrope_heap::Bytes;

/// A refusal of a planner, or of a plan that does not fit its workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// A saved plan contradicts itself.
    #[error("the plan is broken: {0}")]
    Broken(String),
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
}
