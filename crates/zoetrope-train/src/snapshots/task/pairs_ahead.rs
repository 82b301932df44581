//! Pairs that are drawn by threads of their own, ahead of their use.
//!
//! Which pairs a frame asks about is a function of seed, epoch and snapshot, so that nothing has to
//! happen before they are drawn. To draw them and to sort their readers takes one thread longer than a
//! GPU takes for the rest of a small frame, so that several frames are drawn side by side.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use zoetrope_graph::SnapshotSequence;
use zoetrope_tensor::cuda::OtherRows;

use super::Questions;
use super::edge_pairs::StackedPairs;
use crate::snapshots::sampling::{DrawKey, LinkSampler, LinkSampling, Pairs};

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

/// What pairs are drawn from, shared by the threads.
#[derive(Debug)]
struct Targets {
    sequence: Arc<SnapshotSequence>,
    sampling: LinkSampling,
}

/// Draws pairs on threads that live as long as this.
#[derive(Debug)]
pub(super) struct PairsAhead {
    targets: Arc<Targets>,
    /// Where orders go; None until the first.
    orders: Option<Sender<Order>>,
    pending: VecDeque<(Questions, Receiver<Drawn>)>,
}

impl PairsAhead {
    pub(super) fn new(sequence: &Arc<SnapshotSequence>, sampling: LinkSampling) -> Self {
        let targets = Arc::new(Targets { sequence: Arc::clone(sequence), sampling });
        Self { targets, orders: None, pending: VecDeque::new() }
    }

    /// Begins to draw, unless that has begun; by `threads` threads, if they are not there yet.
    pub(super) fn draw_ahead(&mut self, questions: &Questions, threads: usize) {
        if self.pending.iter().any(|(known, _)| known == questions) {
            return;
        }
        let orders = self.orders.get_or_insert_with(|| start(&self.targets, threads));
        let (answer, drawn) = mpsc::channel();
        if orders.send((questions.clone(), answer)).is_ok() {
            self.pending.push_back((questions.clone(), drawn));
        }
        // What was drawn ahead and never asked for.
        while self.pending.len() > 2 * threads.max(1) {
            self.pending.pop_front();
        }
    }

    /// The pairs, drawn now if they were not drawn ahead.
    pub(super) fn take(&mut self, questions: &Questions) -> Drawn {
        let known = self.pending.iter().position(|(known, _)| known == questions);
        let ahead = known.and_then(|at| self.pending.drain(..=at).next_back());
        let drawn = ahead.and_then(|(_, drawn)| drawn.recv().ok());
        drawn.unwrap_or_else(|| self.targets.drawer().draw(questions))
    }
}

/// Starts the threads, which end when nobody can order anything any more.
fn start(targets: &Arc<Targets>, threads: usize) -> Sender<Order> {
    let (orders, asked) = mpsc::channel::<Order>();
    let asked = Arc::new(Mutex::new(asked));
    for _ in 0..threads {
        let (targets, asked) = (Arc::clone(targets), Arc::clone(&asked));
        std::thread::spawn(move || {
            let mut drawer = targets.drawer();
            let next = || asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
            while let Ok((questions, answer)) = next() {
                // Who asked may have gone on without.
                answer.send(drawer.draw(&questions)).ok();
            }
        });
    }
    orders
}

impl Targets {
    fn drawer(&self) -> Drawer<'_> {
        Drawer {
            targets: self,
            sampler: LinkSampler::new(self.sampling),
            of_step: Pairs::default(),
        }
    }
}

/// Who draws, with memory that is used again.
struct Drawer<'a> {
    targets: &'a Targets,
    sampler: LinkSampler,
    of_step: Pairs,
}

impl Drawer<'_> {
    fn draw(&mut self, questions: &Questions) -> Drawn {
        let sequence = &self.targets.sequence;
        let mut pairs = StackedPairs::default();
        for (at, step) in questions.steps.clone().enumerate() {
            let key = DrawKey::training(questions.epoch, step as u32);
            self.sampler.fill(sequence.at(step + 1), key, &mut self.of_step);
            pairs.extend(&self.of_step, at * sequence.vertices() as usize);
        }
        let [src, dst] = [&pairs.ends.src, &pairs.ends.dst].map(OtherRows::new);
        Drawn { pairs, src, dst }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshots::sampling::NegativeEnds;

    /// The pairs of each snapshot, drawn by a sampler of its own.
    fn by_snapshots(
        graph: &SnapshotSequence,
        sampling: LinkSampling,
        questions: &Questions,
    ) -> StackedPairs {
        let mut stacked = StackedPairs::default();
        for (at, step) in questions.steps.clone().enumerate() {
            let (mut pairs, key) =
                (Pairs::default(), DrawKey::training(questions.epoch, step as u32));
            LinkSampler::new(sampling).fill(graph.at(step + 1), key, &mut pairs);
            stacked.extend(&pairs, at * graph.vertices() as usize);
        }
        stacked
    }

    #[test]
    fn pairs_are_the_same_whether_they_were_drawn_ahead_or_not() {
        let (src, dst): (Vec<u32>, Vec<u32>) =
            (0..90).map(|edge| (edge * 7 % 20, edge * 11 % 19)).unzip();
        let graph = SnapshotSequence::new(20, vec![0, 30, 60, 60, 90], src, dst, None).unwrap();
        let (graph, ends) = (Arc::new(graph), NegativeEnds::Both);
        let sampling = LinkSampling { theta: 0.5, negatives: 2, ends, seed: 4 };
        let mut ahead = PairsAhead::new(&graph, sampling);
        let asked = |epoch, steps| Questions { steps, epoch };
        let order = [asked(0, 0..2), asked(0, 1..3), asked(1, 0..2), asked(1, 0..3)];
        order.iter().for_each(|questions| ahead.draw_ahead(questions, 4));
        // The second is never asked for, the first one twice.
        for questions in [&order[0], &order[2], &order[3], &order[0]] {
            let found = ahead.take(questions);
            let expected = by_snapshots(&graph, sampling, questions);
            assert!(found.pairs.len() > 0);
            assert_eq!(found.pairs.ends.src, expected.ends.src, "{questions:?}");
            assert_eq!(found.pairs.ends.dst, expected.ends.dst, "{questions:?}");
            assert_eq!(found.pairs.labels, expected.labels, "{questions:?}");
        }
        assert!(ahead.pending.is_empty());
    }
}
