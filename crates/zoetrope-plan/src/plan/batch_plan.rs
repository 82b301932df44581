//! The plan of an epoch over batches of events.

use serde::{Deserialize, Serialize};

use super::gpu::BatchesOnGpu;
use super::head::Head;

/// How a stream of events is cut into batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRule {
    /// Events in a batch.
    pub events: usize,
    /// Equal pieces of a batch by a random number of which boundaries move from epoch to epoch; None if they
    /// stay.
    pub chunks: Option<usize>,
    /// Whether a batch goes on to the end of the last time in it.
    pub whole_times: bool,
}

/// One epoch over batches of events, laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchPlan {
    /// What it was made for and why.
    #[serde(flatten)]
    pub head: Head,
    /// The events of an epoch.
    pub events: usize,
    /// How batches are cut, also for evaluation.
    pub rule: BatchRule,
    /// The events of each batch of an epoch, in time order; nothing if boundaries move, which the rule then
    /// decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<usize>,
    /// Whether each vertex, question and event of a batch is computed once.
    pub deduplicate: bool,
    /// Batches that are prepared ahead of the one that is computed; 0 prepares each when it is its turn.
    pub prefetch: usize,
    /// Questions of evaluation that go through the model at once.
    pub questions: usize,
    /// How a GPU computes it; nothing on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<BatchesOnGpu>,
}
