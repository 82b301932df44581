//! Sampling neighbours in time: which events of a vertex a question at a moment may see, and which
//! of them it reads.
//!
//! A [`Moment`] sees the events of its vertex that lie before its time, strictly unless
//! [`EqualTimes::Past`] says otherwise, and that are numbered below its cut-off. Times are compared
//! as the 64-bit integers that they are. Of what a moment sees the [`Sampler`] takes the newest
//! ([`Choice::Recent`]) or distinct events drawn evenly ([`Choice::Uniform`]), always in ascending
//! order of time, equal times in stream order.
//!
//! Results depend neither on the number of threads nor on which moments are asked together: a draw
//! is a function of (seed, step, vertex, time, slot). Once the buffers of a [`Sampled`] have grown
//! to a batch's size nothing is allocated.
//!
//! Floor: for each neighbour 16 bytes read (other end, event, time) and 20 written. A loop that
//! only copies them, from places known beforehand, takes 21 to 22 ns a moment. Measured on
//! sx-mathoverflow (both ends of every event, 9.0 neighbours a moment, one core of an AMD EPYC with
//! other work beside it, 15 November 2026, `bench/sampler`): recent 72 ns a moment, 123 to 125
//! million neighbours a second, 29 to 30 % of the floor; the binary searches are most of the rest.
//! Uniform 29 to 30 million a second: ten draws, and thirty scattered reads for three stretches.
//!
//! It does not find duplicates and keeps no state between calls.

use rayon::prelude::*;

use crate::ids::{EventId, VertexId};
use crate::temporal_index::TemporalIndex;
use crate::time::Time;

mod fill;
mod hops;
mod search;
mod uniform;

pub use hops::Hops;

/// Moments that one thread works through without handing on, about 50 µs of work.
const MOMENTS_OF_A_TASK: usize = 1024;
/// Calls with fewer moments stay on the thread that makes them: waking others takes longer.
const PARALLEL_MOMENTS_MIN: usize = 4 * MOMENTS_OF_A_TASK;

/// Which of the events before a moment are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The newest.
    #[default]
    Recent,
    /// Distinct events, each with the same chance; all of them if there are few.
    Uniform,
}

/// How events at the time of the question itself count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EqualTimes {
    /// Not past: the question does not see it.
    #[default]
    Future,
    /// Past: the question sees it.
    Past,
}

/// A question to the past of a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment {
    /// Whose neighbours are asked for.
    pub vertex: VertexId,
    /// When: only events before this time are seen.
    pub time: Time,
    /// Only events numbered below this are seen; [`EventId::MAX`] for no cut-off.
    pub before: EventId,
}

/// How neighbours are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// Which events are taken.
    pub choice: Choice,
    /// How many events a moment gets at most.
    pub neighbours: usize,
    /// How events at the moment's own time count.
    pub equal_times: EqualTimes,
    /// The seed of the draws.
    pub seed: u64,
}

/// The sampled events of some moments, moment by moment, ascending in time within each.
#[derive(Debug, Clone, Default)]
pub struct Sampled {
    /// Where the events of each moment begin, and the end of the last: `moments + 1` positions.
    pub offsets: Vec<u32>,
    /// The other end of each event.
    pub vertex: Vec<VertexId>,
    /// The number of each event in the stream.
    pub event: Vec<EventId>,
    /// The time of each event.
    pub time: Vec<Time>,
    /// The position in the index at which the past of each moment ends.
    ends: Vec<u64>,
}

impl PartialEq for Sampled {
    fn eq(&self, other: &Self) -> bool {
        self.offsets == other.offsets
            && self.vertex == other.vertex
            && self.event == other.event
            && self.time == other.time
    }
}

impl Eq for Sampled {}

impl Sampled {
    /// The number of moments.
    pub fn moments(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The number of sampled events.
    pub fn len(&self) -> usize {
        self.event.len()
    }

    /// Whether no moment has an event.
    pub fn is_empty(&self) -> bool {
        self.event.is_empty()
    }

    /// The positions of the events of one moment.
    ///
    /// # Panics
    /// If `moment` is not below [`moments`](Self::moments).
    pub fn of(&self, moment: usize) -> std::ops::Range<usize> {
        self.offsets[moment] as usize..self.offsets[moment + 1] as usize
    }
}

impl Sampler {
    /// Samples the neighbours of every moment; what `sampled` held is replaced and its buffers are
    /// kept. `step` (an epoch, say) makes other draws from the same seed.
    ///
    /// # Panics
    /// If a moment names a vertex that the index does not have, or if the result has 2^32
    /// events or more.
    pub fn sample(
        &self,
        index: &TemporalIndex,
        moments: &[Moment],
        step: u32,
        sampled: &mut Sampled,
    ) {
        if moments.len() < PARALLEL_MOMENTS_MIN || rayon::current_num_threads() == 1 {
            return self.sample_on::<false>(index, moments, step, sampled);
        }
        // Enters the pool once, if the caller is not one of its threads.
        rayon::scope(|_| self.sample_on::<true>(index, moments, step, sampled));
    }

    fn sample_on<const THREADS: bool>(
        &self,
        index: &TemporalIndex,
        moments: &[Moment],
        step: u32,
        sampled: &mut Sampled,
    ) {
        let Sampled { offsets, vertex, event, time, ends } = sampled;
        ends.resize(moments.len(), 0);
        offsets.resize(moments.len() + 1, 0);
        offsets[0] = 0;
        let counts = &mut offsets[1..];
        let grain = if THREADS { MOMENTS_OF_A_TASK } else { moments.len().max(1) };
        if THREADS {
            moments
                .par_chunks(grain)
                .zip(ends.par_chunks_mut(grain))
                .zip(counts.par_chunks_mut(grain))
                .for_each(|((moments, ends), counts)| self.count(index, moments, ends, counts));
        } else {
            self.count(index, moments, ends, counts);
        }
        let mut total = 0_u64;
        for count in counts {
            total += u64::from(*count);
            *count = total as u32;
        }
        assert!(u32::try_from(total).is_ok(), "{total} sampled events in one call");
        let total = total as usize;
        vertex.resize(total, 0);
        event.resize(total, 0);
        time.resize(total, 0);
        let whole = fill::MomentRun { moments, ends, offsets, vertex, event, time };
        self.fill(index, step, grain, whole);
    }

    /// Where the past of each moment ends, and how many events it gets.
    fn count(
        &self,
        index: &TemporalIndex,
        moments: &[Moment],
        ends: &mut [u64],
        counts: &mut [u32],
    ) {
        match self.equal_times {
            EqualTimes::Future => search::ends::<false>(index, moments, ends),
            EqualTimes::Past => search::ends::<true>(index, moments, ends),
        }
        let most = self.neighbours.min(u32::MAX as usize) as u64;
        for ((moment, end), count) in moments.iter().zip(ends).zip(counts) {
            let seen = *end - index.offsets()[moment.vertex as usize];
            *count = seen.min(most) as u32;
        }
    }
}

#[cfg(test)]
mod tests;
