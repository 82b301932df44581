//! Writing the sampled events to their places, in parallel without shared writes.

use super::{Choice, GRAIN, Moment, Sampler, uniform};
use crate::ids::{EventId, VertexId};
use crate::random::Random;
use crate::temporal_index::{TemporalIndex, TemporalView};
use crate::time::Time;

/// Consecutive moments and the part of the result that is theirs.
pub(super) struct Part<'a> {
    pub(super) moments: &'a [Moment],
    /// How many events each moment sees.
    pub(super) seen: &'a [u64],
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
        let seen = self.seen.split_at(middle);
        let vertex = self.vertex.split_at_mut(events);
        let event = self.event.split_at_mut(events);
        let time = self.time.split_at_mut(events);
        let part = |moments, seen, offsets: &'a [u32], vertex, event, time| Self {
            moments,
            seen,
            offsets,
            vertex,
            event,
            time,
        };
        (
            part(moments.0, seen.0, &self.offsets[..=middle], vertex.0, event.0, time.0),
            part(moments.1, seen.1, &self.offsets[middle..], vertex.1, event.1, time.1),
        )
    }
}

impl Sampler {
    /// Fills a part of the result, halving it among threads while it is large.
    pub(super) fn fill(&self, index: &TemporalIndex, step: u32, part: Part<'_>) {
        if part.moments.len() > GRAIN {
            let (left, right) = part.halves();
            rayon::join(|| self.fill(index, step, left), || self.fill(index, step, right));
            return;
        }
        let Part { moments, seen, offsets, vertex, event, time } = part;
        let first = offsets[0];
        for ((moment, &seen), ends) in moments.iter().zip(seen).zip(offsets.windows(2)) {
            let place = (ends[0] - first) as usize..(ends[1] - first) as usize;
            let (seen, taken) = (seen as usize, place.len());
            let vertex = &mut vertex[place.clone()];
            let event = &mut event[place.clone()];
            let time = &mut time[place];
            let all = index.of(moment.vertex);
            match self.choice {
                Choice::Uniform if taken < seen => {
                    let random = uniform::keyed(self.seed, step, moment);
                    drawn(all.slice(0..seen), random, vertex, event, time);
                }
                _ => {
                    let newest = all.slice(seen - taken..seen);
                    vertex.copy_from_slice(newest.neighbours);
                    time.copy_from_slice(newest.times);
                    newest.copy_events(event);
                }
            }
        }
    }
}

/// Draws as many distinct events as there are places.
fn drawn(
    past: TemporalView<'_>,
    random: Random,
    vertex: &mut [VertexId],
    event: &mut [EventId],
    time: &mut [Time],
) {
    // The places of the event numbers hold the positions first, so that no buffer is needed.
    uniform::distinct(random, past.len() as u64, event);
    for ((vertex, event), time) in vertex.iter_mut().zip(event).zip(time) {
        let position = *event as usize;
        *vertex = past.neighbours[position];
        *time = past.times[position];
        *event = past.event(position);
    }
}
