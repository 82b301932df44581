//! From events to packed records: which columns matter, and how an edge becomes a key.

use std::ops::Range;

use rayon::prelude::*;

use super::sort::Word;
use super::{DiscretiseOptions, Merge};
use crate::events::{EventKind, EventStore};
use crate::ids::VertexId;
use crate::time::Time;

/// The columns that decide, and what is asked of them.
pub(super) struct Job<'a> {
    pub(super) src: &'a [VertexId],
    pub(super) dst: &'a [VertexId],
    pub(super) time: &'a [Time],
    /// Event weights, if the result depends on them.
    pub(super) weight: Option<&'a [f32]>,
    /// Event kinds, if there is a removal.
    pub(super) kind: Option<&'a [u8]>,
    pub(super) options: &'a DiscretiseOptions,
    /// Whether snapshots have a weight column.
    pub(super) weighted: bool,
    /// Bits that number a vertex.
    pub(super) vertex_bits: u32,
}

/// Whether an event removes its edge.
pub(super) fn removes(store: &EventStore) -> bool {
    let removes = |part: &[u8]| part.contains(&(EventKind::Remove as u8));
    store.kind().is_some_and(|kind| kind.par_chunks(1 << 16).any(removes))
}

impl<'a> Job<'a> {
    pub(super) fn new(store: &'a EventStore, options: &'a DiscretiseOptions) -> Self {
        Self::with_removals(store, options, removes(store))
    }

    /// The same if it is known whether there is a removal.
    pub(super) fn with_removals(
        store: &'a EventStore,
        options: &'a DiscretiseOptions,
        removals: bool,
    ) -> Self {
        let ones = store.weight().is_none()
            && matches!(options.merge, Merge::Mean | Merge::Last | Merge::Keep);
        let weighted = options.weighted && !ones;
        Self {
            src: store.src(),
            dst: store.dst(),
            time: store.time(),
            weight: store.weight().filter(|_| weighted && options.merge != Merge::Count),
            kind: store.kind().filter(|_| removals),
            options,
            weighted,
            vertex_bits: (u32::BITS - store.vertices().saturating_sub(1).leading_zeros()).max(1),
        }
    }

    /// Whether records need the position of their event: counting does not.
    pub(super) fn positions(&self) -> bool {
        self.weight.is_some() || self.kind.is_some()
    }

    /// Bits of position that a window of `events` events needs.
    pub(super) fn position_bits(&self, events: usize) -> u32 {
        if self.positions() { usize::BITS - events.leading_zeros() } else { 0 }
    }

    pub(super) fn key_bits(&self) -> u32 {
        2 * self.vertex_bits
    }

    /// Whether records of a window of `events` events fit into 64 bits.
    pub(super) fn narrow(&self, events: usize) -> bool {
        self.key_bits() + self.position_bits(events) <= u64::BITS
    }

    /// An edge as a number that orders edges by (destination, source), in as few bits as the
    /// vertices allow.
    pub(super) fn key(&self, src: VertexId, dst: VertexId) -> u64 {
        u64::from(dst) << self.vertex_bits | u64::from(src)
    }

    pub(super) fn source(&self, key: u64) -> VertexId {
        (key & !(u64::MAX << self.vertex_bits)) as VertexId
    }

    pub(super) fn destination(&self, key: u64) -> VertexId {
        (key >> self.vertex_bits) as VertexId
    }

    /// Appends the records of `events`, which belong to a window that starts at event `start`.
    pub(super) fn collect<W: Word>(
        &self,
        start: usize,
        events: Range<usize>,
        position_bits: u32,
        words: &mut Vec<W>,
    ) {
        let base = events.start - start;
        let position = |at: usize| if position_bits == 0 { 0 } else { (base + at) as u64 };
        let edges = self.src[events.clone()].iter().zip(&self.dst[events]).enumerate();
        let pack = |at, src, dst| W::pack(self.key(src, dst), position(at), position_bits);
        let DiscretiseOptions { self_loops, undirected, .. } = *self.options;
        if !undirected && self_loops {
            words.extend(edges.map(|(at, (&src, &dst))| pack(at, src, dst)));
            return;
        }
        for (at, (&src, &dst)) in edges {
            if src != dst {
                words.push(pack(at, src, dst));
                if undirected {
                    words.push(pack(at, dst, src));
                }
            } else if self_loops {
                words.push(pack(at, src, dst));
            }
        }
    }
}
