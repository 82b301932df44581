//! Which edges happen at which time.
//!
//! Events of one time stand side by side in a stream. A few are looked through whenever they are
//! asked for; only the edges of crowded times are kept, sorted, so that a stream of many distinct
//! times costs no memory here (up to 16 bytes an event otherwise, 0.8 GB for 50 million).

use std::ops::Range;

use rayon::prelude::*;
use zoetrope_graph::{EventStore, VertexId};

/// Events of one time that are looked through one by one: a line of the cache or two a column.
pub(super) const SCANNED_EVENTS_MAX: usize = 32;

/// An edge as a number that orders edges by (source, destination).
pub(super) fn pair_key(src: VertexId, dst: VertexId) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

/// The edges of a range of events by their time.
pub(super) struct Positives<'a> {
    store: &'a EventStore,
    events: Range<usize>,
    /// The times with more than [`SCANNED_EVENTS_MAX`] events.
    crowds: Vec<Crowd>,
    /// The edges of each crowd, sorted, one crowd after the other.
    keys: Vec<u64>,
}

/// The events of one time, and where their edges begin in the keys.
struct Crowd {
    events: Range<usize>,
    first_key: usize,
}

/// The edges that happen at one time.
#[derive(Clone, Copy)]
pub(super) enum Beside<'a> {
    /// Those of these columns of sources and destinations.
    Few(&'a [VertexId], &'a [VertexId]),
    /// These, sorted.
    Crowd(&'a [u64]),
}

impl Beside<'_> {
    /// Whether an edge is among them.
    pub(super) fn contains(self, key: u64) -> bool {
        match self {
            Self::Few(src, dst) => {
                src.iter().zip(dst).any(|(&src, &dst)| pair_key(src, dst) == key)
            }
            Self::Crowd(keys) => keys.binary_search(&key).is_ok(),
        }
    }
}

impl<'a> Positives<'a> {
    /// The range must not cut through a time.
    pub(super) fn new(store: &'a EventStore, events: Range<usize>) -> Self {
        let (src, dst) = (store.src(), store.dst());
        let (mut crowds, mut keys) = (Vec::new(), Vec::new());
        let mut start = events.start;
        for same in store.time()[events.clone()].chunk_by(|one, next| one == next) {
            let of_time = start..start + same.len();
            start = of_time.end;
            if same.len() > SCANNED_EVENTS_MAX {
                crowds.push(Crowd { events: of_time.clone(), first_key: keys.len() });
                keys.extend(of_time.map(|event| pair_key(src[event], dst[event])));
            }
        }
        let mut rest = &mut keys[..];
        let mut groups = Vec::with_capacity(crowds.len());
        for crowd in &crowds {
            let (group, tail) = rest.split_at_mut(crowd.events.len());
            rest = tail;
            groups.push(group);
        }
        groups.into_par_iter().for_each(|group| group.sort_unstable());
        Self { store, events, crowds, keys }
    }

    /// All edges that happen at the time of an event of the range.
    pub(super) fn beside(&self, event: usize) -> Beside<'_> {
        let place = self.crowds.partition_point(|crowd| crowd.events.end <= event);
        if let Some(crowd) = self.crowds.get(place)
            && crowd.events.contains(&event)
        {
            return Beside::Crowd(&self.keys[crowd.first_key..][..crowd.events.len()]);
        }
        let time = self.store.time();
        let same = |other: &i64| *other == time[event];
        let before = time[self.events.start..event].iter().rev().take_while(|&t| same(t)).count();
        let after = time[event..self.events.end].iter().take_while(|&t| same(t)).count();
        let few = event - before..event + after;
        Beside::Few(&self.store.src()[few.clone()], &self.store.dst()[few])
    }
}
