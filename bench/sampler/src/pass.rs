//! One pass over the stream: the questions of each batch, answered into the same buffers.

use std::ops::Range;
use std::time::Instant;

use zoetrope_graph::sampler::{Choice, EqualTimes, Moment, Sampled, Sampler};
use zoetrope_graph::{EventId, EventStore, TemporalIndex};

use crate::{Case, PARTS};

/// A case with all that a pass needs.
pub(crate) struct Pass<'a> {
    store: &'a EventStore,
    index: &'a TemporalIndex,
    sampler: Sampler,
    /// Both ends of every event at its time, in stream order.
    moments: Vec<Moment>,
    /// Where the newest events that each moment sees begin and end among those of its vertex.
    newest: Vec<Range<usize>>,
    /// Events in a batch.
    batch: usize,
    sampled: Sampled,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(store: &'a EventStore, index: &'a TemporalIndex, case: &Case) -> Self {
        let choice = match case.choice.as_str() {
            "uniform" => Choice::Uniform,
            "recent" => Choice::Recent,
            other => panic!("{other}: expected recent or uniform"),
        };
        let equal_times = EqualTimes::Future;
        let sampler = Sampler { choice, neighbours: case.neighbours, equal_times, seed: 1 };
        let ends = store.src().iter().zip(store.dst()).zip(store.time());
        let moment = |vertex, time| Moment { vertex, time, before: EventId::MAX };
        let moments: Vec<Moment> =
            ends.flat_map(|((&src, &dst), &time)| [moment(src, time), moment(dst, time)]).collect();
        let newest = moments.iter().map(|moment| {
            let past = index.before(moment.vertex, moment.time).len();
            past - past.min(case.neighbours)..past
        });
        let newest = newest.collect();
        let sampled = Sampled::default();
        Self { store, index, sampler, newest, moments, batch: case.batch, sampled }
    }

    /// The batches of one part of the stream, as events.
    fn batches(&self, part: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (batch, events) = (self.batch, self.store.len());
        let batches = events.div_ceil(batch);
        (batches * part / PARTS..batches * (part + 1) / PARTS)
            .map(move |number| number * batch..events.min((number + 1) * batch))
    }

    /// Goes over a part of the stream; `look` gets what each batch sampled.
    fn go(&mut self, part: usize, mut look: impl FnMut(&Sampled)) {
        for events in self.batches(part) {
            let moments = &self.moments[2 * events.start..2 * events.end];
            self.sampler.sample(self.index, moments, 0, &mut self.sampled);
            look(&self.sampled);
        }
    }

    /// How many neighbours a pass samples, and a sum that tells which.
    pub(crate) fn checked(&mut self) -> (u64, u64) {
        let (mut count, mut checksum) = (0, 0_u64);
        for part in 0..PARTS {
            self.go(part, |sampled| {
                for (&event, &vertex) in sampled.event.iter().zip(&sampled.vertex) {
                    count += 1;
                    let value = (event + 1) ^ (u64::from(vertex) << 32);
                    checksum = checksum.wrapping_add(value.wrapping_mul(count));
                }
            });
        }
        (count, checksum)
    }

    /// The seconds of one part.
    pub(crate) fn timed(&mut self, part: usize) -> f64 {
        let start = Instant::now();
        self.go(part, |sampled| {
            std::hint::black_box(sampled);
        });
        start.elapsed().as_secs_f64()
    }

    /// The seconds that moving the bytes of one part takes: for every moment the newest entries of
    /// its vertex are copied, from places known beforehand, to where the sampler would put them. No
    /// search, no draw, no offsets.
    pub(crate) fn copied(&mut self, part: usize) -> f64 {
        let start = Instant::now();
        for events in self.batches(part) {
            let Sampled { vertex, event, time, .. } = &mut self.sampled;
            vertex.clear();
            event.clear();
            time.clear();
            let moments = 2 * events.start..2 * events.end;
            for (moment, newest) in self.moments[moments.clone()].iter().zip(&self.newest[moments])
            {
                let newest = self.index.of(moment.vertex).slice(newest.clone());
                vertex.extend_from_slice(newest.neighbours);
                time.extend_from_slice(newest.times);
                event.extend(newest.events());
            }
            std::hint::black_box(&mut self.sampled);
        }
        start.elapsed().as_secs_f64()
    }
}
