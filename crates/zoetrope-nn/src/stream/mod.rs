//! Event models: memory, mailbox, messages, embeddings of (vertex, time).
//!
//! A batch of events is prepared once ([`EventBatch`], positions and times only), the state of
//! all vertices is [`VertexState`](crate::memory::VertexState), and a [`StreamModel`] turns both
//! into embeddings of the asked vertices and into new rows of memory.

mod attention;
mod batch;
mod cell;
mod choices;
mod embedding;
mod mail_attention;
mod memo;
mod message;
mod model;
mod options;
mod projection;
mod reused;
mod sum;
mod time_encoder;
mod updater;
mod vertex_features;

pub use batch::{EventBatch, LastEvent, LayerBatch};
pub use model::{MemoryUpdate, NAMES, StreamEmbedding, StreamModel};
pub use options::{Convention, EmbeddingKind, MessageKind, StreamOptions, UpdaterKind};
pub(crate) use reused::Reused;
