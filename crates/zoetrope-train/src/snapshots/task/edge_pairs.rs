//! Pairs on a tape: rows of stacked embeddings by the two ends of each pair.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_nn::decoder::Ends;

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
        // Not `make_mut`: it would copy the old pairs if a tape still holds them.
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
