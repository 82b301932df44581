//! What plans of both kinds have in common.

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use crate::planners::Proposal;

/// The head of a plan: what it was made for, what it will take, why it is as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The version of this format.
    pub schema: u32,
    /// The planner that made it.
    pub planner: String,
    /// The data set it was made for.
    pub data: String,
    /// The model it was made for.
    pub model: String,
    /// The number of vertices.
    pub vertices: usize,
    /// Processes or threads that compute.
    pub ranks: usize,
    /// The memory that the run will take.
    pub memory: Memory,
    /// Bytes of snapshots and features that go piece by piece to the GPU of each rank in an epoch whose frames
    /// come in time order, if any do and it is known. Nobody who executes the plan reads it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent_bytes: Vec<u64>,
    /// Why the planner chose what it chose.
    pub reasons: Vec<String>,
    /// What a user should know about the data that it was made for. Like the reasons it is read by nobody
    /// who executes the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What there was to choose from, if several ways were compared. Nobody who executes a plan reads it; it
    /// stands here, like the reasons, so that what `plan --json` prints is what `train --plan` reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Proposal>,
    /// The machine that the times of candidates are of, if they were simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_by: Option<String>,
}

impl Head {
    /// The version of the format that this crate writes and reads.
    pub const SCHEMA: u32 = 2;
}
