//! The links of one snapshot, and what is not among them.
//!
//! Links are kept as ascending integers (first end, second end). The r-th pair that is *not* a
//! link is found by a binary search: before it lie r such pairs and as many links as there are
//! links whose number minus their own place is at most r. So a negative is one draw and one
//! search, uniform over all pairs that are not links, in the densest graph as in the sparsest:
//! there is no rejection and nothing that could fail to end.

use std::ops::Range;

use crate::{SnapshotView, VertexId};

/// So many vertices for each edge, and links are sorted: a table of first ends would take longer.
const VERTICES_AN_EDGE: usize = 8;

/// Distinct links between different vertices, ascending by (first end, second end).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkSet {
    vertices: u64,
    keys: Vec<u64>,
    /// Where the links of each first end begin, and the end of all; empty if there are few edges for the
    /// vertices.
    begin: Vec<u32>,
}

impl LinkSet {
    /// Takes the links of a snapshot; the first end is the source.
    ///
    /// Edges come by (destination, source), so that counting those of each source puts them in order.
    pub fn load_by_source(&mut self, snapshot: SnapshotView<'_>) {
        self.vertices = u64::from(snapshot.vertices);
        self.keys.clear();
        self.begin.clear();
        let (vertices, edges) = (snapshot.vertices as usize, snapshot.len());
        if vertices / VERTICES_AN_EDGE > edges || u32::try_from(edges).is_err() {
            self.keys.extend(links(snapshot).map(|(src, dst)| key(src, dst)));
            return self.keys.sort_unstable();
        }
        // First how many links the vertex before has, so that sums are where links begin.
        self.begin.resize(vertices + 2, 0);
        links(snapshot).for_each(|(src, _)| self.begin[src as usize + 2] += 1);
        let mut sum = 0;
        for begin in &mut self.begin {
            sum += *begin;
            *begin = sum;
        }
        self.keys.resize(sum as usize, 0);
        for (src, dst) in links(snapshot) {
            let place = &mut self.begin[src as usize + 1];
            self.keys[*place as usize] = key(src, dst);
            *place += 1;
        }
        self.begin.truncate(vertices + 1);
        debug_assert!(self.keys.is_sorted(), "edges by (destination, source)");
    }

    /// The number of links.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.vertices as u32
    }

    /// The ends of link `index`, first end first.
    pub fn ends(&self, index: usize) -> (VertexId, VertexId) {
        ends(self.keys[index])
    }

    /// The ends of all links, in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (VertexId, VertexId)> + '_ {
        self.keys.iter().map(|&key| ends(key))
    }

    /// Whether there is a link between a first and a second end.
    pub fn contains(&self, first: VertexId, second: VertexId) -> bool {
        self.keys.binary_search(&key(first, second)).is_ok()
    }

    /// The number of pairs of different vertices that are not links.
    pub fn non_links(&self) -> u64 {
        self.vertices * self.vertices.saturating_sub(1) - self.keys.len() as u64
    }

    /// Pair `rank` among those that are not links, first end first.
    ///
    /// # Panics
    /// If `rank` is not below [`non_links`](Self::non_links).
    pub fn non_link(&self, rank: u64) -> (VertexId, VertexId) {
        assert!(rank < self.non_links(), "pair {rank} of {}", self.non_links());
        let others = self.vertices - 1;
        let number = |key: u64| {
            let (first, second) = ends(key);
            u64::from(first) * others + place(first, second)
        };
        let found = nth_missing(&self.keys, rank, number);
        let first = (found / others) as VertexId;
        (first, vertex(first, found % others))
    }

    /// The second ends of the links with a first end, ascending.
    pub fn of(&self, first: VertexId) -> Row<'_> {
        let row = self.range(first);
        Row { first, others: self.vertices - 1, keys: &self.keys[row] }
    }

    /// The numbers of the links with a first end.
    pub fn range(&self, first: VertexId) -> Range<usize> {
        if let Some(&[begin, end]) = self.begin.get(first as usize..first as usize + 2) {
            return begin as usize..end as usize;
        }
        let start = self.keys.partition_point(|&other| other < key(first, 0));
        let length = self.keys[start..].partition_point(|&other| other <= key(first, u32::MAX));
        start..start + length
    }
}

