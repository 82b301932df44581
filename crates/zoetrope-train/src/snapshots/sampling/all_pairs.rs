//! Every pair of different vertices, as EvolveGCN evaluates.
//!
//! A row is a source with all other vertices as destinations, labelled by the target. That is
//! `N·(N - 1)` pairs a step, so rows come in chunks, and
//! [`AllPairScores`](super::AllPairScores) keeps none of them.
//! EvolveGCN's code also scores self-loops; here they are never asked for.

use std::ops::Range;

use zoetrope_graph::{LinkSet, SnapshotView, VertexId};

use super::candidates::Candidates;

/// All pairs of a snapshot's vertices, in chunks of sources.
#[derive(Debug, Clone, Default)]
pub struct AllPairs {
    links: LinkSet,
}

impl AllPairs {
    /// Takes the links of the target and returns how many there are.
    pub fn load(&mut self, target: SnapshotView<'_>) -> usize {
        self.links.load_by_source(target);
        self.links.len()
    }

    /// The links of the target; the first end is the source.
    pub fn links(&self) -> &LinkSet {
        &self.links
    }

    /// Replaces `candidates` by one row for each of some sources: all other vertices, ascending.
    ///
    /// # Panics
    /// If a source is not a vertex.
    pub fn fill(&self, sources: Range<VertexId>, candidates: &mut Candidates) {
        let vertices = self.links.vertices();
        assert!(sources.end <= vertices, "sources {sources:?} of {vertices}");
        candidates.clear();
        for src in sources {
            let row = self.links.of(src);
            let mut links = row.links().peekable();
            for dst in (0..vertices).filter(|&dst| dst != src) {
                let linked = links.next_if_eq(&dst).is_some();
                candidates.pairs.push(src, dst, f32::from(u8::from(linked)));
            }
            candidates.end_row();
        }
    }
}
