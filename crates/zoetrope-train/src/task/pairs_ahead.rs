//! Pairs that are drawn by threads of their own, ahead of their use.
//!
//! Which pairs a frame asks about is a function of seed, epoch and snapshot, so that nothing has to
//! happen before they are drawn. To draw them takes the host longer than a card takes for the rest
//! of a frame: every snapshot's links are looked through.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use zoetrope_graph::SnapshotSequence;
use zoetrope_tensor::cuda::OtherRows;

use super::Questions;
use super::edge_pairs::StackedPairs;
use crate::sampling::{DrawKey, LinkSampler, LinkSampling, Pairs};

/// Frames that are drawn ahead, each by a thread: most of it is done one after the other.
pub(crate) const FRAMES_AHEAD: usize = 4;

/// The pairs that the loss of some questions asks about, ready to be placed.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) pairs: StackedPairs,
    /// The rows of both ends, with their readers.
    pub(super) src: OtherRows,
    pub(super) dst: OtherRows,
}

/// An order of pairs, and where to send them.
type Order = (Questions, Sender<Drawn>);

/// Draws pairs on threads that live as long as this.
#[derive(Debug)]
pub(super) struct PairsAhead {
    sequence: Arc<SnapshotSequence>,
    sampling: LinkSampling,
    /// Where orders go; None until the first.
    orders: Option<Sender<Order>>,
    pending: VecDeque<(Questions, Receiver<Drawn>)>,
}

impl PairsAhead {
    pub(super) fn new(sequence: &Arc<SnapshotSequence>, sampling: LinkSampling) -> Self {
        let sequence = Arc::clone(sequence);
        Self { sequence, sampling, orders: None, pending: VecDeque::new() }
    }

    /// Begins to draw, unless that has begun.
    pub(super) fn foresee(&mut self, questions: &Questions) {
        if self.pending.iter().any(|(known, _)| known == questions) {
            return;
        }
        let (sequence, sampling) = (&self.sequence, self.sampling);
        let orders = self.orders.get_or_insert_with(|| start(sequence, sampling));
        let (answer, drawn) = mpsc::channel();
        if orders.send((questions.clone(), answer)).is_ok() {
            self.pending.push_back((questions.clone(), drawn));
        }
        // What was foreseen and did not come about.
        while self.pending.len() > 2 * FRAMES_AHEAD {
            self.pending.pop_front();
        }
    }

    /// The pairs, drawn now where they were not foreseen.
    pub(super) fn take(&mut self, questions: &Questions) -> Drawn {
        let known = self.pending.iter().position(|(known, _)| known == questions);
        let foreseen = known.and_then(|at| self.pending.drain(..=at).next_back());
        let drawn = foreseen.and_then(|(_, drawn)| drawn.recv().ok());
        drawn.unwrap_or_else(|| draw(&self.sequence, self.sampling, questions))
    }
}

/// Starts the threads, which end when nobody can order anything any more.
fn start(sequence: &Arc<SnapshotSequence>, sampling: LinkSampling) -> Sender<Order> {
    let (orders, asked) = mpsc::channel::<Order>();
    let asked = Arc::new(Mutex::new(asked));
    for _ in 0..FRAMES_AHEAD {
        let (sequence, asked) = (Arc::clone(sequence), Arc::clone(&asked));
        std::thread::spawn(move || {
            let next = || asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
            while let Ok((questions, answer)) = next() {
                // Who asked may have gone on without.
                answer.send(draw(&sequence, sampling, &questions)).ok();
            }
        });
    }
    orders
}

fn draw(sequence: &SnapshotSequence, sampling: LinkSampling, questions: &Questions) -> Drawn {
    let of_steps: Vec<Pairs> = (questions.steps.clone().into_par_iter())
        .map_init(
            || LinkSampler::new(sampling),
            |sampler, step| {
                let (mut pairs, key) =
                    (Pairs::default(), DrawKey::training(questions.epoch, step as u32));
                sampler.fill(sequence.at(step + 1), key, &mut pairs);
                pairs
            },
        )
        .collect();
    let mut pairs = StackedPairs::default();
    for (at, of_step) in of_steps.iter().enumerate() {
        pairs.extend(of_step, at * sequence.vertices() as usize);
    }
    let (src, dst) =
        rayon::join(|| OtherRows::new(&pairs.ends.src), || OtherRows::new(&pairs.ends.dst));
    Drawn { pairs, src, dst }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::NegativeEnds;

    #[test]
    fn pairs_are_the_same_whether_they_were_foreseen_or_not() {
        let (src, dst): (Vec<u32>, Vec<u32>) =
            (0..90).map(|edge| (edge * 7 % 20, edge * 11 % 19)).unzip();
        let graph = SnapshotSequence::new(20, vec![0, 30, 60, 60, 90], src, dst, None).unwrap();
        let (graph, ends) = (Arc::new(graph), NegativeEnds::Both);
        let sampling = LinkSampling { theta: 0.5, negatives: 2, ends, seed: 4 };
        let mut ahead = PairsAhead::new(&graph, sampling);
        let asked = |epoch, steps| Questions { steps, epoch };
        let order = [asked(0, 0..2), asked(0, 1..3), asked(1, 0..2), asked(1, 0..3)];
        order.iter().for_each(|questions| ahead.foresee(questions));
        // The second is never asked for, the first one twice.
        for questions in [&order[0], &order[2], &order[3], &order[0]] {
            let (found, expected) = (ahead.take(questions), draw(&graph, sampling, questions));
            assert!(found.pairs.len() > 0);
            assert_eq!(found.pairs.ends.src, expected.pairs.ends.src, "{questions:?}");
            assert_eq!(found.pairs.ends.dst, expected.pairs.ends.dst, "{questions:?}");
            assert_eq!(found.pairs.labels, expected.pairs.labels, "{questions:?}");
        }
        assert!(ahead.pending.is_empty());
    }
}
