//! What is remembered of a stream, and how it scores a pair.
//!
//! One pass over the stream serves all baselines: EdgeBank with and without a window ask for the
//! last time of a pair (Poursafaei et al., NeurIPS 2022; the window is as long as the test part),
//! popularity for the events into a destination, so far and within the same window, and the last
//! destination for where the source went last. Edges have a direction. Telling an event and scoring
//! a pair both cost one look into a hash table. It holds the last event of each distinct pair and
//! no more, 9 bytes a place: the event names the pair and its time.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use zoetrope_config::EqualTimesRule;
use zoetrope_graph::{EventStore, Time, VertexId};

/// The names of the scores, in order.
pub const SCORES: [&str; 5] =
    ["edgebank", "edgebank_window", "popularity", "popularity_window", "last_destination"];

/// No destination yet.
const NOWHERE: VertexId = VertexId::MAX;

/// The past of a stream, told event by event.
#[derive(Debug, Clone)]
pub struct Past<'a> {
    store: &'a EventStore,
    window: Time,
    equal_times: EqualTimesRule,
    /// Events that were told: those before this one.
    told: usize,
    /// Events that are in the window: from this one to `told`.
    recent: usize,
    /// The last event of each pair.
    last: HashTable<usize>,
    hasher: DefaultHashBuilder,
    received: Vec<u32>,
    received_recently: Vec<u32>,
    last_destination: Vec<VertexId>,
}

impl<'a> Past<'a> {
    /// Nothing was told. Windows reach `window` ticks back from the time of a question.
    pub fn new(store: &'a EventStore, window: Time, equal_times: EqualTimesRule) -> Self {
        let vertices = store.vertices() as usize;
        Self {
            store,
            window,
            equal_times,
            told: 0,
            recent: 0,
            last: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            received: vec![0; vertices],
            received_recently: vec![0; vertices],
            last_destination: vec![NOWHERE; vertices],
        }
    }

    /// The time from the first to the last of some events: the window of a part.
    pub fn duration(store: &EventStore, part: Range<usize>) -> Time {
        let time = &store.time()[part];
        match (time.first(), time.last()) {
            (Some(first), Some(last)) => last.saturating_sub(*first),
            _ => 0,
        }
    }

    /// Tells what an event may know, and forgets what has left the window.
    ///
    /// # Panics
    /// If a later event was asked about before.
    pub fn advance(&mut self, event: usize) {
        let time = self.store.time();
        let known = match self.equal_times {
            EqualTimesRule::Future | EqualTimesRule::Batch => {
                self.told + time[self.told..].partition_point(|&t| t < time[event])
            }
            EqualTimesRule::Past => event,
        };
        assert!(known >= self.told, "event {event} comes too late");
        let (src, dst) = (self.store.src(), self.store.dst());
        for event in self.told..known {
            self.note(event);
            self.received[dst[event] as usize] += 1;
            self.received_recently[dst[event] as usize] += 1;
            self.last_destination[src[event] as usize] = dst[event];
        }
        self.told = known;
        let since = time[event].saturating_sub(self.window);
        while self.recent < self.told && time[self.recent] < since {
            self.received_recently[self.store.dst()[self.recent] as usize] -= 1;
            self.recent += 1;
        }
    }

    /// Makes an event the last of its pair.
    fn note(&mut self, event: usize) {
        let (store, hasher) = (self.store, &self.hasher);
        let key = key_of(store, event);
        let hash = |&known: &usize| hasher.hash_one(key_of(store, known));
        let same = |&known: &usize| key_of(store, known) == key;
        match self.last.entry(hasher.hash_one(key), same, hash) {
            Entry::Occupied(mut last) => *last.get_mut() = event,
            Entry::Vacant(none) => {
                none.insert(event);
            }
        }
    }

    /// The last time of a pair.
    fn last_time(&self, src: VertexId, dst: VertexId) -> Option<Time> {
        let key = key(src, dst);
        let same = |&known: &usize| key_of(self.store, known) == key;
        let last = self.last.find(self.hasher.hash_one(key), same);
        last.map(|&event| self.store.time()[event])
    }

    /// The scores of a pair at a time that is not before what was told, in the order of [`SCORES`].
    ///
    /// # Panics
    /// If the graph has no such vertex.
    pub fn scores(&self, src: VertexId, dst: VertexId, time: Time) -> [f32; 5] {
        let last = self.last_time(src, dst);
        let recent = last.is_some_and(|last| last >= time.saturating_sub(self.window));
        let one = |holds: bool| f32::from(u8::from(holds));
        [
            one(last.is_some()),
            one(recent),
            self.received[dst as usize] as f32,
            self.received_recently[dst as usize] as f32,
            one(self.last_destination[src as usize] == dst),
        ]
    }
}

fn key(src: VertexId, dst: VertexId) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

fn key_of(store: &EventStore, event: usize) -> u64 {
    key(store.src()[event], store.dst()[event])
}
