//! What is remembered of a stream, and how it scores a pair.
//!
//! One pass over the stream serves all baselines: EdgeBank with and without a window ask for the
//! last time of a pair (Poursafaei et al., NeurIPS 2022; the window is as long as the test part),
//! popularity for the events into a destination, so far and within the same window, and the last
//! destination for where the source went last. Edges have a direction. Telling an event and scoring
//! a pair both cost one look into a hash table; memory grows with the distinct pairs.

use std::ops::Range;

use hashbrown::HashMap;
use zoetrope_graph::{EventStore, Time, VertexId};

use crate::config::EqualTimesRule;

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
    last_time: HashMap<u64, Time>,
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
            last_time: HashMap::new(),
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
    /// Where a later event was asked about before.
    pub fn advance(&mut self, event: usize) {
        let time = self.store.time();
        let known = match self.equal_times {
            EqualTimesRule::Future => {
                self.told + time[self.told..].partition_point(|&t| t < time[event])
            }
            EqualTimesRule::Past => event,
        };
        assert!(known >= self.told, "event {event} comes too late");
        let told = self.told..known;
        let ends = self.store.src()[told.clone()].iter().zip(&self.store.dst()[told.clone()]);
        for ((&src, &dst), &time) in ends.zip(&time[told]) {
            self.last_time.insert(key(src, dst), time);
            self.received[dst as usize] += 1;
            self.received_recently[dst as usize] += 1;
            self.last_destination[src as usize] = dst;
        }
        self.told = known;
        let since = time[event].saturating_sub(self.window);
        while self.recent < self.told && time[self.recent] < since {
            self.received_recently[self.store.dst()[self.recent] as usize] -= 1;
            self.recent += 1;
        }
    }

    /// The scores of a pair at a time that is not before what was told, in the order of [`SCORES`].
    ///
    /// # Panics
    /// Where the graph has no such vertex.
    pub fn scores(&self, src: VertexId, dst: VertexId, time: Time) -> [f32; 5] {
        let last = self.last_time.get(&key(src, dst));
        let recent = last.is_some_and(|&last| last >= time.saturating_sub(self.window));
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
