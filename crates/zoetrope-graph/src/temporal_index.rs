//! The temporal index (T-CSR): for each vertex its events in time order.
//!
//! Owns per-vertex offsets and, entry by entry, the neighbour, the event and its time, so that a
//! sampler finds "what happened at this vertex before now" by one binary search and reads the
//! answer contiguously. It does not sample and does not keep weights or features: the event
//! number leads to them.
//!
//! Entries of a vertex are in the order of the store: ascending time, equal times in input order.
//! In [`Direction::Both`] an event stands at both of its ends; a self-loop stands once, since it
//! is one event of one vertex.
//!
//! Event numbers take 4 bytes while the stream has at most 2^32 events, 8 beyond.
//!
//! Floor: 16 bytes read (source, destination, time) and 16 written (neighbour, event, time) per
//! entry, about 3 ns at 10 GB/s. Measured: 33 to 39 ns of processor time an entry for 5 million
//! events over 10,000 or 1,000,000 vertices, 26 to 30 million entries a second a core, a tenth of
//! the floor (`bench/graph`, 2 cores of an AMD EPYC shared with other work, 15 November 2026).

use std::ops::Range;

use rayon::prelude::*;

use crate::events::EventStore;
use crate::ids::{EventId, VertexId};
use crate::time::Time;

mod build;

/// Which events belong to a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Those that start at it; the neighbour is the destination.
    Out,
    /// Those that end at it; the neighbour is the source.
    In,
    /// Both; the neighbour is the other end.
    #[default]
    Both,
}

/// Event numbers as narrow as the stream allows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EventIds {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// The events of every vertex in time order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemporalIndex {
    direction: Direction,
    offsets: Vec<u64>,
    neighbour: Vec<VertexId>,
    event: EventIds,
    time: Vec<Time>,
}

/// Some consecutive events of one vertex, in time order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalView<'a> {
    /// The other end of each event.
    pub neighbours: &'a [VertexId],
    /// The time of each event; ascending.
    pub times: &'a [Time],
    events: EventIdSlice<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventIdSlice<'a> {
    Narrow(&'a [u32]),
    Wide(&'a [u64]),
}

impl<'a> TemporalView<'a> {
    /// The number of events.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// The number of the event at `index` in the store.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len).
    pub fn event(&self, index: usize) -> EventId {
        match self.events {
            EventIdSlice::Narrow(events) => events[index].into(),
            EventIdSlice::Wide(events) => events[index],
        }
    }

    /// The numbers of the events in the store; ascending.
    pub fn events(self) -> impl ExactSizeIterator<Item = EventId> + 'a {
        (0..self.len()).map(move |index| self.event(index))
    }

    /// The last `count` events, or all if there are fewer.
    pub fn last(self, count: usize) -> Self {
        self.slice(self.len().saturating_sub(count)..self.len())
    }

    /// The events numbered below `event`.
    pub fn before_event(self, event: EventId) -> Self {
        let count = match self.events {
            EventIdSlice::Narrow(events) => events.partition_point(|&e| EventId::from(e) < event),
            EventIdSlice::Wide(events) => events.partition_point(|&e| e < event),
        };
        self.slice(0..count)
    }

    /// Writes the numbers of the events to `out`, which must be as long.
    pub(crate) fn copy_events(self, out: &mut [EventId]) {
        match self.events {
            EventIdSlice::Narrow(events) => {
                assert_eq!(events.len(), out.len(), "events");
                out.iter_mut().zip(events).for_each(|(out, &event)| *out = event.into());
            }
            EventIdSlice::Wide(events) => out.copy_from_slice(events),
        }
    }

    /// Some of the events, by position in this view.
    ///
    /// # Panics
    /// If `range` is out of bounds.
    pub fn slice(self, range: Range<usize>) -> Self {
        Self {
            neighbours: &self.neighbours[range.clone()],
            times: &self.times[range.clone()],
            events: match self.events {
                EventIdSlice::Narrow(events) => EventIdSlice::Narrow(&events[range]),
                EventIdSlice::Wide(events) => EventIdSlice::Wide(&events[range]),
            },
        }
    }
}

