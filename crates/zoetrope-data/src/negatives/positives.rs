//! Which edges happen at which time.

use std::ops::Range;

use rayon::prelude::*;
use zoetrope_graph::{EventStore, VertexId};

/// An edge as a number that orders edges by (source, destination).
pub(super) fn pair_key(src: VertexId, dst: VertexId) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

/// The edges of a range of events, those of equal time sorted together.
pub(super) struct Positives {
    start: usize,
    /// By event of the range: keys, sorted within each time.
    keys: Vec<u64>,
    /// Where each time starts in `keys`, plus the end.
    starts: Vec<usize>,
}

impl Positives {
    /// The range must not cut through a time.
    pub(super) fn new(store: &EventStore, events: Range<usize>) -> Self {
        let time = &store.time()[events.clone()];
        let (src, dst) = (&store.src()[events.clone()], &store.dst()[events.clone()]);
        let mut keys: Vec<u64> =
            src.par_iter().zip(dst).map(|(&src, &dst)| pair_key(src, dst)).collect();
        let mut starts: Vec<usize> = (0..time.len())
            .into_par_iter()
            .filter(|&at| at == 0 || time[at - 1] != time[at])
            .collect();
        starts.push(time.len());
        let mut rest = &mut keys[..];
        let mut groups = Vec::new();
        for pair in starts.windows(2) {
            let (group, tail) = rest.split_at_mut(pair[1] - pair[0]);
            rest = tail;
            if group.len() > 1 {
                groups.push(group);
            }
        }
        groups.into_par_iter().for_each(|group| group.sort_unstable());
        Self { start: events.start, keys, starts }
    }

    /// The keys of all edges that happen at the time of an event, sorted.
    pub(super) fn beside(&self, event: usize) -> &[u64] {
        let at = event - self.start;
        let group = self.starts.partition_point(|&start| start <= at);
        &self.keys[self.starts[group - 1]..self.starts[group]]
    }
}
