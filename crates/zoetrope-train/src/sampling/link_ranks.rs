//! The links of one snapshot, by how many pairs that are none lie before each.
//!
//! All pairs of different vertices, in ascending order of (destination, source), have numbers. A link of
//! number `m` that is the `i`-th link has `m − i` pairs before it that are no links. These are ascending:
//! the pair of rank `r` among those that are no links has number `r` plus the count of links with at most `r`
//! before them, one search in a plain list ([`LinkSet`](super::LinkSet) finds the same with more to
//! compute at every step).
//!
//! The list is larger than the caches next to a core, and a search by halves would miss them at each of its
//! last steps. Ranks are therefore cut into stretches: a table says which links belong to one (a few, side
//! by side), and of a link only the place within its stretch is kept.

use zoetrope_graph::{SnapshotView, VertexId};

/// Distinct links between different vertices, ascending by (destination, source).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LinkRanks {
    vertices: u64,
    /// A stretch has `1 << shift` ranks.
    shift: u32,
    /// Of each stretch, how many links belong to earlier ones; then all of them.
    stretches: Vec<u32>,
    /// Of each link, the pairs before it that are no links, from the first of its stretch on.
    within: Vec<u32>,
}

/// So many links share a stretch on average: a quarter of a line of the cache.
const LINKS_A_STRETCH: u64 = 4;

/// So many pairs are looked up together: what one of them waits for the others do not.
pub(super) const TOGETHER: usize = 32;

impl LinkRanks {
    /// Takes the links of a snapshot, in the order of its edges; linear in these.
    ///
    /// # Panics
    /// Where a snapshot has 2³² edges.
    pub(super) fn load(&mut self, snapshot: SnapshotView<'_>) {
        assert!(u32::try_from(snapshot.len()).is_ok(), "{} edges in a snapshot", snapshot.len());
        self.vertices = u64::from(snapshot.vertices);
        let others = self.vertices.saturating_sub(1);
        let ranks = self.vertices * others;
        let wanted = (snapshot.len() as u64 / LINKS_A_STRETCH).max(1);
        self.shift = (ranks / wanted).checked_ilog2().unwrap_or(0).min(u32::BITS);
        let nowhere = (ranks >> self.shift) as usize + 2;
        self.stretches.clear();
        self.stretches.resize(nowhere + 1, 0);
        self.within.resize(snapshot.len(), 0);
        // Without a branch: what is no link is overwritten by what comes next. Parallel edges lie side by
        // side, perhaps with a loop between them and others.
        let (mut links, mut latest) = (0, u64::MAX);
        for (&src, &dst) in snapshot.src.iter().zip(snapshot.dst) {
            let number = u64::from(dst) * others + u64::from(src) - u64::from(src > dst);
            let is_link = src != dst && number != latest;
            let before = number.wrapping_sub(links as u64);
            self.within[links] = (before & ((1 << self.shift) - 1)) as u32;
            latest = if is_link { number } else { latest };
            links += usize::from(is_link);
            let after = (before >> self.shift) as usize + 1;
            self.stretches[if is_link { after } else { nowhere }] = links as u32;
        }
        self.within.truncate(links);
        self.stretches.truncate(nowhere);
        let mut earlier = 0;
        for stretch in &mut self.stretches {
            earlier = earlier.max(*stretch);
            *stretch = earlier;
        }
    }

    /// The number of links.
    pub(super) fn len(&self) -> usize {
        self.within.len()
    }

    /// Destinations and sources of links, which ascend.
    pub(super) fn ends<'a>(
        &'a self,
        links: &'a [usize],
    ) -> impl Iterator<Item = (VertexId, VertexId)> {
        let mut stretch = 0;
        links.iter().map(move |&link| {
            while self.stretches[stretch + 1] as usize <= link {
                stretch += 1;
            }
            let before = ((stretch as u64) << self.shift) + u64::from(self.within[link]);
            self.pair(before + link as u64)
        })
    }

    /// The number of pairs of different vertices that are not links.
    pub(super) fn non_links(&self) -> u64 {
        self.vertices * self.vertices.saturating_sub(1) - self.len() as u64
    }

    /// Destinations and sources of the pairs `ranks` among those that are not links.
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
            let place = (rank & ((1 << self.shift) - 1)) as u32;
            let links = first + self.within[first..end].partition_point(|&within| within <= place);
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
            (vertices, edges) in prop_oneof![1u32..8, 20u32..40].prop_flat_map(|vertices| {
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
            let all: Vec<usize> = (0..links.len()).collect();
            prop_assert_eq!(links.ends(&all).collect::<Vec<_>>(), is);
            for (rank, pair) in (0..).zip(is_not.iter()) {
                prop_assert_eq!(links.pairs_that_are_none([rank; TOGETHER]), [*pair; TOGETHER]);
            }
            prop_assert_eq!(links.non_links(), is_not.len() as u64);
        }
    }
}
