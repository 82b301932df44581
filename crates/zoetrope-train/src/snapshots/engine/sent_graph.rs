//! The snapshots of a rank as one sequence, so that a GPU gets them as it does those of a rank that has all:
//! piece by piece, or as differences.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_nn::{Adjacency, PreparedGraph};
use zoetrope_tensor::SparseMatrix;

/// Which snapshots a rank has in any piece of a run, and their matrices.
#[derive(Debug)]
pub(super) struct SentGraph {
    /// Ascending, counted from the start of the data.
    steps: Vec<usize>,
    graph: PreparedGraph,
}

impl SentGraph {
    /// The sequence of some snapshots, ascending, with `vertices` rows each. There is at least one.
    pub(super) fn new(
        vertices: usize,
        steps: Vec<usize>,
        forms: impl IntoIterator<Item = (Adjacency, Arc<[Arc<SparseMatrix>]>)>,
    ) -> Self {
        let graph = PreparedGraph::of_share(vertices, steps.len(), forms);
        Self { steps, graph }
    }

    /// All of them.
    pub(super) fn graph(&self) -> &PreparedGraph {
        &self.graph
    }

    /// Which they are.
    pub(super) fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// Some consecutive snapshots of the data, at least one; None if this does not have them all.
    pub(super) fn cut(&self, steps: Range<usize>) -> Option<PreparedGraph> {
        let first = self.steps.binary_search(&steps.start).ok()?;
        let range = first..first + steps.len();
        // Ascending without repetition: the ends tell.
        let last = self.steps.get(range.end - 1)?;
        (last + 1 == steps.end).then(|| self.graph.cut(range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_consecutive_snapshots_that_are_all_there_are_cut() {
        let sent = SentGraph::new(3, vec![2, 3, 4, 7, 8], []);
        let found = |steps: Range<usize>| sent.cut(steps).map(|graph| graph.steps());
        assert_eq!(found(2..5), Some(3));
        assert_eq!(found(7..9), Some(2));
        for missing in [1..3, 3..6, 4..8, 8..10] {
            assert_eq!(found(missing.clone()), None, "{missing:?}");
        }
    }
}
