//! What a user chooses of an event model.

use crate::memory::Combine;

/// What updates a row of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdaterKind {
    /// A gated recurrent unit.
    Gru,
    /// A simple recurrent unit.
    Rnn,
    /// A long short-term memory.
    Lstm,
    /// Attention over the mails (APAN).
    Transformer,
}

/// What turns the memories of two ends and an event into a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// `[s_i, s_j, e_ij, φ(Δt)]` as it is.
    Identity,
    /// Two linear layers on it.
    Mlp,
}

/// What turns rows of memory into embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingKind {
    /// The row of memory itself, normalised.
    Identity,
    /// The row scaled by the time since it was written (JODIE).
    Time,
    /// Attention over sampled neighbours (TGN, TGAT).
    Attention,
    /// A sum over sampled neighbours (TGN-sum).
    Sum,
}

/// Which implementation is followed if they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// PyG's `TGNMemory` and `TransformerConv`.
    Pyg,
    /// TGL's modules, which are the TGN paper's and Sven's.
    Tgl,
}

/// What a model is built from besides its name; None is what the model's reference has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamOptions {
    /// Features of an event.
    pub event_features: usize,
    /// Features of a vertex.
    pub vertex_features: usize,
    /// Width of memory, time encoding and embedding.
    pub hidden: usize,
    /// Width of the time encoding; as `hidden` if None.
    pub time_width: Option<usize>,
    /// Attention layers.
    pub layers: Option<usize>,
    /// Attention heads.
    pub heads: usize,
    /// Share of values that dropout sets to 0.
    pub dropout: f32,
    /// Which implementation is followed.
    pub convention: Option<Convention>,
    /// What updates memory.
    pub updater: Option<UpdaterKind>,
    /// What makes messages.
    pub message: MessageKind,
    /// What becomes of several messages in one batch.
    pub combine: Option<Combine>,
    /// Mails that a vertex keeps.
    pub mailbox: Option<usize>,
    /// What makes embeddings.
    pub embedding: Option<EmbeddingKind>,
}
