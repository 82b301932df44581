//! Sets of distinct directed edges as sorted keys, drawn and replaced in exact numbers.
//!
//! A key orders edges by (destination, source) as snapshots do. Rejected candidates (loops,
//! repeats, edges that are taken) are drawn again.

use rayon::prelude::*;
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, VertexId};

use super::parameter::Arguments;
use crate::error::DataError;

/// After this many rounds of redrawing, candidates are drawn uniformly: between saturated hubs
/// almost every heavy-tailed candidate is taken already.
const ROUNDS_BEFORE_UNIFORM: u32 = 24;

/// Where a candidate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The distribution of the model.
    Model,
    /// All pairs of vertices alike.
    Anywhere,
}

/// Draws `count` distinct edges, none of them a loop or in `taken` (sorted); sorted.
///
/// `draw` makes a candidate from random words. The caller makes sure that at least half of the
/// edges that `draw` reaches from anywhere stay free, so that redrawing ends.
pub(super) fn draw_distinct(
    count: usize,
    random: Random,
    taken: &[u64],
    draw: impl Fn([u32; 4], Reach) -> (VertexId, VertexId) + Sync,
) -> Vec<u64> {
    let mut kept: Vec<u64> = Vec::new();
    let mut drawn = 0u64;
    let mut round = 0;
    while kept.len() < count {
        // Never more candidates than edges are missing: then all that are free are kept, which is
        // what drawing one after the other would keep.
        let missing = (count - kept.len()) as u64;
        let reach = if round < ROUNDS_BEFORE_UNIFORM { Reach::Model } else { Reach::Anywhere };
        let candidate = |number: u64| {
            let (src, dst) = draw(random.block(number), reach);
            (src != dst).then(|| zoetrope_graph::snapshot::edge_key(src, dst))
        };
        let mut candidates: Vec<u64> =
            (drawn..drawn + missing).into_par_iter().filter_map(candidate).collect();
        candidates.par_sort_unstable();
        candidates.dedup();
        drop_taken(&mut candidates, taken);
        drop_taken(&mut candidates, &kept);
        kept = if kept.is_empty() { candidates } else { merge(&kept, &candidates) };
        drawn += missing;
        round += 1;
    }
    kept
}

/// Any ordered pair of vertices, all alike.
pub(super) fn any_pair(block: [u32; 4], vertices: u32) -> (VertexId, VertexId) {
    (scale(block[0], vertices), scale(block[1], vertices))
}

/// A word as a number in `0..bound`.
pub(super) fn scale(word: u32, bound: u32) -> u32 {
    ((u64::from(word) * u64::from(bound)) >> 32) as u32
}

/// Replaces exactly `count` of the edges by others that were not there before.
pub(super) fn replace(
    edges: &[u64],
    count: usize,
    (removal, addition): (Random, Random),
    draw: impl Fn([u32; 4], Reach) -> (VertexId, VertexId) + Sync,
) -> Vec<u64> {
    if count == 0 {
        return edges.to_vec();
    }
    let mut lots: Vec<(u64, u32)> = (0..edges.len() as u64)
        .into_par_iter()
        .map(|position| (removal.u64(position), position as u32))
        .collect();
    if count < edges.len() {
        lots.select_nth_unstable(count);
    }
    let mut gone: Vec<u32> = lots[..count].iter().map(|&(_, position)| position).collect();
    gone.par_sort_unstable();
    let mut gone = gone.into_iter().peekable();
    let stay: Vec<u64> = (0u32..)
        .zip(edges)
        .filter(|&(position, _)| gone.next_if_eq(&position).is_none())
        .map(|(_, &key)| key)
        .collect();
    let fresh = draw_distinct(count, addition, edges, draw);
    merge(&stay, &fresh)
}

/// Removes candidates that are in `taken`; both sorted.
fn drop_taken(candidates: &mut Vec<u64>, taken: &[u64]) {
    let mut at = 0;
    candidates.retain(|&key| {
        at += taken[at..].iter().take_while(|&&other| other < key).count();
        taken.get(at) != Some(&key)
    });
}

fn merge(left: &[u64], right: &[u64]) -> Vec<u64> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut at, mut to) = (0, 0);
    while at < left.len() && to < right.len() {
        if left[at] < right[to] {
            merged.push(left[at]);
            at += 1;
        } else {
            merged.push(right[to]);
            to += 1;
        }
    }
    merged.extend_from_slice(&left[at..]);
    merged.extend_from_slice(&right[to..]);
    merged
}

/// Edge columns that grow by one snapshot at a time.
#[derive(Debug, Default)]
pub(super) struct Columns {
    offsets: Vec<u64>,
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
}

impl Columns {
    pub(super) fn with_capacity(steps: usize, edges: usize) -> Self {
        let mut offsets = Vec::with_capacity(steps + 1);
        offsets.push(0);
        Self { offsets, src: Vec::with_capacity(edges), dst: Vec::with_capacity(edges) }
    }

    pub(super) fn push(&mut self, keys: &[u64]) {
        self.src.par_extend(keys.par_iter().map(|&key| key as u32));
        self.dst.par_extend(keys.par_iter().map(|&key| (key >> 32) as u32));
        self.offsets.push(self.src.len() as u64);
    }

    pub(super) fn finish(
        self,
        vertices: u32,
        arguments: &Arguments,
    ) -> Result<SnapshotSequence, DataError> {
        SnapshotSequence::new(vertices, self.offsets, self.src, self.dst, None)
            .map_err(arguments.graph_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn drawn_edges_are_distinct_loopless_free_and_exactly_as_many(
            vertices in 5u32..40, density in 0.0f64..0.24, seed: u64
        ) {
            let count = (f64::from(vertices) * f64::from(vertices - 1) * density) as usize;
            let uniform = |block: [u32; 4], _| (scale(block[0], vertices), scale(block[1], vertices));
            let first = draw_distinct(count, Random::new(seed, 1), &[], uniform);
            let second = draw_distinct(count, Random::new(seed, 2), &first, uniform);
            for set in [&first, &second] {
                prop_assert_eq!(set.len(), count);
                prop_assert!(set.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(set.iter().all(|&key| key as u32 != (key >> 32) as u32));
            }
            prop_assert!(second.iter().all(|key| first.binary_search(key).is_err()));
        }

        #[test]
        fn exactly_the_asked_number_of_edges_is_replaced(
            share in 0.0f64..=1.0, seed: u64
        ) {
            let vertices = 30;
            let hubs = |block: [u32; 4], reach| {
                let first = if reach == Reach::Model { 4 } else { vertices };
                (scale(block[0], first), scale(block[1], vertices))
            };
            let first = draw_distinct(100, Random::new(seed, 1), &[], hubs);
            let count = (share * 100.0) as usize;
            let streams = (Random::new(seed, 2), Random::new(seed, 3));
            let second = replace(&first, count, streams, hubs);
            prop_assert_eq!(second.len(), 100);
            let kept = second.iter().filter(|key| first.binary_search(key).is_ok()).count();
            prop_assert_eq!(kept, 100 - count);
        }
    }
}
