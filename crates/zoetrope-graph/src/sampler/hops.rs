//! Several hops: the neighbours of neighbours, each asked at the time of the event that led to it.

use super::{Moment, Sampled, Sampler};
use crate::temporal_index::TemporalIndex;

/// The sampled events of several hops; buffers are reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct Hops {
    sampled: Vec<Sampled>,
    /// What each hop but the first asks.
    moments: Vec<Vec<Moment>>,
    hops: usize,
}

impl Hops {
    /// The sampled events of each hop. Those of the first belong to the moments that were asked;
    /// the moments of a further hop are the events of the one before it, in their order.
    pub fn sampled(&self) -> &[Sampled] {
        &self.sampled[..self.hops]
    }

    /// What hop `hop` asked, counted from 0; hop 0 asked what it was given.
    ///
    /// # Panics
    /// If `hop` is 0 or not below the number of hops.
    pub fn moments(&self, hop: usize) -> &[Moment] {
        assert!((1..self.hops).contains(&hop), "hop {hop} of {}", self.hops);
        &self.moments[hop - 1]
    }
}

impl Sampled {
    /// What the next hop asks: each sampled neighbour at the time of the event that led to it, with
    /// the cut-off of the moment that the event was sampled for. Replaces what `next` held.
    ///
    /// Under [`EqualTimes::Past`](super::EqualTimes::Past) the neighbour sees that very event too.
    ///
    /// # Panics
    /// If `moments` are not those that were sampled.
    pub fn next_moments(&self, moments: &[Moment], next: &mut Vec<Moment>) {
        assert_eq!(self.moments(), moments.len(), "the moments that were sampled");
        next.clear();
        next.reserve(self.len());
        for (number, moment) in moments.iter().enumerate() {
            let events = self.of(number);
            let ends = self.vertex[events.clone()].iter().zip(&self.time[events]);
            next.extend(ends.map(|(&vertex, &time)| Moment { vertex, time, ..*moment }));
        }
    }
}

impl Sampler {
    /// Samples `hops` hops: the neighbours of the moments, then the neighbours of those at the time
    /// of their event, and so on. Repeated questions are answered as often as they are asked.
    ///
    /// # Panics
    /// As [`sample`](Self::sample).
    pub fn sample_hops(
        &self,
        index: &TemporalIndex,
        moments: &[Moment],
        hops: usize,
        step: u32,
        into: &mut Hops,
    ) {
        into.hops = hops;
        if into.sampled.len() < hops {
            into.sampled.resize_with(hops, Sampled::default);
            into.moments.resize_with(hops.saturating_sub(1), Vec::new);
        }
        for hop in 0..hops {
            let (earlier, later) = into.moments.split_at_mut(hop);
            let asked = earlier.last().map_or(moments, |asked| asked);
            self.sample(index, asked, step, &mut into.sampled[hop]);
            if hop + 1 < hops {
                into.sampled[hop].next_moments(asked, &mut later[0]);
            }
        }
    }
}
