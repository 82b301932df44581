//! The program of a plan: what one rank does in one epoch of training, task by task.
//!
//! [`FramePlan::lower`](crate::FramePlan::lower) and [`BatchPlan::lower`](crate::BatchPlan::lower) are
//! pure functions from a plan and facts of the data and the model to a [`TaskGraph`]. The executor does not
//! read it: it obeys the plan, and with a trace it numbers what it does, so that a test can compare the two
//! task by task and byte by byte. A simulator can run the same list without computing anything.
//!
//! Tasks stand in the order in which the rank ends them, and a task only waits for earlier ones. What lies
//! inside another task ends before it: an exchange inside a structure encoder or a backward pass is a task
//! of its own, and the other waits for it. Evaluation is not part of an epoch of training.

mod batches;
mod builder;
mod copies;
pub mod facts;
mod frames;
mod piece;
mod rows;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use facts::{BatchFacts, CopySizes, FrameFacts, ModelStage, StageRole};

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// Draws what is asked about and, for events, finds neighbours and unique vertices.
    Draw,
    /// Copies snapshots, features or the state before a block to a GPU.
    Copy,
    /// Copies the state before a block from a GPU to the host, where it waits for the backward pass.
    Store,
    /// Runs a structure encoder over a group of snapshots.
    Structure,
    /// Exchanges rows with the other ranks.
    Exchange,
    /// Runs a time encoder, or lets weights evolve.
    Time,
    /// Makes new rows of memory of mails.
    Remember,
    /// Embeds the questions of a batch.
    Embed,
    /// Finds a loss.
    Loss,
    /// Finds gradients.
    Backward,
    /// Adds up values of all ranks.
    AllReduce,
    /// Gets values of all ranks.
    AllGather,
    /// Changes the weights.
    Update,
    /// Writes the memory and the mails of a batch's events.
    Absorb,
}

impl TaskKind {
    /// The name in programs and traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Draw => "draw",
            Self::Copy => "copy",
            Self::Store => "store",
            Self::Structure => "structure",
            Self::Exchange => "exchange",
            Self::Time => "time",
            Self::Remember => "remember",
            Self::Embed => "embed",
            Self::Loss => "loss",
            Self::Backward => "backward",
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::Update => "update",
            Self::Absorb => "absorb",
        }
    }
}

/// Who does a task, besides others of other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// The processor or GPU that computes.
    Compute,
    /// The copies between host and GPU.
    Copy,
    /// The messages between ranks.
    Messages,
    /// Threads of the host that prepare ahead.
    Prepare,
}

/// Why rows are exchanged or values are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Rows of others that an encoder needs (halo).
    Halo,
    /// The best rows of each snapshot go to all ranks.
    Best,
    /// Rows go from structure encoders to time encoders.
    ToTime,
    /// Rows go from time encoders to structure encoders.
    ToStructure,
    /// Whole snapshots are put together, to be asked about.
    Answers,
    /// The loss of a frame.
    Loss,
    /// Gradients of all weights.
    Gradients,
    /// Statistics of batch norms.
    Statistics,
    /// Whether anybody wants to stop.
    Stop,
}

/// The size of what a task computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskShape {
    /// Rows that go in.
    pub rows: u64,
    /// Edges that they meet, without self-loops; 0 in time encoders.
    pub edges: u64,
    /// Values of a row that goes in.
    pub inputs: usize,
    /// Values of a row that comes out.
    pub outputs: usize,
}

/// One thing that a rank does. Its number is its place in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What it does.
    pub kind: TaskKind,
    /// Who does it.
    pub stream: Stream,
    /// The update that it is part of.
    pub update: usize,
    /// The place of the frame among those of the epoch, or of the batch; nothing if it is of all of an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<usize>,
    /// The block or stretch of the frame, if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The position of a layer among those of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<usize>,
    /// Whether it is part of a backward pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backward: bool,
    /// Why ranks talk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// What it computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<TaskShape>,
    /// Bytes that leave this rank for others, or go between host and GPU; nothing if that follows from draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The tasks that have to be over before it begins.
    pub after: Vec<usize>,
}

/// What one rank does in one epoch of training.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGraph {
    /// The version of this format.
    pub schema: u32,
    /// The rank.
    pub rank: usize,
    /// Its tasks, in the order in which it ends them.
    pub tasks: Vec<Task>,
}

impl TaskGraph {
    /// The version of the format that this crate writes.
    pub const SCHEMA: u32 = 1;

    /// Bytes of all tasks of a kind.
    pub fn bytes_of(&self, kind: TaskKind) -> u64 {
        let of_kind = self.tasks.iter().filter(|task| task.kind == kind);
        of_kind.filter_map(|task| task.bytes).sum()
    }

    /// How many tasks of a kind there are.
    pub fn count_of(&self, kind: TaskKind) -> usize {
        self.tasks.iter().filter(|task| task.kind == kind).count()
    }
}
