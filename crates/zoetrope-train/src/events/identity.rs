//! Which events a run has learnt from, by content: the same events in another file are the same, and
//! a file that goes on begins with them.
//!
//! The digest is taken over what memory depends on, in time order: the two ends of each event, its
//! time, and the features that the model reads. An end counts by its *appearance*, its place in the
//! order in which vertices first have an event (the source of an event before its destination): it
//! depends neither on the numbering of vertices, which vertices that come later change, nor on how a
//! format spells them. So a path, a copy, a compression or a format make no difference, and neither
//! does anything that comes after the events that were counted.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zoetrope_data::split::Split;
use zoetrope_graph::{EventStore, VertexId};

/// No event yet.
const UNSEEN: u32 = u32::MAX;

/// Vertices in the order in which they first have an event.
#[derive(Debug, Default)]
pub(super) struct Appearance {
    /// By vertex: its place; [`UNSEEN`] without an event.
    place: Vec<u32>,
    /// By place: the vertex.
    vertex: Vec<VertexId>,
}

impl Appearance {
    /// The order of appearance in the first `events` events.
    pub(super) fn of(store: &EventStore, events: usize) -> Self {
        let mut order = Self { place: vec![UNSEEN; store.vertices() as usize], vertex: Vec::new() };
        let ends = store.src().iter().zip(store.dst()).take(events);
        ends.for_each(|(&src, &dst)| {
            order.see(src);
            order.see(dst);
        });
        order
    }

    fn see(&mut self, vertex: VertexId) -> u32 {
        let place = &mut self.place[vertex as usize];
        if *place == UNSEEN {
            *place = self.vertex.len() as u32;
            self.vertex.push(vertex);
        }
        *place
    }

    /// The place of a vertex that has an event.
    pub(super) fn place(&self, vertex: VertexId) -> u32 {
        self.place[vertex as usize]
    }

    /// The vertex at a place.
    pub(super) fn vertex(&self, place: u32) -> Option<VertexId> {
        self.vertex.get(place as usize).copied()
    }
}

/// The first events of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beginning {
    /// How many.
    pub(super) events: usize,
    /// Their digest, 64 hexadecimal digits.
    pub(super) sha256: String,
}

/// What a run has learnt from: its events up to the end of each part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EventRecord {
    pub(super) train: Beginning,
    pub(super) validation: Beginning,
    pub(super) all: Beginning,
    /// The vertices that were held out of training on purpose, by their appearance.
    pub(super) held_out: Vec<u32>,
}

impl EventRecord {
    /// The record of a stream with these features and parts.
    pub(super) fn new(
        store: &EventStore,
        features: &[f32],
        split: &Split,
        held_out: &[VertexId],
    ) -> Self {
        let ends = [split.train.end, split.validation.end, store.len()];
        let [train, validation, all] = beginnings(store, features, ends);
        let order = if held_out.is_empty() {
            Appearance::default()
        } else {
            Appearance::of(store, store.len())
        };
        let held_out = held_out.iter().map(|&vertex| order.place(vertex)).collect();
        Self { train, validation, all, held_out }
    }
}

/// The beginnings of a stream that have these many events, ascending; of fewer if it is shorter.
pub(super) fn beginnings<const N: usize>(
    store: &EventStore,
    features: &[f32],
    ends: [usize; N],
) -> [Beginning; N] {
    let mut order = Appearance { place: vec![UNSEEN; store.vertices() as usize], vertex: vec![] };
    let width = features.len() / store.len().max(1);
    let (src, dst, time) = (store.src(), store.dst(), store.time());
    let mut digest = Sha256::new();
    digest.update((width as u64).to_le_bytes());
    let (mut bytes, mut from) = (Vec::new(), 0);
    ends.map(|end| {
        let end = end.clamp(from, store.len().max(from));
        for event in from..end {
            bytes.extend_from_slice(&order.see(src[event]).to_le_bytes());
            bytes.extend_from_slice(&order.see(dst[event]).to_le_bytes());
            bytes.extend_from_slice(&time[event].to_le_bytes());
            for value in &features[event * width..(event + 1) * width] {
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            if bytes.len() >= 1 << 16 {
                digest.update(&bytes);
                bytes.clear();
            }
        }
        digest.update(&bytes);
        bytes.clear();
        from = end;
        let sha256 = digest.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Beginning { events: end, sha256 }
    })
}
