//! Writing the sampled events to their places, in parallel without shared writes.

use super::{Choice, Moment, Sampler, uniform};
use crate::ids::{EventId, VertexId};
use crate::random::Random;
use crate::temporal_index::{TemporalIndex, TemporalView};
use crate::time::Time;

/// Consecutive moments and the part of the result that is theirs.
pub(super) struct Part<'a> {
    pub(super) moments: &'a [Moment],
    /// The position in the index at which the past of each moment ends.
    pub(super) ends: &'a [u64],
    /// Where the events of each moment begin in the whole result, and where the last end.
    pub(super) offsets: &'a [u32],
    pub(super) vertex: &'a mut [VertexId],
    pub(super) event: &'a mut [EventId],
    pub(super) time: &'a mut [Time],
}

impl<'a> Part<'a> {
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
    pub(super) fn fill(&self, index: &TemporalIndex, step: u32, grain: usize, part: Part<'_>) {
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

    fn uniform(&self, index: &TemporalIndex, step: u32, part: Part<'_>) {
        let Part { moments, ends, offsets, vertex, event, time } = part;
        for ((moment, &end), places) in moments.iter().zip(ends).zip(offsets.windows(2)) {
            let place = (places[0] - offsets[0]) as usize..(places[1] - offsets[0]) as usize;
            let start = index.offsets()[moment.vertex as usize] as usize;
            let past = index.stretch(start..end as usize);
            let into = (&mut vertex[place.clone()], &mut event[place.clone()], &mut time[place]);
            if into.0.len() < past.len() {
                drawn(past, uniform::keyed(self.seed, step, moment), into);
            } else {
                copied(past, into);
            }
        }
    }
}

/// The places of one moment's events: other ends, numbers, times.
type Places<'a> = (&'a mut [VertexId], &'a mut [EventId], &'a mut [Time]);

/// The newest events of each moment.
fn recent(index: &TemporalIndex, part: Part<'_>) {
    let Part { ends, offsets, vertex, event, time, .. } = part;
    for (&end, places) in ends.iter().zip(offsets.windows(2)) {
        let place = (places[0] - offsets[0]) as usize..(places[1] - offsets[0]) as usize;
        let newest = index.stretch(end as usize - place.len()..end as usize);
        copied(newest, (&mut vertex[place.clone()], &mut event[place.clone()], &mut time[place]));
    }
}

#[inline(always)]
fn copied(events: TemporalView<'_>, (vertex, event, time): Places<'_>) {
    vertex.copy_from_slice(events.neighbours);
    time.copy_from_slice(events.times);
    events.copy_events(event);
}

/// Draws as many distinct events as there are places.
fn drawn(past: TemporalView<'_>, random: Random, (vertex, event, time): Places<'_>) {
    // The places of the event numbers hold the positions first, so that no buffer is needed.
    uniform::distinct(random, past.len() as u64, event);
    for ((vertex, event), time) in vertex.iter_mut().zip(event).zip(time) {
        let position = *event as usize;
        *vertex = past.neighbours[position];
        *time = past.times[position];
        *event = past.event(position);
    }
}
