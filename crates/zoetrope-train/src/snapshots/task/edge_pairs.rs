//! Pairs on a tape: rows of stacked embeddings by the two ends of each pair.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_nn::decoder::Ends;
use zoetrope_tensor::{Gpu, Matrix};

use super::Questions;
use super::pairs_ahead::Drawn;
use crate::snapshots::sampling::Pairs;

/// Pairs of several snapshots, in buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct StackedPairs {
    /// The rows of both ends.
    pub(super) ends: Ends,
    /// The label of each pair.
    pub(super) labels: Vec<f32>,
}

impl StackedPairs {
    /// Forgets all pairs. The tape that read them must have been reset, or new buffers are made.
    pub(super) fn clear(&mut self) {
        // Not `make_mut`: it would copy the old pairs where a tape still holds them.
        for ends in [&mut self.ends.src, &mut self.ends.dst] {
            match Arc::get_mut(ends) {
                Some(ends) => ends.clear(),
                None => *ends = Arc::default(),
            }
        }
        self.labels.clear();
    }

    /// Appends the pairs of a snapshot whose embeddings begin at row `first`.
    pub(super) fn extend(&mut self, pairs: &Pairs, first: usize) {
        let first = first as u32;
        Arc::make_mut(&mut self.ends.src).extend(pairs.src.iter().map(|src| src + first));
        Arc::make_mut(&mut self.ends.dst).extend(pairs.dst.iter().map(|dst| dst + first));
        self.labels.extend_from_slice(&pairs.label);
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Bytes of two ends and a label for each pair, in lists that have up to twice the room because they
    /// grew.
    pub(super) fn held_bytes(&self) -> usize {
        2 * self.len() * (2 * size_of::<u32>() + size_of::<f32>())
    }
}

/// How many pairs each snapshot has, or what they weigh, which is the same in every epoch, counted once.
#[derive(Debug, Default)]
pub(super) struct PairCounts {
    of_step: HashMap<usize, f64>,
}

impl PairCounts {
    /// The pairs of some snapshots; `count` counts those of one.
    pub(super) fn of(&mut self, steps: Range<usize>, mut count: impl FnMut(usize) -> f64) -> f64 {
        let of = |step| *self.of_step.entry(step).or_insert_with(|| count(step));
        steps.map(of).sum()
    }
}

/// The most pairs that are placed, of all questions: some 64 MiB with the readers of their ends. More
/// pairs keep a GPU busy for longer than their launches take.
pub(super) const MOST_PLACED: usize = 1 << 20;

/// Pairs that lie on a GPU where recordings read them.
#[derive(Debug, Default)]
pub(super) struct PlacedPairs {
    of_steps: HashMap<Range<usize>, Placed>,
    count: usize,
}

/// The pairs of some questions.
#[derive(Debug)]
pub(super) struct Placed {
    /// The places of both ends: the rows are those of the first time.
    pub(super) ends: Ends,
    /// The labels, which do not change.
    pub(super) labels: Arc<Matrix>,
    epoch: u32,
}

impl PlacedPairs {
    /// Places the pairs of questions, over those of an earlier epoch. Returns false where they have
    /// no place.
    pub(super) fn put(&mut self, gpu: &Gpu, questions: &Questions, drawn: &Drawn) -> bool {
        let pairs = &drawn.pairs;
        if let Some(placed) = self.of_steps.get_mut(&questions.steps) {
            if placed.labels.as_slice() != pairs.labels {
                return false;
            }
            gpu.replace_rows(&placed.ends.src, &drawn.src);
            gpu.replace_rows(&placed.ends.dst, &drawn.dst);
            placed.epoch = questions.epoch;
            return true;
        }
        let count = pairs.len();
        if self.count + count > MOST_PLACED {
            return false;
        }
        let Ok(labels) = Matrix::from_slice(count, 1, &pairs.labels) else { return false };
        let [src, dst] = [&pairs.ends.src, &pairs.ends.dst].map(|ends| Arc::new(ends.to_vec()));
        gpu.place_rows(&src);
        gpu.place_rows(&dst);
        let (ends, labels) = (Ends { src, dst }, Arc::new(labels));
        gpu.resident_matrix(&labels);
        let placed = Placed { ends, labels, epoch: questions.epoch };
        self.of_steps.insert(questions.steps.clone(), placed);
        self.count += count;
        true
    }

    /// The pairs that were placed for these questions, in this epoch.
    pub(super) fn find(&self, questions: &Questions) -> Option<&Placed> {
        self.of_steps.get(&questions.steps).filter(|placed| placed.epoch == questions.epoch)
    }
}
