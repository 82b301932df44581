//! Which events make a batch.
//!
//! Batches are consecutive events in time order. All questions at the events of a batch are answered
//! before the state absorbs any of them. With chunks (TGL's random chunk scheduling) the boundaries
//! move by a random multiple of `batch / chunks` events each epoch: dependencies inside a batch are
//! not seen, and moving boundaries lets other pairs of events fall into one batch.
//!
//! Under `task.equal_times = "future"` a batch goes on to the end of the last time in it
//! ([`Schedule::whole_times`]), so that memory never knows an event of a question's own time. Where
//! a batch ends depends on events before that place alone: what a question sees would be the same
//! whatever happens at its time or later. (Rounding down to the last whole time would be smaller, but
//! whether a batch ended before a time would depend on how much happens at that time.)
//!
//! A time with very many events makes a large batch. It goes through the model in steps, each of them
//! fewer than twice the events that were asked for, so that memory stays bounded.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::Time;
use zoetrope_graph::random::Random;

/// The random stream of boundaries.
const STREAM: u32 = 0x6368_756e;

/// How a stream is cut into batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Events in a batch.
    pub(super) batch: usize,
    /// Equal pieces of a batch by which boundaries move; None if they stay.
    pub(super) chunks: Option<usize>,
    /// Whether a batch goes on to the end of the last time in it.
    pub(super) whole_times: bool,
    /// The seed of the moves.
    pub(super) seed: u64,
    /// The events of each batch of an epoch as a plan lists them; nothing if they are cut as above.
    pub(super) planned: Arc<[usize]>,
}

/// Consecutive events: all questions at them come before the state absorbs any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    /// The events, as positions.
    pub(super) events: Range<usize>,
    /// The steps in which they go through the model.
    steps: usize,
}

impl Batch {
    /// The events of each step: one step unless the batch is at least twice as large as asked for.
    pub(super) fn steps(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (start, count, steps) = (self.events.start, self.events.len(), self.steps);
        let place = move |step: usize| start + count * step / steps;
        (0..steps).map(move |step| place(step)..place(step + 1))
    }
}

impl Schedule {
    /// The batches of an epoch over `events` events, as positions; `time` tells the time at one.
    pub(super) fn epoch(
        &self,
        events: usize,
        epoch: u32,
        time: impl Fn(usize) -> Time,
    ) -> Vec<Batch> {
        let first = match self.chunks {
            Some(chunks) => {
                let place = Random::new(self.seed, STREAM).at_step(epoch).below(0, chunks as u64);
                (self.batch / chunks) * place as usize
            }
            None => return self.training(0..events, time),
        };
        self.cut(0..events, first, time)
    }

    /// The batches of some training events while boundaries do not move: as a plan lists them, if it does and
    /// they begin at a boundary.
    pub(super) fn training(
        &self,
        events: Range<usize>,
        time: impl Fn(usize) -> Time,
    ) -> Vec<Batch> {
        let mut end = 0;
        let ends = self.planned.iter().map(|events| {
            end += events;
            end
        });
        let ends: Vec<usize> = ends.collect();
        let begins = events.start == 0 || ends.contains(&events.start);
        if ends.is_empty() || !begins {
            return self.fixed(events, time);
        }
        let mut from = events.start;
        let inside = ends.into_iter().filter(|&end| end > events.start);
        let batches = inside.map_while(|end| {
            let batch = (from < events.end).then(|| self.batch_of(from..end.min(events.end)))?;
            from = end;
            Some(batch)
        });
        batches.collect()
    }

    fn batch_of(&self, events: Range<usize>) -> Batch {
        let steps = if self.whole_times { (events.len() / self.batch).max(1) } else { 1 };
        Batch { events, steps }
    }

    /// The batches of some events that are not trained on: boundaries do not move.
    pub(super) fn fixed(&self, events: Range<usize>, time: impl Fn(usize) -> Time) -> Vec<Batch> {
        self.cut(events, 0, time)
    }

