//! The memory that a run will take, by consumer.

use serde::{Deserialize, Serialize};

use crate::error::PlanError;

/// Bytes by consumer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Features, targets, topology and the matrices made of it.
    pub data: u64,
    /// Memory and mailbox of vertices, as often as a run keeps them.
    #[serde(default)]
    pub states: u64,
    /// Kept aggregations of the first layer.
    pub reuse: u64,
    /// Parameters, gradients and the state of the optimiser, and the copies of them that a checkpoint is made of.
    pub parameters: u64,
    /// Values and gradients of a step, or of its largest block.
    pub activations: u64,
    /// What is passed from block to block of a step.
    #[serde(default)]
    pub checkpoints: u64,
    /// Rows that ranks exchanged, and messages on their way.
    #[serde(default)]
    pub exchanged: u64,
    /// Scores that measuring has to keep.
    pub evaluation: u64,
    /// The program itself.
    pub program: u64,
}

/// What a run walks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaidOut {
    /// Frames of snapshots.
    Frames,
    /// Batches of events.
    Batches,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.data
            + self.states
            + self.reuse
            + self.parameters
            + self.activations
            + self.checkpoints
            + self.exchanged
            + self.evaluation
            + self.program
    }

    /// Refuses a limit that is too small, naming the largest consumer and what would help in a layout
    /// of this kind.
    ///
    /// # Errors
    /// [`PlanError::TooLarge`].
    ///
    /// # Panics
    /// Never: there is always a largest consumer.
    pub fn check(&self, limit: Option<u64>, laid_out: LaidOut) -> Result<(), PlanError> {
        let Some(limit) = limit.filter(|&limit| self.total() > limit) else { return Ok(()) };
        let by = |frames, batches| match laid_out {
            LaidOut::Frames => frames,
            LaidOut::Batches => batches,
        };
        let consumers = [
            (
                self.data,
                "the data set",
                by("choose fewer snapshots or features", "choose fewer events or features"),
            ),
            (
                self.states,
                "memory and mailbox of vertices",
                "choose a smaller model.hidden or model.mailbox",
            ),
            (self.reuse, "kept aggregations", "set plan.reuse to false"),
            (self.parameters, "parameters", "choose a smaller hidden size"),
            (
                self.evaluation,
                "scores of pairs",
                by(
                    "choose fewer task.negatives or a shorter test part",
                    "choose fewer task.candidates or a shorter test part",
                ),
            ),
            (
                self.activations,
                "activations",
                by(
                    "choose more plan.blocks, a shorter frame or a smaller hidden size",
                    "choose a smaller train.batch_size, model.neighbours or model.hidden",
                ),
            ),
            (self.checkpoints, "states between blocks", "choose fewer plan.blocks"),
            (self.exchanged, "rows that ranks exchange", "choose more plan.blocks"),
        ];
        let (largest_bytes, largest, advice) =
            consumers.into_iter().max_by_key(|(bytes, ..)| *bytes).expect("there are consumers");
        Err(PlanError::TooLarge { needed: self.total(), limit, largest, largest_bytes, advice })
    }
}
