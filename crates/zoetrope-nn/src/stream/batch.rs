//! A batch of events, ready for a model: who is asked when, and whose rows that needs.
//!
//! Holds positions and exact times, no weights and no state, so that the next batch can be prepared
//! while this one trains. Built by the trainer; read by models.

use std::sync::Arc;

use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::{Matrix, Neighbourhood};

/// What one attention layer reads: its targets are the rows of the level above it, its sources the
/// rows of the level below.
#[derive(Debug, Clone, Default)]
pub struct LayerBatch {
    /// Positions of queries, sources and events. A target's query is its place in
    /// [`roots`](Self::roots), a slot's source a row of the level below.
    pub layout: Arc<Neighbourhood>,
    /// The rows of the level below that are targets themselves, each once: what a query is made
    /// from depends on the row alone.
    pub roots: Arc<Vec<u32>>,
    /// The time at which each target is asked.
    pub target_time: Vec<Time>,
    /// The time of the event of each slot.
    pub slot_time: Vec<Time>,
}

/// The last event of a vertex in a batch (Φ of Algorithm 2 in Sven).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastEvent {
    /// The vertex.
    pub vertex: VertexId,
    /// The event, by its number in the stream.
    pub event: usize,
    /// Whether the vertex is the event's source.
    pub is_source: bool,
    /// The row of [`EventBatch::vertices`] that is the vertex.
    pub row: u32,
    /// The row of [`EventBatch::query_vertex`] in which the vertex is asked at that event's time.
    pub query: u32,
}

/// A batch of events with the questions that are asked at them.
#[derive(Debug, Clone, Default)]
pub struct EventBatch {
    /// The events of the batch, by their numbers in the stream, ascending (not always consecutive:
    /// events of held-out vertices are left out of training). Empty for questions alone.
    pub events: Vec<usize>,
    /// The vertex of each question; questions are distinct (vertex, time) pairs.
    pub query_vertex: Arc<Vec<VertexId>>,
    /// The time of each question.
    pub query_time: Vec<Time>,
    /// The row of [`vertices`](Self::vertices) that each question is about.
    pub query_row: Arc<Vec<u32>>,
    /// The vertices whose memory or features are needed, each once (`V_u`).
    pub vertices: Arc<Vec<VertexId>>,
    /// What the attention layers read, the last layer first: the targets of `blocks[0]` are the
    /// questions, its sources the targets of `blocks[1]`, …; the sources of the last one are rows
    /// of [`vertices`](Self::vertices). Empty if the model reads no neighbours.
    pub blocks: Vec<LayerBatch>,
    /// The features of the events that slots name, each event once. None if slots name rows of
    /// [`EventData::on_gpu`](crate::memory::EventData::on_gpu), or nothing.
    pub event_features: Option<Arc<Matrix>>,
    /// The source and destination question of each event of the batch (empty for questions alone).
    pub event_queries: Vec<[u32; 2]>,
    /// The last event of each vertex in the batch, in order of first appearance.
    pub last_events: Vec<LastEvent>,
    /// For delivery to neighbours: the sampled neighbours of the source of each event, then of the
    /// destination of each event, as lists. Empty otherwise.
    pub receivers_offsets: Vec<u32>,
    /// The vertices of those lists.
    pub receivers: Vec<VertexId>,
}