    /// Cuts positions into batches. The first one has at least `first` events if that is not 0.
    fn cut(&self, all: Range<usize>, first: usize, time: impl Fn(usize) -> Time) -> Vec<Batch> {
        let mut batches = Vec::with_capacity(all.len() / self.batch + 2);
        let (mut from, mut size) = (all.start, if first > 0 { first } else { self.batch });
        while from < all.end {
            let mut end = (from + size).min(all.end);
            while self.whole_times && end < all.end && time(end) == time(end - 1) {
                end += 1;
            }
            batches.push(self.batch_of(from..end));
            (from, size) = (end, self.batch);
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid(batch: usize, chunks: Option<usize>) -> Schedule {
        Schedule { batch, chunks, whole_times: false, seed: 3, planned: Arc::default() }
    }

    #[test]
    fn batches_cover_every_event_once_in_order() {
        for chunks in [None, Some(1), Some(4), Some(7)] {
            let schedule = grid(21, chunks);
            for (events, epoch) in [(0, 0), (1, 1), (20, 2), (21, 3), (100, 4), (100, 5)] {
                let batches = schedule.epoch(events, epoch, |at| (at / 9) as Time);
                let all: Vec<usize> =
                    batches.iter().flat_map(|batch| batch.events.clone()).collect();
                assert_eq!(all, (0..events).collect::<Vec<_>>(), "{chunks:?} {events} {epoch}");
                assert!(batches.iter().all(|batch| (1..=21).contains(&batch.events.len())));
                assert!(batches.iter().all(|batch| batch.steps().eq([batch.events.clone()])));
            }
        }
    }

    #[test]
    fn chunks_move_the_boundaries_from_epoch_to_epoch() {
        let schedule = grid(20, Some(4));
        let end = |epoch| schedule.epoch(100, epoch, |at| at as Time)[0].events.end;
        let firsts: std::collections::BTreeSet<usize> = (0..40).map(end).collect();
        assert_eq!(firsts.into_iter().collect::<Vec<_>>(), [5, 10, 15, 20]);
    }

    /// If every event has a time of its own, the rule changes nothing.
    #[test]
    fn without_equal_times_batches_are_those_of_the_grid() {
        for chunks in [None, Some(4)] {
            let plain = grid(20, chunks);
            let whole = Schedule { whole_times: true, ..plain.clone() };
            for epoch in 0..5 {
                let time = |at: usize| at as Time * 7 - 100;
                assert_eq!(plain.epoch(133, epoch, time), whole.epoch(133, epoch, time));
            }
        }
    }

    /// Times of groups of these sizes.
    fn times(groups: &[usize]) -> Vec<Time> {
        let of = |(at, &size): (usize, &usize)| std::iter::repeat_n(3 * at as Time, size);
        groups.iter().enumerate().flat_map(of).collect()
    }

    #[test]
    fn batches_that_a_plan_lists_are_the_batches() {
        let sizes = [5, 30, 1, 4];
        let listed = Schedule { planned: sizes.into(), whole_times: true, ..grid(10, None) };
        let ranges = |batches: Vec<Batch>| -> Vec<Range<usize>> {
            batches.into_iter().map(|batch| batch.events).collect()
        };
        let time = |at: usize| at as Time;
        assert_eq!(ranges(listed.epoch(40, 0, time)), [0..5, 5..35, 35..36, 36..40]);
        assert_eq!(listed.epoch(40, 0, time)[1].steps().count(), 3);
        assert_eq!(ranges(listed.training(35..38, time)), [35..36, 36..38]);
        // Not a boundary of the plan: as the rule cuts them.
        assert_eq!(ranges(listed.training(7..20, time)), [7..17, 17..20]);
    }

    proptest! {
        #[test]
        fn no_batch_ends_inside_a_time_and_no_step_is_large(
            groups in prop::collection::vec(1_usize..60, 0..30),
            batch in 1_usize..25,
            chunks in prop::option::of(1_usize..5),
            epoch in 0_u32..4,
        ) {
            let times = times(&groups);
            let chunks = chunks.filter(|&chunks| chunks <= batch);
            let schedule = Schedule { batch, chunks, whole_times: true, seed: 1, planned: Arc::default() };
            let batches = schedule.epoch(times.len(), epoch, |at| times[at]);
            let steps: Vec<_> = batches.iter().flat_map(Batch::steps).collect();
            let all: Vec<usize> = steps.iter().cloned().flatten().collect();
            prop_assert_eq!(all, (0..times.len()).collect::<Vec<_>>());
            prop_assert!(steps.iter().all(|step| !step.is_empty() && step.len() < 2 * batch));
            for pair in batches.windows(2) {
                let end = pair[0].events.end;
                prop_assert_eq!(pair[1].events.start, end);
                prop_assert!(times[end - 1] < times[end], "a batch ends inside a time");
            }
            let smallest = batches.iter().rev().skip(1).rev().skip(usize::from(chunks.is_some()));
            prop_assert!(smallest.clone().all(|made| made.events.len() >= batch));
        }

        /// What comes at a time or after it does not move the batch that holds a question at that
        /// time: neither which batches end before it, nor where the last of them ends.
        #[test]
        fn the_past_alone_decides_where_batches_end(
            groups in prop::collection::vec(1_usize..40, 1..20),
            other in prop::collection::vec(1_usize..40, 0..20),
            keep in 0_usize..20,
            batch in 1_usize..25,
        ) {
            let keep = keep.min(groups.len());
            let past: usize = groups[..keep].iter().sum();
            let changed: Vec<usize> = groups[..keep].iter().chain(&other).copied().collect();
            let schedule = Schedule { batch, chunks: None, whole_times: true, seed: 0, planned: Arc::default() };
            let known = |groups: &[usize]| {
                let times = times(groups);
                let batches = schedule.fixed(0..times.len(), |at| times[at]);
                // The batches that are over before the time; the last one of a stream is over
                // because nothing follows it.
                let over = |batch: &Batch| batch.events.end <= past && batch.events.end < times.len();
                batches.into_iter().filter(over).collect::<Vec<_>>()
            };
            if past < changed.iter().sum() && past < groups.iter().sum() {
                prop_assert_eq!(known(&groups), known(&changed));
            }
        }

        /// Batches may be counted from the beginning of any of them.
        #[test]
        fn batches_that_begin_at_a_boundary_are_the_same(
            groups in prop::collection::vec(1_usize..40, 1..20),
            batch in 1_usize..25,
            at in 0_usize..10,
        ) {
            let times = times(&groups);
            let schedule = Schedule { batch, chunks: None, whole_times: true, seed: 0, planned: Arc::default() };
            let all = schedule.fixed(0..times.len(), |at| times[at]);
            let at = at.min(all.len() - 1);
            let rest = schedule.fixed(all[at].events.start..times.len(), |at| times[at]);
            prop_assert_eq!(&rest, &all[at..]);
        }
    }
}
