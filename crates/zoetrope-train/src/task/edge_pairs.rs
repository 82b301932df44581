//! Pairs on a tape: rows of stacked embeddings by the two ends of each pair.

use std::sync::Arc;

use zoetrope_nn::decoder::Ends;

use crate::sampling::Pairs;

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
}
