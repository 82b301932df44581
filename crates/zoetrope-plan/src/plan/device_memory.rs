//! The memory that a rank will take on its GPU, by consumer.

use serde::{Deserialize, Serialize};

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
    /// What is passed from block to block of a step.
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
}
