//! A candidate's score is its popularity: the number of edges into it so far.

use zoetrope_graph::{SnapshotView, VertexId};

use super::LinkBaseline;

/// Scores a pair by how many edges its destination received in all snapshots before the query.
///
/// The source does not matter, and recent edges count as much as old ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popularity {
    received: Vec<u64>,
}

impl Popularity {
    /// Nothing is known of `vertices` vertices.
    pub fn new(vertices: u32) -> Self {
        Self { received: vec![0; vertices as usize] }
    }
}

impl LinkBaseline for Popularity {
    fn name(&self) -> &'static str {
        "popularity"
    }

    fn score(&self, src: &[VertexId], dst: &[VertexId], out: &mut [f32]) {
        assert!(src.len() == dst.len() && src.len() == out.len(), "pairs and scores");
        for (&dst, out) in dst.iter().zip(out) {
            *out = self.received[dst as usize] as f32;
        }
    }

    fn turn(&self, row: &mut [f32], before: Option<VertexId>, _source: VertexId) -> usize {
        // The source does not matter.
        if before.is_none() {
            row.iter_mut().zip(&self.received).for_each(|(score, &edges)| *score = edges as f32);
        }
        row.len()
    }

    fn threshold(&self) -> Option<f32> {
        None
    }

    fn observe(&mut self, snapshot: SnapshotView<'_>) {
        for &dst in snapshot.dst {
            self.received[dst as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::SnapshotSequence;

    #[test]
    fn a_destination_counts_by_the_edges_it_received() {
        let graph =
            SnapshotSequence::new(3, vec![0, 2, 3], vec![0, 2, 0], vec![1, 1, 1], None).unwrap();
        let mut baseline = Popularity::new(3);
        graph.iter().for_each(|snapshot| baseline.observe(snapshot));
        let mut scores = [0.0; 2];
        baseline.score(&[2, 2], &[1, 0], &mut scores);
        assert_eq!(scores, [3.0, 0.0]);
    }
}
