//! The shape of the state of vertices.

/// When a message is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailRule {
    /// When it is sent: `s_i`, `s_j` are those of that moment (Sven, TGL, the TGN paper).
    Kept,
    /// When it is read: the mailbox keeps the event, and `s_i`, `s_j` are those of that moment
    /// (PyG's `TGNMemory` while training; see [`VertexState::keep_mails`] for what comes after).
    ///
    /// [`VertexState::keep_mails`]: super::VertexState::keep_mails
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
    /// Whether rows of memory are computed for questions rather than for vertices, so that a vertex
    /// may have several in a batch.
    pub per_query: bool,
}

impl StateOptions {
    /// Whether the own part `s_i` of a message that was put together when it was sent is the row
    /// of memory of its vertex as long as it waits: then nobody else gets it, it is the only one,
    /// and row and message were last written from the same row of the same batch.
    pub(super) fn own_is_memory(&self) -> bool {
        let one_row = self.combine == Combine::Last || !self.per_query;
        self.delivery == Delivery::Ends && self.slots == 1 && one_row
    }
}
