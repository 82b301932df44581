//! The links of one snapshot, by how many pairs that are none lie before each.
//!
//! All pairs of different vertices, in ascending order of (destination, source), have numbers. A link of
//! number `m` that is the `i`-th link has `m − i` pairs before it that are no links. These are ascending:
//! the pair of rank `r` among those that are no links has number `r` plus the count of links with at most `r`
//! before them, one search ([`LinkSet`](zoetrope_graph::LinkSet) finds the same with more to compute at every step).
//!
//! If a snapshot has neither loops nor parallel edges, its edges are its links, and nothing is copied.
//! For many pairs, ranks are cut into stretches and a table says which links belong to each: a search by
//! halves misses the caches next to a core at each of its last steps, and that many of them take longer
//! than the table.

use zoetrope_graph::{SnapshotView, VertexId};

/// So many links share a stretch on average: half a line of the cache.
const LINKS_A_STRETCH: usize = 4;

/// The table pays if there is a pair for so many edges.
const EDGES_A_PAIR: usize = 16;

/// So many pairs are looked up together: what one of them waits for the others do not.
pub(super) const TOGETHER: usize = 32;

/// Memory for the links of a snapshot after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkRanks {
    listed: Vec<u64>,
    stretches: Vec<u32>,
}

/// Distinct links between different vertices, ascending by (destination, source).
#[derive(Debug, Clone, Copy)]
pub(super) struct Links<'a> {
    vertices: u64,
    edges: SnapshotView<'a>,
    /// Of each link, the pairs before it that are no links; None if all edges are links.
    listed: Option<&'a [u64]>,
    /// A stretch has `1 << shift` ranks.
    shift: u32,
    /// Of each stretch, how many links belong to earlier ones; then all of them.
    stretches: &'a [u32],
}

impl LinkRanks {
    /// The links of a snapshot, about to be asked for so many pairs that are none.
    ///
    /// # Panics
    /// If a snapshot has 2³² edges.
    pub(super) fn load<'a>(&'a mut self, edges: SnapshotView<'a>, pairs: usize) -> Links<'a> {
        assert!(u32::try_from(edges.len()).is_ok(), "{} edges in a snapshot", edges.len());
        let vertices = u64::from(edges.vertices);
        let listed = if is_simple(edges) { None } else { Some(list(edges, &mut self.listed)) };
        let links = listed.map_or(edges.len(), <[u64]>::len);
        let whole = Links { vertices, edges, listed, shift: u64::BITS - 1, stretches: &[] };
        self.stretches.clear();
        let shift = if edges.len() <= pairs.saturating_mul(EDGES_A_PAIR) {
            whole.cut(&mut self.stretches)
        } else {
            self.stretches.extend([0, links as u32]);
            whole.shift
        };
        Links { shift, stretches: &self.stretches, ..whole }
    }
}

/// Whether there are neither loops nor parallel edges. Looks at some edges at a time, without a branch.
fn is_simple(edges: SnapshotView<'_>) -> bool {
    const AT_A_TIME: usize = 512;
    let places = (0..edges.len()).step_by(AT_A_TIME);
    places.map(|from| from..edges.len().min(from + AT_A_TIME + 1)).all(|range| {
        let (src, dst) = (&edges.src[range.clone()], &edges.dst[range]);
        let loops = src.iter().zip(dst).fold(false, |any, (src, dst)| any | (src == dst));
        let next = src.iter().zip(&src[1..]).zip(dst.iter().zip(&dst[1..]));
        !next.fold(loops, |any, (src, dst)| any | ((src.0 == src.1) & (dst.0 == dst.1)))
    })
}

/// Of each link, the pairs before it that are no links.
fn list<'a>(edges: SnapshotView<'_>, before: &'a mut Vec<u64>) -> &'a [u64] {
    before.resize(edges.len(), 0);
    // Without a branch: what is no link is overwritten by what comes next. Parallel edges lie side by
    // side, perhaps with a loop between them and others.
    let (mut links, mut latest) = (0, u64::MAX);
    for (&src, &dst) in edges.src.iter().zip(edges.dst) {
        let number = number(u64::from(edges.vertices), src, dst);
        let is_link = src != dst && number != latest;
        before[links] = number.wrapping_sub(links as u64);
        latest = if is_link { number } else { latest };
        links += usize::from(is_link);
    }
    &before[..links]
}

/// The number of a pair.
fn number(vertices: u64, src: VertexId, dst: VertexId) -> u64 {
    u64::from(dst) * vertices.saturating_sub(1) + u64::from(src) - u64::from(src > dst)
}