/// The links of one vertex.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    first: VertexId,
    others: u64,
    keys: &'a [u64],
}

impl Row<'_> {
    /// The number of links.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The second ends of the links, ascending.
    pub fn links(&self) -> impl Iterator<Item = VertexId> {
        self.keys.iter().map(|&key| ends(key).1)
    }

    /// The number of other vertices that are not linked.
    pub fn non_links(&self) -> usize {
        self.others as usize - self.keys.len()
    }

    /// Vertex `rank` among those that are not linked.
    ///
    /// # Panics
    /// If `rank` is not below [`non_links`](Self::non_links).
    pub fn non_link(&self, rank: usize) -> VertexId {
        assert!(rank < self.non_links(), "vertex {rank} of {}", self.non_links());
        let number = |key: u64| place(self.first, ends(key).1);
        vertex(self.first, nth_missing(self.keys, rank as u64, number))
    }
}

/// The distinct edges between different vertices, by (destination, source): parallel ones lie side by side.
fn links(snapshot: SnapshotView<'_>) -> impl Iterator<Item = (VertexId, VertexId)> + '_ {
    let mut previous = None;
    snapshot.src.iter().copied().zip(snapshot.dst.iter().copied()).filter(move |&edge| {
        let is_new = edge.0 != edge.1 && previous != Some(edge);
        previous = Some(edge);
        is_new
    })
}

/// The `rank`-th number from 0 that no key has; keys have ascending, distinct numbers.
fn nth_missing(keys: &[u64], rank: u64, number: impl Fn(u64) -> u64) -> u64 {
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = (low + high) / 2;
        if number(keys[middle]) - middle as u64 <= rank { low = middle + 1 } else { high = middle }
    }
    rank + low as u64
}

fn key(first: VertexId, second: VertexId) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

fn ends(key: u64) -> (VertexId, VertexId) {
    ((key >> 32) as VertexId, key as VertexId)
}

/// The place of a vertex among all others than `first`.
fn place(first: VertexId, second: VertexId) -> u64 {
    u64::from(second) - u64::from(second > first)
}

/// The vertex at a place among all others than `first`.
fn vertex(first: VertexId, place: u64) -> VertexId {
    (place + u64::from(place >= u64::from(first))) as VertexId
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SnapshotSequence;
    use proptest::prelude::*;

    fn snapshot(vertices: u32, edges: &[(u32, u32)]) -> SnapshotSequence {
        let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        SnapshotSequence::new(vertices, vec![0, src.len() as u64], src, dst, None).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_not_a_link_is_listed_once_and_completely(
            (vertices, edges) in (1u32..8).prop_flat_map(|vertices| {
                let edge = (0..vertices, 0..vertices);
                (Just(vertices), prop::collection::vec(edge, 0..60))
            }),
        ) {
            let graph = snapshot(vertices, &edges);
            let mut links = LinkSet::default();
            links.load_by_source(graph.at(0));
            let pairs = (0..vertices).flat_map(|a| (0..vertices).map(move |b| (a, b)));
            let expected: Vec<_> =
                pairs.filter(|&(a, b)| a != b && !edges.contains(&(a, b))).collect();
            let got: Vec<_> = (0..links.non_links()).map(|rank| links.non_link(rank)).collect();
            prop_assert_eq!(&got, &expected);
            let rows: Vec<_> = (0..vertices)
                .flat_map(|first| {
                    let row = links.of(first);
                    (0..row.non_links()).map(move |rank| (first, row.non_link(rank)))
                })
                .collect();
            prop_assert_eq!(rows, expected);
            for (at, (src, dst)) in links.iter().enumerate() {
                prop_assert!(links.range(src).contains(&at));
                prop_assert!(links.of(src).links().any(|other| other == dst));
            }
            prop_assert!(links.keys.is_sorted());
            // The same with so many vertices more that links are sorted.
            let sparse = snapshot(vertices + 1000, &edges);
            let mut sorted = LinkSet::default();
            sorted.load_by_source(sparse.at(0));
            prop_assert!(sorted.begin.is_empty() && sorted.keys == links.keys);
            (0..vertices).for_each(|first| assert_eq!(sorted.range(first), links.range(first)));
        }
    }
}
