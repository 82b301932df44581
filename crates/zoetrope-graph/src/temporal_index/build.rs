//! Building the index: a counting sort by vertex in two levels, parallel without shared writes.
//!
//! Chunks of events are split by the upper bits of the vertex into buckets of their own; then each
//! bucket, a range of vertices with a place of its own in the result, counts its vertices and
//! takes its pieces in chunk order, so entries stay in stream order.

use std::ops::Range;

use rayon::prelude::*;

use super::{Direction, EventIds, TemporalIndex};
use crate::events::EventStore;
use crate::ids::{EventId, VertexId};
use crate::time::Time;

const CHUNK: usize = 1 << 16;
const BUCKET_BITS: u32 = 9;

/// One entry of the index before it has its place.
#[derive(Clone, Copy, Default)]
struct Entry {
    vertex: VertexId,
    neighbour: VertexId,
    /// The event, counted from the start of its chunk.
    event: u32,
}

/// The entries of one chunk, grouped by bucket, and where each bucket ends.
struct Split {
    start: usize,
    entries: Vec<Entry>,
    ends: Vec<u32>,
}

impl Split {
    fn bucket(&self, bucket: usize) -> &[Entry] {
        let from = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        &self.entries[from as usize..self.ends[bucket] as usize]
    }
}

/// An event number of either width.
trait EventNumber: Copy + Default + Send + Sync {
    fn new(event: usize) -> Self;
}

impl EventNumber for u32 {
    fn new(event: usize) -> Self {
        event as Self
    }
}

impl EventNumber for u64 {
    fn new(event: usize) -> Self {
        event as Self
    }
}

pub(super) fn build(
    store: &EventStore,
    direction: Direction,
    wide: bool,
    keep: impl Fn(EventId) -> bool + Sync,
) -> TemporalIndex {
    if wide {
        build_of(store, direction, keep, EventIds::Wide)
    } else {
        build_of(store, direction, keep, EventIds::Narrow)
    }
}

/// The part of the result that one bucket fills.
struct Place<'a, E> {
    /// The end of each of its vertices.
    ends: &'a mut [u64],
    /// Where its entries start in the whole.
    base: u64,
    neighbour: &'a mut [VertexId],
    event: &'a mut [E],
    time: &'a mut [Time],
}

fn build_of<E: EventNumber>(
    store: &EventStore,
    direction: Direction,
    keep: impl Fn(EventId) -> bool + Sync,
    ids: fn(Vec<E>) -> EventIds,
) -> TemporalIndex {
    let vertices = store.vertices() as usize;
    let vertex_bits = u32::BITS - store.vertices().saturating_sub(1).leading_zeros();
    let shift = vertex_bits.saturating_sub(BUCKET_BITS);
    let buckets = vertices.div_ceil(1 << shift);
    let chunks: Vec<Range<usize>> =
        (0..store.len()).step_by(CHUNK).map(|from| from..store.len().min(from + CHUNK)).collect();
    let splits: Vec<Split> = chunks
        .into_par_iter()
        .map(|chunk| split(store, direction, &keep, chunk, (shift, buckets)))
        .collect();

    let entries: usize = splits.iter().map(|split| split.entries.len()).sum();
    let mut offsets = vec![0_u64; vertices + 1];
    let mut neighbour = vec![0; entries];
    let mut event = vec![E::default(); entries];
    let mut time = vec![0; entries];
    let places =
        places(&splits, buckets, shift, (&mut offsets[1..], &mut neighbour, &mut event, &mut time));
    places.into_par_iter().enumerate().for_each(|(bucket, place)| {
        fill(store.time(), &splits, bucket, (bucket << shift) as VertexId, place);
    });
    TemporalIndex { direction, offsets, neighbour, event: ids(event), time }
}

/// Cuts the result into the places of the buckets.
fn places<'a, E>(
    splits: &[Split],
    buckets: usize,
    shift: u32,
    whole: (&'a mut [u64], &'a mut [VertexId], &'a mut [E], &'a mut [Time]),
) -> Vec<Place<'a, E>> {
    let (mut ends, mut neighbour, mut event, mut time) = whole;
    let mut base = 0;
    let mut places = Vec::with_capacity(buckets);
    for bucket in 0..buckets {
        let count = splits.iter().map(|split| split.bucket(bucket).len()).sum();
        let place = Place {
            ends: cut(&mut ends, 1 << shift),
            base,
            neighbour: cut(&mut neighbour, count),
            event: cut(&mut event, count),
            time: cut(&mut time, count),
        };
        places.push(place);
        base += count as u64;
    }
    places
}

/// The first `count` values, or all if there are fewer; `rest` keeps what follows.
fn cut<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let whole = std::mem::take(rest);
    let (head, tail) = whole.split_at_mut(count.min(whole.len()));
    *rest = tail;
    head
}

fn split(
    store: &EventStore,
    direction: Direction,
    keep: &impl Fn(EventId) -> bool,
    chunk: Range<usize>,
    (shift, buckets): (u32, usize),
) -> Split {
    let keep = |event: u32| keep((chunk.start + event as usize) as EventId);
    let columns = (&store.src()[chunk.clone()], &store.dst()[chunk.clone()]);
    let mut ends = vec![0_u32; buckets];
    each(columns, direction, keep, |entry| ends[(entry.vertex >> shift) as usize] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut entries = vec![Entry::default(); total as usize];
    each(columns, direction, keep, |entry| {
        let place = &mut ends[(entry.vertex >> shift) as usize];
        entries[*place as usize] = entry;
        *place += 1;
    });
    Split { start: chunk.start, entries, ends }
}

/// Visits the entries of the events that are kept, in order.
fn each(
    (src, dst): (&[VertexId], &[VertexId]),
    direction: Direction,
    keep: impl Fn(u32) -> bool,
    mut visit: impl FnMut(Entry),
) {
    for (event, (&src, &dst)) in src.iter().zip(dst).enumerate() {
        let event = event as u32;
        if !keep(event) {
            continue;
        }
        if direction != Direction::In {
            visit(Entry { vertex: src, neighbour: dst, event });
        }
        if direction == Direction::In || (direction == Direction::Both && src != dst) {
            visit(Entry { vertex: dst, neighbour: src, event });
        }
    }
}

/// Counts the vertices of a bucket, then puts its entries in their places.
fn fill<E: EventNumber>(
    times: &[Time],
    splits: &[Split],
    bucket: usize,
    first: VertexId,
    place: Place<'_, E>,
) {
    let Place { ends, base, neighbour, event, time } = place;
    for entry in splits.iter().flat_map(|split| split.bucket(bucket)) {
        ends[(entry.vertex - first) as usize] += 1;
    }
    let mut total = 0;
    for end in ends.iter_mut() {
        total += std::mem::replace(end, total);
    }
    for split in splits {
        for entry in split.bucket(bucket) {
            let next = &mut ends[(entry.vertex - first) as usize];
            let (at, number) = (*next as usize, split.start + entry.event as usize);
            *next += 1;
            neighbour[at] = entry.neighbour;
            event[at] = E::new(number);
            time[at] = times[number];
        }
    }
    ends.iter_mut().for_each(|end| *end += base);
}
