//! The memory that a rank will take on its GPU, by consumer.

use serde::{Deserialize, Serialize};

use crate::error::PlanError;

/// Bytes on a GPU by consumer. An estimate: the allocator of the GPU keeps the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceMemory {
    /// The matrices of snapshots: all that the rank has, or those of two pieces if they are streamed.
    pub graph: u64,
    /// Features, what is kept of them, and targets.
    pub features: u64,
    /// Parameters, gradients and the state of the optimiser.
    pub parameters: u64,
    /// Values and gradients of a step, or of its largest block.
    pub activations: u64,
    /// What is passed from block to block of a step, as far as it waits on the GPU.
    pub checkpoints: u64,
    /// Rows that ranks exchanged.
    pub exchanged: u64,
    /// What libraries work with.
    pub workspace: u64,
}

impl DeviceMemory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.consumers().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The consumers by name.
    pub fn consumers(&self) -> [(&'static str, u64); 7] {
        [
            ("graph", self.graph),
            ("features", self.features),
            ("parameters and optimiser", self.parameters),
            ("activations of a step", self.activations),
            ("states between blocks", self.checkpoints),
            ("rows that ranks exchange", self.exchanged),
            ("workspace of libraries", self.workspace),
        ]
    }

    /// Refuses a limit that is too small, naming the largest consumer that a user can do something about, and
    /// what.
    ///
    /// # Errors
    /// [`PlanError::TooLargeForGpu`].
    ///
    /// # Panics
    /// Never: there is always a largest consumer.
    pub fn check(&self, limit: u64) -> Result<(), PlanError> {
        // Libraries take theirs only once there is a large product: without it a run may do.
        let needed = self.total() - self.workspace;
        if needed <= limit {
            return Ok(());
        }
        let advice = |name: &str| match name {
            "graph" | "features" => {
                "use plan.residency = \"stream\", more plan.blocks, or a larger plan.memory_limit"
            }
            "activations of a step" => {
                "use more plan.blocks, a smaller train.frame or model.hidden, more ranks, or a larger \
                 plan.memory_limit"
            }
            "states between blocks" => {
                "use plan.block_states = \"stream\", fewer plan.blocks, or a larger plan.memory_limit"
            }
            "rows that ranks exchange" => "use more plan.blocks, or a larger plan.memory_limit",
            _ => "use a smaller model.hidden, or a larger plan.memory_limit",
        };
        let others = Self { workspace: 0, ..*self };
        let (largest, largest_bytes) =
            others.consumers().into_iter().max_by_key(|&(_, bytes)| bytes).expect("there are some");
        let advice = advice(largest);
        Err(PlanError::TooLargeForGpu { needed, limit, largest, largest_bytes, advice })
    }
}