impl TemporalIndex {
    /// Indexes a stream, in parallel; the same index for any number of threads.
    pub fn new(store: &EventStore, direction: Direction) -> Self {
        Self::of_events(store, direction, |_| true)
    }

    /// Indexes the events that `keep` accepts, in parallel; the others are left out. Vertices and
    /// events keep their numbers. `keep` may be asked more than once about an event and must always
    /// answer the same.
    pub fn of_events(
        store: &EventStore,
        direction: Direction,
        keep: impl Fn(EventId) -> bool + Sync,
    ) -> Self {
        build::build(store, direction, store.len() as u64 > 1 << 32, keep)
    }

    /// As [`new`](Self::new) with event numbers of a given width.
    #[cfg(test)]
    pub(crate) fn of_width(store: &EventStore, direction: Direction, wide: bool) -> Self {
        build::build(store, direction, wide, |_| true)
    }

    /// Which events belong to a vertex.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// The number of entries: events, or ends of events in [`Direction::Both`].
    pub fn len(&self) -> usize {
        self.neighbour.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.neighbour.is_empty()
    }

    /// Where each vertex's entries start, and the end of the last.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// All events of a vertex.
    ///
    /// # Panics
    /// If `vertex` is not below [`vertices`](Self::vertices).
    pub fn of(&self, vertex: VertexId) -> TemporalView<'_> {
        let vertex = vertex as usize;
        self.stretch(self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize)
    }

    /// Entries by their position in the whole index.
    #[inline]
    pub(crate) fn stretch(&self, range: Range<usize>) -> TemporalView<'_> {
        TemporalView {
            neighbours: &self.neighbour[range.clone()],
            times: &self.time[range.clone()],
            events: match &self.event {
                EventIds::Narrow(events) => EventIdSlice::Narrow(&events[range]),
                EventIds::Wide(events) => EventIdSlice::Wide(&events[range]),
            },
        }
    }

    /// The event of an entry, by its position in the whole index.
    pub(crate) fn event_at(&self, position: usize) -> EventId {
        match &self.event {
            EventIds::Narrow(events) => events[position].into(),
            EventIds::Wide(events) => events[position],
        }
    }

    /// Replaces positions in the whole index by the numbers of their events, and writes the
    /// neighbours and times there.
    pub(crate) fn gather(
        &self,
        neighbours: &mut [VertexId],
        positions: &mut [u64],
        times: &mut [Time],
    ) {
        for ((neighbour, &mut position), time) in
            neighbours.iter_mut().zip(&mut *positions).zip(times)
        {
            *neighbour = self.neighbour[position as usize];
            *time = self.time[position as usize];
        }
        match &self.event {
            EventIds::Narrow(events) => {
                positions.iter_mut().for_each(|at| *at = events[*at as usize].into());
            }
            EventIds::Wide(events) => {
                positions.iter_mut().for_each(|at| *at = events[*at as usize])
            }
        }
    }

    /// The times of all entries, vertex by vertex.
    pub(crate) fn times(&self) -> &[Time] {
        &self.time
    }

    /// The events of a vertex strictly before a time.
    ///
    /// # Panics
    /// If `vertex` is not below [`vertices`](Self::vertices).
    pub fn before(&self, vertex: VertexId, time: Time) -> TemporalView<'_> {
        let all = self.of(vertex);
        all.slice(0..all.times.partition_point(|&at| at < time))
    }

    /// The events of a vertex up to and including a time.
    ///
    /// # Panics
    /// If `vertex` is not below [`vertices`](Self::vertices).
    pub fn until(&self, vertex: VertexId, time: Time) -> TemporalView<'_> {
        let all = self.of(vertex);
        all.slice(0..all.times.partition_point(|&at| at <= time))
    }

    /// The events of a vertex that precede an event in the stream, those of equal time included.
    ///
    /// # Panics
    /// If `vertex` is not below [`vertices`](Self::vertices).
    pub fn before_event(&self, vertex: VertexId, event: EventId) -> TemporalView<'_> {
        self.of(vertex).before_event(event)
    }

    /// The number of events of each vertex.
    pub fn degrees(&self) -> Vec<u64> {
        self.offsets.par_windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

#[cfg(test)]
mod tests;
