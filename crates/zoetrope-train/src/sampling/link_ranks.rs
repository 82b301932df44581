//! The links of one snapshot, by how many pairs that are none lie before each.
//!
//! All pairs of different vertices, in ascending order of (destination, source), have numbers. A link of
//! number `m` that is the `i`-th link has `m − i` pairs before it that are no links. These are ascending:
//! the pair of rank `r` among those that are no links has number `r` plus the count of links with at most `r`
//! before them, one search in a plain list ([`LinkSet`](super::LinkSet) finds the same with more to
//! compute at every step).
//!
//! The list is larger than the caches next to a core, and a search by halves would miss them at each of its
//! last steps. A table of the high bits of a rank says where to look: a few links, side by side.

use zoetrope_graph::{SnapshotView, VertexId};

/// Distinct links between different vertices, ascending by (destination, source).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LinkRanks {
    vertices: u64,
    /// Of each link, the pairs before it that are no links.
    before: Vec<u64>,
    /// Of each stretch of `1 << shift` ranks, how many links have fewer pairs before them than its first.
    stretches: Vec<u32>,
    shift: u32,
}

/// So many links share a stretch on average: half a line of the cache.
const LINKS_A_STRETCH: u64 = 4;

/// So many pairs are looked up together: what one of them waits for the others do not.
pub(super) const TOGETHER: usize = 32;

impl LinkRanks {
    /// Takes the links of a snapshot, in the order of its edges; linear in these.
    ///
    /// # Panics
    /// Where a snapshot has 2³² links.
    pub(super) fn load(&mut self, snapshot: SnapshotView<'_>) {
        self.vertices = u64::from(snapshot.vertices);
        let others = self.vertices.saturating_sub(1);
        self.before.resize(snapshot.len(), 0);
        // Without a branch: what is no link is overwritten by what comes next. Parallel edges lie side by
        // side, perhaps with a loop between them and others.
        let (mut links, mut latest) = (0, u64::MAX);
        for (&src, &dst) in snapshot.src.iter().zip(snapshot.dst) {
            let number = u64::from(dst) * others + u64::from(src) - u64::from(src > dst);
            let is_link = src != dst && number != latest;
            self.before[links] = number.wrapping_sub(links as u64);
            latest = if is_link { number } else { latest };
            links += usize::from(is_link);
        }
        self.before.truncate(links);
        assert!(u32::try_from(links).is_ok(), "{links} links in one snapshot");
        self.mark_stretches();
    }

    fn mark_stretches(&mut self) {
        let ranks = self.vertices * self.vertices.saturating_sub(1);
        let wanted = (self.before.len() as u64 / LINKS_A_STRETCH).max(1);
        self.shift = (ranks / wanted).checked_ilog2().unwrap_or(0);
        self.stretches.clear();
        self.stretches.resize((ranks >> self.shift) as usize + 2, 0);
        for (place, before) in self.before.iter().enumerate() {
            self.stretches[(before >> self.shift) as usize + 1] = place as u32 + 1;
        }
        let mut links = 0;
        for stretch in &mut self.stretches {
            links = links.max(*stretch);
            *stretch = links;
        }
    }

    /// The number of links.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    /// Destination and source of link `index`.
    pub(super) fn ends(&self, index: usize) -> (VertexId, VertexId) {
        self.pair(self.before[index] + index as u64)
    }

    /// The number of pairs of different vertices that are not links.
    pub(super) fn non_links(&self) -> u64 {
        self.vertices * self.vertices.saturating_sub(1) - self.before.len() as u64
    }

    /// Destinations and sources of the pairs `ranks` among those that are not links, in their place.
    ///
    /// # Panics
    /// Where a rank is not below [`non_links`](Self::non_links).
    pub(super) fn pairs_that_are_none(
        &self,
        ranks: [u64; TOGETHER],
    ) -> [(VertexId, VertexId); TOGETHER] {
        let stretches = ranks.map(|rank| {
            assert!(rank < self.non_links(), "pair {rank} of {}", self.non_links());
            let stretch = (rank >> self.shift) as usize;
            (rank, self.stretches[stretch] as usize, self.stretches[stretch + 1] as usize)
        });
        stretches.map(|(rank, first, end)| {
            let links = first + self.before[first..end].partition_point(|&before| before <= rank);
            self.pair(rank + links as u64)
        })
    }

    /// The pair of a number.
    fn pair(&self, number: u64) -> (VertexId, VertexId) {
        let others = self.vertices - 1;
        let (dst, place) = (number / others, number % others);
        (dst as VertexId, (place + u64::from(place >= dst)) as VertexId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zoetrope_graph::SnapshotSequence;

    proptest! {
        #[test]
        fn links_and_pairs_that_are_none_are_listed_once_and_completely(
            (vertices, edges) in (1u32..8).prop_flat_map(|vertices| {
                let edge = (0..vertices, 0..vertices);
                (Just(vertices), prop::collection::vec(edge, 0..60))
            }),
        ) {
            let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
            let offsets = vec![0, src.len() as u64];
            let graph = SnapshotSequence::new(vertices, offsets, src, dst, None).unwrap();
            let mut links = LinkRanks::default();
            links.load(graph.at(0));
            let pairs = (0..vertices).flat_map(|dst| (0..vertices).map(move |src| (dst, src)));
            let (is, is_not): (Vec<_>, Vec<_>) = pairs
                .filter(|(dst, src)| dst != src)
                .partition(|&(dst, src)| edges.contains(&(src, dst)));
            let found: Vec<_> = (0..links.len()).map(|at| links.ends(at)).collect();
            prop_assert_eq!(found, is);
            for (rank, pair) in (0..).zip(is_not.iter()) {
                prop_assert_eq!(links.pairs_that_are_none([rank; TOGETHER]), [*pair; TOGETHER]);
            }
            prop_assert_eq!(links.non_links(), is_not.len() as u64);
        }
    }
}
