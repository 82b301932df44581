//! Which events make a batch.
//!
//! Batches are consecutive events in time order. With chunks (TGL's random chunk scheduling) the
//! boundaries move by a random multiple of `batch / chunks` events each epoch: dependencies inside a
//! batch are not seen, and moving boundaries lets other pairs of events fall into one batch.

use std::ops::Range;

use zoetrope_graph::random::Random;

/// The random stream of boundaries.
const STREAM: u32 = 0x6368_756e;

/// How a stream is cut into batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Events in a batch.
    pub(super) batch: usize,
    /// Equal pieces of a batch by which boundaries move; None where they stay.
    pub(super) chunks: Option<usize>,
    /// The seed of the moves.
    pub(super) seed: u64,
}

impl Schedule {
    /// The batches of an epoch over `events` events, as positions.
    pub(super) fn epoch(&self, events: usize, epoch: u32) -> Vec<Range<usize>> {
        let first = match self.chunks {
            Some(chunks) => {
                let place = Random::new(self.seed, STREAM).at_step(epoch).below(0, chunks as u64);
                (self.batch / chunks) * place as usize
            }
            None => 0,
        };
        let head = (first.min(events) > 0).then(|| 0..first.min(events));
        let rest = (first.min(events)..events).step_by(self.batch);
        head.into_iter().chain(rest.map(|from| from..(from + self.batch).min(events))).collect()
    }

    /// The batches of some events that are not trained on: boundaries stay.
    pub(super) fn fixed(&self, events: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let (batch, end) = (self.batch, events.end);
        events.step_by(batch).map(move |from| from..(from + batch).min(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_cover_every_event_once_in_order() {
        for chunks in [None, Some(1), Some(4), Some(7)] {
            let schedule = Schedule { batch: 21, chunks, seed: 3 };
            for (events, epoch) in [(0, 0), (1, 1), (20, 2), (21, 3), (100, 4), (100, 5)] {
                let batches = schedule.epoch(events, epoch);
                let all: Vec<usize> = batches.iter().cloned().flatten().collect();
                assert_eq!(all, (0..events).collect::<Vec<_>>(), "{chunks:?} {events} {epoch}");
                assert!(batches.iter().all(|batch| !batch.is_empty() && batch.len() <= 21));
            }
        }
    }

    #[test]
    fn chunks_move_the_boundaries_from_epoch_to_epoch() {
        let schedule = Schedule { batch: 20, chunks: Some(4), seed: 0 };
        let firsts: std::collections::BTreeSet<usize> =
            (0..40).map(|epoch| schedule.epoch(100, epoch)[0].end).collect();
        assert_eq!(firsts.into_iter().collect::<Vec<_>>(), [5, 10, 15, 20]);
    }
}
