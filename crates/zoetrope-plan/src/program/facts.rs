//! What a program depends on besides the plan: the model in stages, the graph, what is asked.

use std::ops::Range;

use zoetrope_graph::SnapshotSequence;

/// What a stage of a model's forward pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageRole {
    /// A structure encoder runs over a group of snapshots.
    Structure,
    /// The structure encoder that follows may run in parts of its snapshots, beside exchanges of rows.
    InParts,
    /// The time encoder of the layer that follows may run in pieces of its vertices, beside exchanges of rows.
    InPieces,
    /// A time encoder runs, or weights evolve.
    Time,
    /// Rows of other ranks are needed here.
    Halo,
    /// Rows leave for time encoders.
    ToTime,
    /// Rows come back from time encoders.
    ToStructure,
    /// Rows of other ranks are needed for one snapshot of a time encoder.
    HaloInTime,
    /// The best rows of each snapshot go to all ranks.
    ToAll,
    /// Ranks put the statistics of their rows together.
    Statistics,
    /// Ranks add up a small matrix.
    Sum,
}

/// A stage of a model's forward pass over some snapshots that it takes as one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelStage {
    /// What it is.
    pub role: StageRole,
    /// The position of its layer among those of its kind; of [`StageRole::HaloInTime`] that of the snapshot in
    /// the frame.
    pub layer: usize,
    /// The width of the rows that go in.
    pub inputs: usize,
    /// The width of the rows that come out; of [`StageRole::ToAll`] how many rows of a snapshot go, of
    /// [`StageRole::Sum`] how many rows are added up.
    pub outputs: usize,
    /// Whether a gradient flows back to the rows that go in.
    pub needs_gradient: bool,
}

/// What is sent to a GPU for a piece: bytes of snapshots and features.
pub trait CopySizes: std::fmt::Debug {
    /// A GPU has none of the snapshots from here on.
    fn restart(&self);

    /// The bytes that are sent for some of the rank's snapshots, counted from the start of the data, if those
    /// `here` were entered before. Called once for each piece that is sent, in their order.
    fn sent(&self, here: &Range<usize>, steps: &Range<usize>) -> u64;

    /// The bytes of the state before a block of a frame, of a rank whose time encoders have so many vertices.
    fn state(&self, block: usize, vertices: u64) -> u64;
}

/// What the program of a plan over frames depends on.
#[derive(Debug, Clone, Copy)]
pub struct FrameFacts<'a> {
    /// The stages of the model.
    pub stages: &'a [ModelStage],
    /// The width of its embeddings.
    pub width: usize,
    /// How so many vertices with states of a width are cut into a number of pieces.
    pub pieces: fn(usize, usize, usize) -> Vec<Range<usize>>,
    /// Whether it describes the last snapshot of a frame only.
    pub describes_last: bool,
    /// Whether the loss looks at the last snapshot of a frame only.
    pub asks_last: bool,
    /// Whether anything is asked of each snapshot.
    pub asks: &'a [bool],
    /// Whether what is asked is drawn.
    pub draws: bool,
    /// The widths of batch norms that keep statistics.
    pub statistics: &'a [usize],
    /// Values that ranks add up in an update: gradients, and what belongs to them.
    pub summed: usize,
    /// The snapshots, with the vertices as they are numbered in the data.
    pub graph: &'a SnapshotSequence,
    /// What is sent to a GPU piece by piece; None if nothing is.
    pub copies: Option<&'a dyn CopySizes>,
}

/// What the program of a plan over batches depends on.
#[derive(Debug, Clone, Copy)]
pub struct BatchFacts<'a> {
    /// The steps of each batch, in events: one, or several if the batch is larger than the rule says because
    /// many events have the same time.
    pub batches: &'a [Vec<usize>],
    /// Whether anything is asked in each of them.
    pub asks: &'a [Vec<bool>],
    /// Whether the model remembers.
    pub remembers: bool,
    /// The width of its embeddings.
    pub width: usize,
}
