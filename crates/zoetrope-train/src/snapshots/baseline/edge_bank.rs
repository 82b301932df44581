//! Who met before meets again: a memory of edges.
//!
//! Poursafaei, Huang, Pelrine and Rabbany, "Towards better evaluation for dynamic link
//! prediction", NeurIPS 2022: an edge that is in the memory scores 1, another 0. The unlimited
//! memory has every edge seen; the windowed one those of the most recent snapshots (the paper takes
//! a window as long as the test part).

use std::num::NonZeroUsize;

use hashbrown::HashMap;
use zoetrope_graph::snapshot::edge_key;
use zoetrope_graph::{SnapshotView, VertexId};

use super::LinkBaseline;

/// Scores 1 for an edge that was there before, in any snapshot or in the last few; else 0. Edges
/// have a direction.
#[derive(Debug, Clone)]
pub struct EdgeBank {
    window: Option<NonZeroUsize>,
    /// How many snapshots were observed when the edge was last seen.
    last_seen: HashMap<u64, usize>,
    /// Of each source, the destinations of its edges, each once.
    known: Vec<Vec<VertexId>>,
    observed: usize,
}

impl EdgeBank {
    /// Remembers every edge.
    pub fn unlimited() -> Self {
        Self { window: None, last_seen: HashMap::new(), known: Vec::new(), observed: 0 }
    }

    /// Remembers the edges of the last `snapshots` snapshots before the query.
    pub fn windowed(snapshots: NonZeroUsize) -> Self {
        Self { window: Some(snapshots), ..Self::unlimited() }
    }

    /// Whether an edge is in the memory.
    pub fn remembers(&self, src: VertexId, dst: VertexId) -> bool {
        self.last_seen.get(&edge_key(src, dst)).is_some_and(|&seen| {
            self.window.is_none_or(|window| self.observed - seen < window.get())
        })
    }
}

impl LinkBaseline for EdgeBank {
    fn name(&self) -> &'static str {
        match self.window {
            None => "edgebank",
            Some(_) => "edgebank_window",
        }
    }

    fn score(&self, src: &[VertexId], dst: &[VertexId], out: &mut [f32]) {
        assert!(src.len() == dst.len() && src.len() == out.len(), "pairs and scores");
        for ((&src, &dst), out) in src.iter().zip(dst).zip(out) {
            *out = f32::from(u8::from(self.remembers(src, dst)));
        }
    }

    fn turn(&self, row: &mut [f32], before: Option<VertexId>, source: VertexId) {
        let known = |source: VertexId| self.known.get(source as usize).into_iter().flatten();
        for &dst in before.into_iter().flat_map(known) {
            row[dst as usize] = 0.0;
        }
        for &dst in known(source).filter(|&&dst| self.remembers(source, dst)) {
            row[dst as usize] = 1.0;
        }
    }

    fn threshold(&self) -> Option<f32> {
        Some(0.5)
    }

    fn observe(&mut self, snapshot: SnapshotView<'_>) {
        self.observed += 1;
        for edge in 0..snapshot.len() {
            if self.last_seen.insert(snapshot.key(edge), self.observed).is_none() {
                let (src, dst) = (snapshot.src[edge], snapshot.dst[edge]);
                if self.known.len() <= src as usize {
                    self.known.resize_with(src as usize + 1, Vec::new);
                }
                self.known[src as usize].push(dst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::SnapshotSequence;

    #[test]
    fn a_windowed_memory_forgets_what_an_unlimited_one_keeps() {
        let graph =
            SnapshotSequence::new(3, vec![0, 1, 2, 2], vec![0, 1], vec![1, 2], None).unwrap();
        let mut all = EdgeBank::unlimited();
        let mut two = EdgeBank::windowed(NonZeroUsize::new(2).unwrap());
        assert!(!all.remembers(0, 1));
        for snapshot in graph.iter() {
            all.observe(snapshot);
            two.observe(snapshot);
        }
        let mut scores = [9.0; 3];
        all.score(&[0, 1, 1], &[1, 2, 0], &mut scores);
        assert_eq!(scores, [1.0, 1.0, 0.0]);
        two.score(&[0, 1, 1], &[1, 2, 0], &mut scores);
        assert_eq!(scores, [0.0, 1.0, 0.0]);
        for bank in [&all, &two] {
            let mut row = [0.0; 3];
            for (before, source) in [(None, 0), (Some(0), 1), (Some(1), 2), (Some(2), 1)] {
                bank.turn(&mut row, before, source);
                let mut scores = [9.0; 3];
                bank.score(&[source; 3], &[0, 1, 2], &mut scores);
                assert_eq!(row, scores, "source {source} after {before:?}");
            }
        }
    }
}