impl Links<'_> {
    /// The number of links.
    pub(super) fn len(&self) -> usize {
        self.listed.map_or(self.edges.len(), <[u64]>::len)
    }

    /// Of a link, the pairs before it that are no links.
    fn before(&self, link: usize) -> u64 {
        match self.listed {
            Some(listed) => listed[link],
            None => number(self.vertices, self.edges.src[link], self.edges.dst[link]) - link as u64,
        }
    }

    /// Cuts ranks into stretches of a few links each; the shift that finds a rank's.
    fn cut(&self, stretches: &mut Vec<u32>) -> u32 {
        let ranks = self.vertices * self.vertices.saturating_sub(1);
        let wanted = (self.len() / LINKS_A_STRETCH).max(1) as u64;
        let shift = (ranks / wanted).checked_ilog2().unwrap_or(0);
        stretches.resize((ranks >> shift) as usize + 2, 0);
        for link in 0..self.len() {
            stretches[(self.before(link) >> shift) as usize + 1] = link as u32 + 1;
        }
        let mut earlier = 0;
        for stretch in stretches {
            earlier = earlier.max(*stretch);
            *stretch = earlier;
        }
        shift
    }

    /// Destination and source of a link.
    pub(super) fn ends(&self, link: usize) -> (VertexId, VertexId) {
        match self.listed {
            Some(listed) => self.pair(listed[link] + link as u64),
            None => (self.edges.dst[link], self.edges.src[link]),
        }
    }

    /// The number of pairs of different vertices that are not links.
    pub(super) fn non_links(&self) -> u64 {
        self.vertices * self.vertices.saturating_sub(1) - self.len() as u64
    }

    /// Destinations and sources of the pairs `ranks` among those that are not links.
    ///
    /// # Panics
    /// If a rank is not below [`non_links`](Self::non_links).
    pub(super) fn pairs_that_are_none(
        &self,
        ranks: [u64; TOGETHER],
    ) -> [(VertexId, VertexId); TOGETHER] {
        let stretches = ranks.map(|rank| {
            assert!(rank < self.non_links(), "pair {rank} of {}", self.non_links());
            let stretch = (rank >> self.shift) as usize;
            (rank, self.stretches[stretch] as usize, self.stretches[stretch + 1] as usize)
        });
        stretches.map(|(rank, first, end)| self.pair(rank + self.links_up_to(rank, first, end)))
    }

    /// How many links have at most `rank` pairs before them that are no links: from `first` to `end`.
    fn links_up_to(&self, rank: u64, mut first: usize, end: usize) -> u64 {
        if let Some(listed) = self.listed {
            let links = listed[first..end].partition_point(|&before| before <= rank);
            return (first + links) as u64;
        }
        let mut left = end - first;
        while left > 0 {
            let half = left / 2;
            let is_before = self.before(first + half) <= rank;
            first = if is_before { first + half + 1 } else { first };
            left = if is_before { left - half - 1 } else { half };
        }
        first as u64
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
        /// With loops and parallel edges, and without; by halves, and by stretches.
        #[test]
        fn links_and_pairs_that_are_none_are_listed_once_and_completely(
            (vertices, edges) in prop_oneof![1u32..8, 20u32..40].prop_flat_map(|vertices| {
                let edge = move || (0..vertices, 0..vertices);
                let simple = prop::collection::hash_set(edge(), 0..30)
                    .prop_map(|edges| edges.into_iter().filter(|(a, b)| a != b).collect());
                let edges = prop_oneof![prop::collection::vec(edge(), 0..60), simple];
                (Just(vertices), edges)
            }),
        ) {
            let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
            let offsets = vec![0, src.len() as u64];
            let graph = SnapshotSequence::new(vertices, offsets, src, dst, None).unwrap();
            let pairs = (0..vertices).flat_map(|dst| (0..vertices).map(move |src| (dst, src)));
            let (is, is_not): (Vec<_>, Vec<_>) = pairs
                .filter(|(dst, src)| dst != src)
                .partition(|&(dst, src)| edges.contains(&(src, dst)));
            let mut memory = LinkRanks::default();
            for asked in [0, edges.len()] {
                let links = memory.load(graph.at(0), asked);
                let found: Vec<_> = (0..links.len()).map(|link| links.ends(link)).collect();
                prop_assert_eq!(&found, &is);
                for (rank, pair) in (0..).zip(&is_not) {
                    prop_assert_eq!(links.pairs_that_are_none([rank; TOGETHER]), [*pair; TOGETHER]);
                }
                prop_assert_eq!(links.non_links(), is_not.len() as u64);
            }
        }
    }
}
