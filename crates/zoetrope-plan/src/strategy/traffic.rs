//! What a model exchanges, layer by layer, and what the ranks run on.

use serde::{Deserialize, Serialize};

/// Bytes of a value.
pub(super) const VALUE: u64 = 4;

/// What one layer, a structure encoder and a time encoder, exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerTraffic {
    /// The width of the rows that the structure encoder gathers.
    pub gathered: usize,
    /// Whether those are the same in every step and are kept once aggregated (the first layer).
    pub gathered_once: bool,
    /// Whether gradients come back for them; not where they are features.
    pub gathered_goes_back: bool,
    /// The width of rows on their way to the time encoder.
    pub to_time: usize,
    /// Whether gradients come back for them; not where they follow from features alone.
    pub to_time_goes_back: bool,
    /// The width of rows on their way back; 0 where nobody needs them there.
    pub from_time: usize,
}

/// Bytes of a row that goes forward so many times, and back once.
fn bytes(width: usize, forward: u64, goes_back: bool) -> u64 {
    width as u64 * VALUE * (forward + u64::from(goes_back))
}

/// What a model exchanges in a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The layers.
    pub layers: Vec<LayerTraffic>,
    /// The width of the embeddings, of which whole snapshots are brought together to be asked about.
    pub answered: usize,
    /// Values that all ranks add up once a step: gradients, and what belongs to them.
    pub summed: usize,
    /// Whether time encoders work on rows of vertices; EvolveGCN's work on weights.
    pub time_on_features: bool,
    /// Bytes that a time encoder passes on to the next block, for each vertex: `π`.
    pub state_bytes_per_vertex: u64,
}

impl Traffic {
    /// Bytes that one unit of a halo stands for in a step of all layers; `forward` is how often the
    /// forward pass of a row runs.
    pub(super) fn gathered_bytes(&self, forward: u64) -> u64 {
        let moved = self.layers.iter().filter(|layer| !layer.gathered_once);
        moved.map(|layer| bytes(layer.gathered, forward, layer.gathered_goes_back)).sum()
    }

    /// Bytes that one unit of a redistribution stands for, there and back.
    pub(super) fn exchanged_bytes(&self, forward: u64) -> u64 {
        let both = |layer: &LayerTraffic| {
            bytes(layer.to_time, forward, layer.to_time_goes_back)
                + bytes(layer.from_time, forward, true)
        };
        self.layers.iter().map(both).sum()
    }

    /// Bytes that one unit of whole snapshots stands for.
    pub(super) fn answered_bytes(&self, forward: u64) -> u64 {
        bytes(self.answered, forward, true)
    }

    /// Bytes of rows of others that are held until the step has gone back.
    pub(super) fn held_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.gathered as u64 * VALUE).sum()
    }

    /// The widest row that is exchanged, in bytes.
    pub(super) fn widest_bytes(&self) -> u64 {
        let widest = |layer: &LayerTraffic| layer.gathered.max(layer.to_time).max(layer.from_time);
        let widest = self.layers.iter().map(widest).chain([self.answered]).max();
        widest.unwrap_or(0) as u64 * VALUE
    }
}

/// What ranks run on, as rates; only their ratios decide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Bytes a second that a rank reads and writes while it computes.
    pub memory_bytes_per_second: f64,
    /// Bytes a second that a rank sends while it receives as many.
    pub link_bytes_per_second: f64,
    /// Seconds that a message takes whatever its length.
    pub message_seconds: f64,
}

impl Machine {
    /// Ranks of one machine: messages are copies in memory.
    pub fn one_host() -> Self {
        Self { memory_bytes_per_second: 8e9, link_bytes_per_second: 4e9, message_seconds: 5e-6 }
    }
}
