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
    /// Whether gradients come back for them; not if they are features.
    pub gathered_needs_gradient: bool,
    /// The width of rows on their way to the time encoder.
    pub to_time: usize,
    /// Whether gradients come back for them; not if they follow from features alone.
    pub to_time_needs_gradient: bool,
    /// The width of rows that come back from the time encoder; 0 if nobody needs them there.
    pub from_time: usize,
}

/// Bytes of a row that goes forward so many times, and back once.
fn bytes(width: usize, forward: u64, needs_gradient: bool) -> u64 {
    width as u64 * VALUE * (forward + u64::from(needs_gradient))
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
        moved.map(|layer| bytes(layer.gathered, forward, layer.gathered_needs_gradient)).sum()
    }

    /// Bytes that one unit of a redistribution stands for, there and back.
    pub(super) fn exchanged_bytes(&self, forward: u64) -> u64 {
        let both = |layer: &LayerTraffic| {
            bytes(layer.to_time, forward, layer.to_time_needs_gradient)
                + bytes(layer.from_time, forward, true)
        };
        self.layers.iter().map(both).sum()
    }

    /// Bytes that one unit of whole snapshots stands for.
    pub(super) fn answered_bytes(&self, forward: u64) -> u64 {
        bytes(self.answered, forward, true)
    }

    /// Bytes of exchanged rows: one rank alone has each row once, several have it where it was computed
    /// and where it went.
    pub(crate) fn memory(&self, moved: Moved) -> MovedBytes {
        let Moved { cells, time_cells, gathered, redistributed, split } = moved;
        let widths = |width: fn(&LayerTraffic) -> usize| {
            self.layers.iter().map(|layer| width(layer) as u64).sum::<u64>()
        };
        let (mut held, mut rows, mut widest) = (0, 0, 0);
        if redistributed {
            held += widths(|layer| layer.to_time) * time_cells;
            held += widths(|layer| layer.from_time) * cells;
            rows = cells.max(time_cells);
            let wide = self.layers.iter().map(|layer| layer.to_time.max(layer.from_time)).max();
            widest = wide.unwrap_or(0) as u64;
        }
        if split {
            let often = |layer: &LayerTraffic| if layer.gathered_once { 0 } else { layer.gathered };
            held += widths(often) * (cells + gathered) + self.answered as u64 * cells;
            rows = rows.max(cells + gathered);
            let wide = self.layers.iter().map(often).chain([self.answered]).max();
            widest = widest.max(wide.unwrap_or(0) as u64);
        }
        // A gradient in the backward pass, and the messages that it travels in.
        let messages = 2 * rows * widest * VALUE;
        MovedBytes { held: held * VALUE, messages }
    }
}

/// Bytes of the lists that say which rows go where, which are kept for all frames.
///
/// Redistributions follow a rule, the same in all frames. A gathered row is known by its snapshot, where it is needed and
/// where it is asked for, and again by the piece that it is gathered for; at most a number each, fewer if they are dense.
/// A row of whole snapshots is a number in all frames of one length together.
pub(crate) fn list_bytes(gathered: u64, answered: u64) -> u64 {
    (4 * gathered + answered) * VALUE
}

/// Rows of a step that exchanges bring to ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Cells of structure encoders.
    pub(crate) cells: u64,
    /// Cells of time encoders.
    pub(crate) time_cells: u64,
    /// Rows of others that structure encoders gather.
    pub(crate) gathered: u64,
    /// Whether rows go from structure encoders to time encoders and back.
    pub(crate) redistributed: bool,
    /// Whether a snapshot is on several ranks.
    pub(crate) split: bool,
}

/// What exchanged rows take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MovedBytes {
    /// Until the step has gone back.
    pub(crate) held: u64,
    /// While they are on their way.
    pub(crate) messages: u64,
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
