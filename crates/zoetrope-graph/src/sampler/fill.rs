//! Writing the sampled events to their places, in parallel without shared writes.

use std::ops::Range;

use super::{Choice, Moment, Sampler, uniform};
use crate::ids::{EventId, VertexId};
use crate::temporal_index::TemporalIndex;
use crate::time::Time;

/// Moments whose positions are drawn before any is read.
const GROUP: usize = 16;

/// Consecutive moments and the part of the result that is theirs.
pub(super) struct MomentRun<'a> {
    pub(super) moments: &'a [Moment],
    /// The position in the index at which the past of each moment ends.
    pub(super) ends: &'a [u64],
    /// Where the events of each moment begin in the whole result, and where the last end.
    pub(super) offsets: &'a [u32],
    pub(super) vertex: &'a mut [VertexId],
    pub(super) event: &'a mut [EventId],
    pub(super) time: &'a mut [Time],
}

impl<'a> MomentRun<'a> {
    fn halves(self) -> (Self, Self) {
        let middle = self.moments.len() / 2;
        let events = (self.offsets[middle] - self.offsets[0]) as usize;
        let moments = self.moments.split_at(middle);
        let ends = self.ends.split_at(middle);
        let vertex = self.vertex.split_at_mut(events);
        let event = self.event.split_at_mut(events);
        let time = self.time.split_at_mut(events);
        let part = |moments, ends, offsets: &'a [u32], vertex, event, time| Self {
            moments,
            ends,
            offsets,
            vertex,
            event,
            time,
        };
        (
            part(moments.0, ends.0, &self.offsets[..=middle], vertex.0, event.0, time.0),
            part(moments.1, ends.1, &self.offsets[middle..], vertex.1, event.1, time.1),
        )
    }
}

impl Sampler {
    /// Fills a part of the result, halving it among threads while it is longer than `grain`.
    pub(super) fn fill(&self, index: &TemporalIndex, step: u32, grain: usize, part: MomentRun<'_>) {
        if part.moments.len() > grain {
            let (left, right) = part.halves();
            rayon::join(
                || self.fill(index, step, grain, left),
                || self.fill(index, step, grain, right),
            );
            return;
        }
        match self.choice {
            Choice::Recent => recent(index, part),
            Choice::Uniform => self.uniform(index, step, part),
        }
    }

    /// Draws positions for some moments, then reads all of them: the reads, scattered as they are,
    /// wait for each other less if no draws stand between them.
    fn uniform(&self, index: &TemporalIndex, step: u32, part: MomentRun<'_>) {
        let MomentRun { moments, ends, offsets, vertex, event, time } = part;
        let groups = moments.chunks(GROUP).zip(ends.chunks(GROUP)).enumerate();
        for (group, (moments, ends)) in groups {
            let places = &offsets[group * GROUP..][..=moments.len()];
            for ((moment, &end), pair) in moments.iter().zip(ends).zip(places.windows(2)) {
                let place = (pair[0] - offsets[0]) as usize..(pair[1] - offsets[0]) as usize;
                let start = index.offsets()[moment.vertex as usize];
                // The places of the event numbers hold the positions, so that no buffer is needed.
                self.positions(step, moment, start..end, &mut event[place]);
            }
            let place =
                (places[0] - offsets[0]) as usize..(places[moments.len()] - offsets[0]) as usize;
            index.gather(&mut vertex[place.clone()], &mut event[place.clone()], &mut time[place]);
        }
    }

    /// As many distinct positions of `past` as there are places, ascending.
    fn positions(&self, step: u32, moment: &Moment, past: Range<u64>, places: &mut [u64]) {
        if (places.len() as u64) < past.end - past.start {
            let random = uniform::keyed(self.seed, step, moment);
            uniform::distinct(random, past.end - past.start, places);
            places.iter_mut().for_each(|position| *position += past.start);
        } else {
            places.iter_mut().zip(past).for_each(|(place, position)| *place = position);
        }
    }
}

/// The newest events of each moment.
fn recent(index: &TemporalIndex, part: MomentRun<'_>) {
    let MomentRun { ends, offsets, vertex, event, time, .. } = part;
    for (&end, pair) in ends.iter().zip(offsets.windows(2)) {
        let place = (pair[0] - offsets[0]) as usize..(pair[1] - offsets[0]) as usize;
        let newest = index.stretch(end as usize - place.len()..end as usize);
        vertex[place.clone()].copy_from_slice(newest.neighbours);
        time[place.clone()].copy_from_slice(newest.times);
        newest.copy_events(&mut event[place]);
    }
}
