//! Who met before meets again: a memory of edges.
//!
//! Poursafaei, Huang, Pelrine and Rabbany, "Towards better evaluation for dynamic link
//! prediction", NeurIPS 2022: an edge that is in the memory scores 1, another 0. The unlimited
//! memory has every edge seen; the windowed one those of the most recent snapshots (the paper takes
//! a window as long as the test part).

use std::num::NonZeroUsize;

use zoetrope_graph::{LinkSet, SnapshotView, VertexId};

use super::LinkBaseline;

/// So many times more known destinations than new ones, and they are searched instead of walked along.
const SEARCH_FROM: usize = 8;

/// Scores 1 for an edge that was there before, in any snapshot or in the last few; else 0. Edges
/// have a direction; loops, which nobody asks about, are not kept.
#[derive(Debug, Clone)]
pub struct EdgeBank {
    window: Option<NonZeroUsize>,
    /// Of each source, the destinations of its edges, ascending.
    known: Vec<Vec<Seen>>,
    observed: u32,
    /// The edges of a snapshot by source; only memory.
    links: LinkSet,
}

/// A destination, and how many snapshots were observed when the edge was last seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    dst: VertexId,
    at: u32,
}

impl EdgeBank {
    /// Remembers every edge.
    pub fn unlimited() -> Self {
        Self { window: None, known: Vec::new(), observed: 0, links: LinkSet::default() }
    }

    /// Remembers the edges of the last `snapshots` snapshots before the query.
    pub fn windowed(snapshots: NonZeroUsize) -> Self {
        Self { window: Some(snapshots), ..Self::unlimited() }
    }

    /// Whether an edge is in the memory.
    pub fn remembers(&self, src: VertexId, dst: VertexId) -> bool {
        let known = self.known_of(src);
        known.binary_search_by_key(&dst, |seen| seen.dst).is_ok_and(|at| self.holds(known[at]))
    }

    fn known_of(&self, src: VertexId) -> &[Seen] {
        self.known.get(src as usize).map_or(&[], Vec::as_slice)
    }

    fn holds(&self, seen: Seen) -> bool {
        self.window.is_none_or(|window| ((self.observed - seen.at) as usize) < window.get())
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

    fn turn(&self, row: &mut [f32], before: Option<VertexId>, source: VertexId) -> usize {
        for seen in before.into_iter().flat_map(|before| self.known_of(before)) {
            row[seen.dst as usize] = 0.0;
        }
        let mut held = 0;
        for seen in self.known_of(source).iter().filter(|&&seen| self.holds(seen)) {
            row[seen.dst as usize] = 1.0;
            held += 1;
        }
        held
    }

    fn threshold(&self) -> Option<f32> {
        Some(0.5)
    }

    fn observe(&mut self, snapshot: SnapshotView<'_>) {
        self.observed += 1;
        self.links.load_by_source(snapshot);
        if self.known.len() < snapshot.vertices as usize {
            self.known.resize_with(snapshot.vertices as usize, Vec::new);
        }
        let mut at = 0;
        while at < self.links.len() {
            let source = self.links.ends(at).0;
            let row = self.links.range(source);
            at = row.end;
            let new = row.map(|link| self.links.ends(link).1);
            tell(&mut self.known[source as usize], new, self.observed);
        }
    }
}

/// Adds destinations (ascending) to those that are known of a source: `at` says when they were seen.
fn tell(
    known: &mut Vec<Seen>,
    new: impl DoubleEndedIterator<Item = VertexId> + ExactSizeIterator + Clone,
    at: u32,
) {
    let searches = known.len() > SEARCH_FROM * new.len();
    let (mut place, mut missing) = (0, 0);
    for dst in new.clone() {
        place += if searches {
            known[place..].partition_point(|seen| seen.dst < dst)
        } else {
            known[place..].iter().take_while(|seen| seen.dst < dst).count()
        };
        match known.get_mut(place).filter(|seen| seen.dst == dst) {
            Some(seen) => seen.at = at,
            None => missing += 1,
        }
    }
    if missing == 0 {
        return;
    }
    // From the back, so that what moves makes room for itself.
    let mut from = known.len();
    let mut to = from + missing;
    known.resize(to, Seen { dst: 0, at });
    for dst in new.rev() {
        while from > 0 && known[from - 1].dst > dst {
            (from, to) = (from - 1, to - 1);
            known[to] = known[from];
        }
        if from == 0 || known[from - 1].dst != dst {
            to -= 1;
            known[to] = Seen { dst, at };
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
                let held = bank.turn(&mut row, before, source);
                let mut scores = [9.0; 3];
                bank.score(&[source; 3], &[0, 1, 2], &mut scores);
                assert_eq!(row, scores, "source {source} after {before:?}");
                assert_eq!(held as f32, scores.iter().sum::<f32>());
            }
        }
    }

    #[test]
    fn destinations_are_kept_in_order_whenever_they_come() {
        let seen =
            |known: &[Seen]| known.iter().map(|seen| (seen.dst, seen.at)).collect::<Vec<_>>();
        let mut known = Vec::new();
        tell(&mut known, [4, 7].into_iter(), 1);
        tell(&mut known, [1, 4, 5, 9].into_iter(), 2);
        assert_eq!(seen(&known), [(1, 2), (4, 2), (5, 2), (7, 1), (9, 2)]);
        tell(&mut known, (20..60).collect::<Vec<_>>().into_iter(), 3);
        // So few that they are searched.
        tell(&mut known, [0, 7, 19, 60].into_iter(), 4);
        let expected = [(0, 4), (1, 2), (4, 2), (5, 2), (7, 4), (9, 2), (19, 4)];
        let expected = expected.into_iter().chain((20..60).map(|dst| (dst, 3))).chain([(60, 4)]);
        assert_eq!(seen(&known), expected.collect::<Vec<_>>());
    }
}
