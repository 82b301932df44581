//! What a plan says about GPUs: where data lies, how it gets there, what is recorded, in which precision.

use serde::{Deserialize, Serialize};

use super::device_memory::DeviceMemory;

/// Where data lies that a GPU reads again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Residency {
    /// On the GPU.
    Resident,
    /// On the host, from where every frame's or batch's share is sent.
    Stream,
}

impl Residency {
    /// What plans meant that did not say it.
    fn resident() -> Self {
        Self::Resident
    }
}

/// How consecutive snapshots are written down when they are sent to a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// As what differs from the snapshot before, if that is faster.
    Auto,
    /// As what differs from the snapshot before, wherever that takes fewer bytes.
    Differences,
    /// Whole.
    Whole,
}

/// How dense products round their operands; sums are always f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Not at all.
    F32,
    /// To TF32.
    Tf32,
    /// To bfloat16.
    Bf16,
}

/// How ranks exchange GPU data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// From GPU to GPU by NCCL.
    Nccl,
    /// By way of the host.
    Host,
}

/// How frames are computed on GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FramesOnGpu {
    /// How dense products round.
    pub precision: Precision,
    /// Where the graph lies.
    pub residency: Residency,
    /// How snapshots are written down when they are sent.
    pub coding: Coding,
    /// Where the states before blocks that are recomputed wait for the backward pass. On the host, two are on the
    /// GPU, and each of the others is fetched while the block after it is computed.
    #[serde(default = "Residency::resident")]
    pub block_states: Residency,
    /// Frames or blocks whose snapshots are sent ahead of their use: 0 or 1; none if the graph is resident.
    pub look_ahead: usize,
    /// Updates whose questions threads of the host draw ahead of their use, if a task draws them.
    pub draw_ahead: usize,
    /// Whether updates that repeat are recorded as CUDA graphs and launched as a whole.
    pub record: bool,
    /// How ranks exchange GPU data; None for one rank, or if that is decided when the ranks are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// What that will take there. The trainer does not read it.
    #[serde(default)]
    pub memory: DeviceMemory,
}

/// How batches of events are computed on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchesOnGpu {
    /// How dense products round.
    pub precision: Precision,
    /// Where the index of events lies, and with it where neighbours are sampled.
    pub residency: Residency,
    /// Where the features of events lie.
    #[serde(default = "Residency::resident")]
    pub features: Residency,
}
