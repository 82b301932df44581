//! In which order the questions of batches are asked and their events absorbed.
//!
//! A batch whose questions fit is one piece, and the state absorbs it from the same pass. Otherwise
//! all its questions come first, in several pieces, and the state absorbs its events afterwards,
//! step by step, in passes without questions. Replay absorbs the same steps in the same order, so
//! that it leaves the same memory.

use std::ops::Range;

use super::schedule::Batch;

/// What goes through the model at once, as positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The events that are asked about; none if events are absorbed only.
    pub(super) asked: Range<usize>,
    /// The events that the state absorbs after it: those asked about, or others, or none.
    pub(super) absorbed: Range<usize>,
    /// The first event of the batch.
    pub(super) first: usize,
    /// Whether the questions of a step end with it.
    pub(super) ends_questions: bool,
    /// Whether a step ends with it: all of its questions are answered, and if it was the last of its
    /// batch, the state has absorbed the batch.
    pub(super) ends_step: bool,
}

impl Piece {
    /// Whether the state absorbs the very events that are asked about, from the same pass.
    pub(super) fn absorbs_what_it_asks(&self) -> bool {
        !self.asked.is_empty() && !self.absorbed.is_empty()
    }
}

/// The pieces of some batches, at most `most` events being asked about at once.
pub(super) fn pieces(batches: &[Batch], most: usize) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(batches.len());
    for batch in batches {
        let (first, end) = (batch.events.start, batch.events.end);
        let none = end..end;
        let steps: Vec<Range<usize>> = batch.steps().collect();
        if steps.len() == 1 && batch.events.len() <= most {
            let (asked, absorbed) = (batch.events.clone(), batch.events.clone());
            pieces.push(Piece { asked, absorbed, first, ends_questions: true, ends_step: true });
            continue;
        }
        for step in &steps {
            for from in step.clone().step_by(most) {
                let asked = from..from.saturating_add(most).min(step.end);
                let ends_questions = asked.end == step.end;
                // The last step of a batch ends when the batch is absorbed.
                let ends_step = ends_questions && asked.end < end;
                let absorbed = none.clone();
                pieces.push(Piece { asked, absorbed, first, ends_questions, ends_step });
            }
        }
        pieces.extend(steps.into_iter().map(|absorbed| Piece {
            asked: none.clone(),
            ends_step: absorbed.end == end,
            absorbed,
            first,
            ends_questions: false,
        }));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::schedule::Schedule;
    use super::*;

    proptest! {
        /// Whatever the sizes: each event is asked about once and absorbed once, in order, and none
        /// is absorbed before all questions of its batch are asked.
        #[test]
        fn all_questions_of_a_batch_come_before_the_state_absorbs_it(
            groups in prop::collection::vec(1_usize..50, 1..20),
            batch in 1_usize..25,
            most in prop::option::of(1_usize..30),
            whole_times: bool,
        ) {
            let of = |(at, &size): (usize, &usize)| std::iter::repeat_n(at as i64, size);
            let times: Vec<i64> = groups.iter().enumerate().flat_map(of).collect();
            let schedule = Schedule { batch, chunks: None, whole_times, seed: 0, planned: Default::default() };
            let batches = schedule.fixed(0..times.len(), |at| times[at]);
            let most = most.unwrap_or(usize::MAX);
            let made = pieces(&batches, most);
            let events: Vec<usize> = (0..times.len()).collect();
            let asked: Vec<usize> = made.iter().flat_map(|piece| piece.asked.clone()).collect();
            let absorbed: Vec<usize> =
                made.iter().flat_map(|piece| piece.absorbed.clone()).collect();
            prop_assert_eq!(&asked, &events);
            prop_assert_eq!(&absorbed, &events);
            let mut known = 0;
            for piece in &made {
                prop_assert!(piece.asked.len() <= most && piece.asked.len() < 2 * batch);
                for event in piece.asked.clone() {
                    prop_assert_eq!(piece.first, known, "memory is that before the batch");
                    if whole_times {
                        prop_assert!(known == 0 || times[known - 1] < times[event]);
                    }
                }
                known = known.max(piece.absorbed.end * usize::from(!piece.absorbed.is_empty()));
            }
            let steps: usize = batches.iter().map(|batch| batch.steps().count()).sum();
            prop_assert_eq!(made.iter().filter(|piece| piece.ends_step).count(), steps);
            prop_assert_eq!(made.iter().filter(|piece| piece.ends_questions).count(), steps);
        }
    }
}
