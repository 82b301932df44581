//! What negatives are drawn from.

use std::ops::Range;

use rayon::prelude::*;
use zoetrope_graph::{EventStore, VertexId};

use super::positives::pair_key;

/// The distinct edges of a range of events, sorted by (source, destination).
pub(super) fn distinct_pairs(store: &EventStore, events: Range<usize>) -> Vec<u64> {
    let (src, dst) = (&store.src()[events.clone()], &store.dst()[events]);
    let mut keys: Vec<u64> =
        src.par_iter().zip(dst).map(|(&src, &dst)| pair_key(src, dst)).collect();
    keys.par_sort_unstable();
    keys.dedup();
    keys
}

/// The edges of `pairs` that are not in `known`; both sorted.
pub(super) fn without(mut pairs: Vec<u64>, known: &[u64]) -> Vec<u64> {
    let mut at = 0;
    pairs.retain(|&key| {
        at += known[at..].iter().take_while(|&&other| other < key).count();
        known.get(at) != Some(&key)
    });
    pairs
}

/// The pairs of one source among sorted pairs.
pub(super) fn of_source(pairs: &[u64], src: VertexId) -> &[u64] {
    let start = pairs.partition_point(|&key| key < pair_key(src, 0));
    let length = pairs[start..].partition_point(|&key| key <= pair_key(src, VertexId::MAX));
    &pairs[start..start + length]
}

/// The vertices that are a destination in a range of events, ascending.
pub(super) fn destinations(store: &EventStore, events: Range<usize>) -> Vec<VertexId> {
    let mut is_destination = vec![false; store.vertices() as usize];
    for &dst in &store.dst()[events] {
        is_destination[dst as usize] = true;
    }
    (0..).zip(is_destination).filter(|(_, is)| *is).map(|(vertex, _)| vertex).collect()
}
