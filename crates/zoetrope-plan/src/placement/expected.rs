//! Rows that structure encoders gather if only the number of edges is known: those of a random partition.
//!
//! Rule: both ends of each edge are drawn at random, each vertex with the same chance. Then edges from one vertex into
//! `m` of `N` vertices are Poisson distributed with mean `E·m/N²`, and its row is needed there with the chance
//! `1 − exp(−E·m/N²)`. Partitions with few edges between parts, and few vertices with many edges, need fewer rows: the
//! figure is high for both.

use zoetrope_graph::SnapshotSequence;

/// What to expect of one snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    vertices: u64,
    edges: u64,
}

impl Expected {
    /// None if the edges themselves are known.
    pub(crate) fn of(graph: &SnapshotSequence, step: usize) -> Option<Self> {
        graph.counts()?;
        Some(Self { vertices: graph.vertices().into(), edges: graph.edges_at(step) as u64 })
    }

    /// The rows that a rank with so many vertices sends to one with `others` other ones.
    pub(crate) fn rows(self, own: u64, others: u64) -> u64 {
        let all = self.vertices.max(1) as f64;
        let edges_of_vertex = self.edges as f64 / all * others as f64 / all;
        (own as f64 * -(-edges_of_vertex).exp_m1()).round() as u64
    }

    /// The edges that end in some consecutive vertices.
    pub(crate) fn edges_into(self, from: u32, until: u32) -> u64 {
        let all = u128::from(self.vertices.max(1));
        let before = |end: u32| (u128::from(self.edges) * u128::from(end) / all) as u64;
        before(until) - before(from)
    }

    /// The rows that leave a rank for all others, and that come from them, if ranks have the vertices between these
    /// starts.
    pub(crate) fn sent_and_received(self, starts: &[u32], own: usize) -> [u64; 2] {
        let of = |at: usize| u64::from(starts[at + 1] - starts[at]);
        let others = || (0..starts.len() - 1).filter(|&other| other != own);
        let sent = others().map(|other| self.rows(of(own), of(other))).sum();
        [sent, others().map(|other| self.rows(of(other), of(own))).sum()]
    }
}

#[cfg(test)]
mod tests {
    use zoetrope_graph::random::Random;
    use zoetrope_graph::{SnapshotCounts, SnapshotSequence};

    use super::*;
    use crate::placement::Placement;
    use crate::placement::grid::even_starts;
    use crate::volume;

    #[test]
    fn rows_of_a_random_graph_are_as_many_as_expected() {
        let (vertices, edges, ranks) = (4_000_u32, 20_000, 4);
        let random = Random::new(3, 1);
        let end = |at: u64| random.below(at, vertices.into()) as u32;
        let ends = (0..edges).map(|at| (end(2 * at), end(2 * at + 1)));
        let (src, dst) = ends.unzip();
        let graph = SnapshotSequence::new(vertices, vec![0, edges], src, dst, None).unwrap();
        let starts = even_starts(vertices, ranks);
        let placement = Placement::ByVertex { starts: starts.clone(), ranks: (0..ranks).collect() };
        let found = volume::halo(&placement, vertices, 0..1, ranks, |step| graph.at(step));
        let counts = SnapshotCounts::new(vertices, vec![edges], vec![edges], false).unwrap();
        let expected = Expected::of(&counts.into_sequence(None), 0).unwrap();
        for rank in 0..ranks as usize {
            let [sent, received] = expected.sent_and_received(&starts, rank);
            // Three standard deviations of some 2,000 rows are 6 %.
            for (expected, found) in [(sent, found.sent[rank]), (received, found.received[rank])] {
                assert!(expected.abs_diff(found) * 100 <= 6 * found, "{expected} {found}");
            }
        }
        assert!(Expected::of(&graph, 0).is_none());
    }

    #[test]
    fn what_is_sent_is_received_and_every_edge_ends_somewhere() {
        let counts = SnapshotCounts::new(10, vec![37], vec![37], false).unwrap();
        let expected = Expected::of(&counts.into_sequence(None), 0).unwrap();
        let starts = [0, 3, 4, 10];
        let both: Vec<[u64; 2]> =
            (0..3).map(|own| expected.sent_and_received(&starts, own)).collect();
        let sum = |which: usize| both.iter().map(|one| one[which]).sum::<u64>();
        assert_eq!(sum(0), sum(1));
        assert!(sum(0) > 0);
        let edges = starts.windows(2).map(|pair| expected.edges_into(pair[0], pair[1]));
        assert_eq!(edges.sum::<u64>(), 37);
    }
}
