//! The memory and the mailbox of every vertex.

use zoetrope_graph::{Time, VertexId};

use crate::stream::EventBatch;

/// When a message is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailRule {
    /// When it is sent: the mailbox keeps `[s_i, s_j, e_ij]` (Sven, TGL, the TGN paper).
    Kept,
    /// When it is read: the mailbox keeps the event, and `s_i`, `s_j` are those of that moment
    /// (PyG's `TGNMemory` while training).
    Deferred,
}

/// What becomes of several messages to one vertex in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// The most recent one stays.
    Last,
    /// Their mean stays.
    Mean,
}

/// Who gets the message of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The two ends.
    Ends,
    /// The two ends and their sampled neighbours (APAN).
    Neighbours,
}

/// The shape of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateOptions {
    /// Width of a row of memory.
    pub width: usize,
    /// Whether a second row is kept for each vertex (the cell of an LSTM).
    pub cells: bool,
    /// Width of the features of an event.
    pub features: usize,
    /// Mails that a vertex keeps.
    pub slots: usize,
    /// When a message is put together.
    pub mails: MailRule,
    /// What becomes of several messages in one batch.
    pub combine: Combine,
    /// Who gets a message.
    pub delivery: Delivery,
}

/// The columns of a stream of events.
#[derive(Debug, Clone, Copy)]
pub struct EventData<'a> {
    /// The source of each event.
    pub src: &'a [VertexId],
    /// The destination of each event.
    pub dst: &'a [VertexId],
    /// The time of each event.
    pub time: &'a [Time],
    /// The features of each event, row by row; empty where events have none.
    pub features: &'a [f32],
    /// The width of those rows.
    pub feature_width: usize,
}

/// New rows of memory that a model computed for a batch, taken off the tape.
#[derive(Debug, Clone, Default)]
pub struct Updated {
    /// A row of memory for each vertex of the batch, or for each question where
    /// [`per_query`](Self::per_query).
    pub memory: Vec<f32>,
    /// A cell row likewise, where the state has cells.
    pub cell: Vec<f32>,
    /// The time up to which each of these rows remembers.
    pub time: Vec<Time>,
    /// Whether rows belong to questions rather than to vertices.
    pub per_query: bool,
}

/// The memory and the mailbox of every vertex.
#[derive(Debug, Clone)]
pub struct VertexState {
    options: StateOptions,
}

impl VertexState {
    /// An empty state; `origin` is the time before any event.
    pub fn new(options: StateOptions, vertices: usize, origin: Time) -> Self {
        let _ = (vertices, origin);
        Self { options }
    }

    /// The shape.
    pub fn options(&self) -> StateOptions {
        self.options
    }

    /// Forgets everything and keeps the memory blocks.
    pub fn reset(&mut self) {
        todo!()
    }

    /// Writes what a batch computed: new rows of memory for the ends of its events, then the mails
    /// of its events.
    pub fn absorb(&mut self, batch: &EventBatch, events: EventData<'_>, updated: &Updated) {
        let _ = (batch, events, updated);
        todo!()
    }

    /// The whole state as named arrays of finite numbers (64-bit integers as four numbers of 16
    /// bits), for checkpoints.
    pub fn save(&self) -> Vec<(String, Vec<usize>, Vec<f32>)> {
        todo!()
    }

    /// Puts a saved state in place; the name of the array that does not fit otherwise.
    ///
    /// # Errors
    /// The name of an array that is missing or of another shape.
    pub fn restore<'a>(
        &mut self,
        find: impl Fn(&str) -> Option<(&'a [usize], &'a [f32])>,
    ) -> Result<(), String> {
        let _ = find;
        todo!()
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        todo!()
    }
}
