//! What a model exchanges, layer by layer, and what the ranks run on.

use serde::{Deserialize, Serialize};

use super::assess::reduced_bytes;
use crate::plan::sharing::Overlap;
use crate::program::{ModelStage, StageRole};

/// Bytes of a value.
pub(super) const VALUE: u64 = 4;

/// Bytes of a row that goes forward so many times, and back once.
fn bytes(width: usize, forward: u64, needs_gradient: bool) -> u64 {
    width as u64 * VALUE * (forward + u64::from(needs_gradient))
}

/// What a model exchanges in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// The stages of its forward pass as a miniature shows them. Those count at which rows move if ranks share
    /// cells; all of a time encoder that multiplies with the graph at every snapshot are of one or two
    /// snapshots, of which the last stands for all.
    pub stages: Vec<ModelStage>,
    /// Whether the rows that the first layer aggregates are kept, so that they are gathered once only.
    pub keeps_first: bool,
    /// The width of the embeddings, of which whole snapshots are brought together to be asked about.
    pub answered: usize,
    /// Whether the last snapshot of a frame alone is described.
    pub answers_last: bool,
    /// Values that all ranks add up once a step: gradients, and what belongs to them.
    pub summed: usize,
    /// Bytes that a time encoder passes on to the next block, for each vertex: `π`.
    pub state_bytes_per_vertex: u64,
}

impl Traffic {
    fn of(&self, role: StageRole) -> impl Iterator<Item = &ModelStage> {
        self.stages.iter().filter(move |stage| stage.role == role)
    }

    fn width_of(&self, role: StageRole) -> u64 {
        self.of(role).map(|stage| stage.inputs as u64).sum()
    }

    fn bytes_of(&self, role: StageRole, forward: u64) -> u64 {
        self.of(role).map(|stage| bytes(stage.inputs, forward, stage.needs_gradient)).sum()
    }

    /// Whether time encoders work on rows of vertices; EvolveGCN's work on weights.
    pub fn time_on_features(&self) -> bool {
        self.of(StageRole::ToTime).next().is_some()
    }

    /// How rows may move beside computing; None if nothing can be computed meanwhile.
    ///
    /// What is cut is what takes longer. A time encoder that can run in pieces is recurrent, and computes more than
    /// the aggregation beside it: that one runs at once, so that a piece has not to wait for all parts.
    /// Kernels of a GPU sum over all vertices at once.
    pub fn overlap(&self, on_gpu: bool) -> Option<Overlap> {
        let has = |role| self.of(role).next().is_some();
        if has(StageRole::InPieces) && !on_gpu {
            return Some(Overlap { parts: 1, pieces: 8 });
        }
        has(StageRole::InParts).then(Overlap::default)
    }

    /// How often rows are gathered, and how often they are redistributed.
    pub(super) fn exchanges(&self) -> [u64; 2] {
        let count = |role| self.of(role).count() as u64;
        [count(StageRole::Halo), count(StageRole::ToTime) + count(StageRole::ToStructure)]
    }

    /// The width of all rows that meet the graph in a structure encoder.
    pub(super) fn gathered_width(&self) -> u64 {
        self.width_of(StageRole::Halo)
    }

    /// Bytes that one unit of a halo stands for in a step of all layers; `forward` is how often the
    /// forward pass of a row runs.
    pub(super) fn gathered_bytes(&self, forward: u64) -> u64 {
        self.bytes_of(StageRole::Halo, forward)
    }

    /// Whether time encoders multiply with the graph.
    pub(super) fn gathers_in_time(&self) -> bool {
        self.of(StageRole::HaloInTime).next().is_some()
    }

    /// Bytes that one unit of the halo of a time encoder stands for at a snapshot. A state without a past
    /// needs no gradient.
    pub(super) fn gathered_in_time_bytes(&self, forward: u64, has_past: bool) -> u64 {
        let last = self.of(StageRole::HaloInTime).map(|stage| stage.layer).max();
        let of_last = self.of(StageRole::HaloInTime).filter(|stage| Some(stage.layer) == last);
        of_last.map(|stage| bytes(stage.inputs, forward, has_past)).sum()
    }

    /// Bytes that the best rows of a snapshot stand for; `rows_of` says how many move if so many are asked for.
    pub(super) fn to_all_bytes(&self, forward: u64, rows_of: impl Fn(usize) -> u64) -> u64 {
        let of = |stage: &ModelStage| {
            rows_of(stage.outputs) * bytes(stage.inputs, forward, stage.needs_gradient)
        };
        self.of(StageRole::ToAll).map(of).sum()
    }

    /// Bytes of statistics and of small sums of all ranks, forward and back.
    pub(super) fn statistics_bytes(&self, ranks: u32, forward: u64) -> u64 {
        let others = u64::from(ranks) * u64::from(ranks - 1);
        let statistics = self.of(StageRole::Statistics).map(|stage| {
            let [there, back] = statistics_values(stage.inputs);
            let back = if stage.needs_gradient { back } else { 0 };
            others * (forward * there as u64 + back as u64) * VALUE
        });
        let sums = self.of(StageRole::Sum).map(|stage| {
            (forward + u64::from(stage.needs_gradient)) * reduced_bytes(ranks, stage.outputs)
        });
        statistics.sum::<u64>() + sums.sum::<u64>()
    }

    /// Bytes that one unit of a redistribution stands for, there and back.
    pub(super) fn exchanged_bytes(&self, forward: u64) -> u64 {
        self.bytes_of(StageRole::ToTime, forward) + self.bytes_of(StageRole::ToStructure, forward)
    }

    /// Bytes that one unit of whole snapshots stands for.
    pub(super) fn answered_bytes(&self, forward: u64) -> u64 {
        bytes(self.answered, forward, true)
    }

    /// Bytes of exchanged rows: one rank alone has each row once, several have it where it was computed
    /// and where it went.
    pub(crate) fn memory(&self, moved: Moved) -> MovedBytes {
        let Moved { cells, time_cells, gathered, answered, redistributed, split, beside } = moved;
        let widest_of = |role| self.of(role).map(|stage| stage.inputs as u64).max().unwrap_or(0);
        let (mut held, mut rows, mut widest) = (0, 0, 0);
        if redistributed {
            held += self.width_of(StageRole::ToTime) * time_cells;
            held += self.width_of(StageRole::ToStructure) * cells;
            rows = cells.max(time_cells);
            widest = widest_of(StageRole::ToTime).max(widest_of(StageRole::ToStructure));
        }
        if split {
            held += self.width_of(StageRole::Halo) * (cells + gathered)
                + self.answered as u64 * answered;
            rows = rows.max(cells + gathered);
            widest = widest.max(widest_of(StageRole::Halo)).max(self.answered as u64);
        }
        // A gradient in the backward pass, and the messages that it travels in. Beside computing a rank's own rows
        // travel as well, and what leaves is there until all of what comes has come.
        let messages = if beside { 4 } else { 2 } * rows * widest * VALUE;
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

/// Values that a rank tells each other one about its rows of so many columns: their number, means and
/// variances; in the backward pass two sums for each column.
pub(crate) fn statistics_values(columns: usize) -> [usize; 2] {
    [1 + 2 * columns, 2 * columns]
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
    /// Rows of embeddings that are asked about.
    pub(crate) answered: u64,
    /// Whether rows go from structure encoders to time encoders and back.
    pub(crate) redistributed: bool,
    /// Whether a snapshot is on several ranks.
    pub(crate) split: bool,
    /// Whether rows are redistributed beside computing.
    pub(crate) beside: bool,
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
    /// Whether these two were measured between the ranks.
    pub is_measured: bool,
}
