//! Snapshots of which only sizes are known: enough to plan and to simulate, not to compute.

use std::ops::Range;
use std::sync::Arc;

use crate::error::GraphError;
use crate::made::SnapshotSource;
use crate::snapshot::SnapshotSequence;

/// The sizes of some snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotCounts {
    vertices: u32,
    edges: Vec<u64>,
    /// Edges of each snapshot that the one before it does not have.
    added: Vec<u64>,
    weighted: bool,
}

impl SnapshotCounts {
    /// Snapshots of that many edges, of which the ones before them do not have so many; those of the first are all its
    /// own.
    ///
    /// # Errors
    /// If the columns differ in length, or a snapshot has more new edges than edges, or shares more with the one before
    /// it than that has.
    pub fn new(
        vertices: u32,
        edges: Vec<u64>,
        mut added: Vec<u64>,
        weighted: bool,
    ) -> Result<Self, GraphError> {
        if edges.len() != added.len() {
            let (expected, got) = (edges.len(), added.len());
            return Err(GraphError::LengthMismatch { column: "added", expected, got });
        }
        if let (Some(first), Some(all)) = (added.first_mut(), edges.first()) {
            *first = *all;
        }
        for step in 1..edges.len() {
            let shared = edges[step].checked_sub(added[step]);
            if shared.is_none_or(|shared| shared > edges[step - 1]) {
                return Err(GraphError::BadParameter {
                    parameter: "added",
                    value: format!(
                        "{} of the {} edges of snapshot {step}",
                        added[step], edges[step]
                    ),
                    expected: "no more than there are, and no fewer than the one before it lacks",
                });
            }
        }
        Ok(Self { vertices, edges, added, weighted })
    }

    /// Whether edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// Edges of a snapshot that the one before it does not have; of the first, all.
    pub fn added(&self, step: usize) -> u64 {
        self.added[step]
    }

    /// Edges of the snapshot before one that it does not have itself; of the first, none.
    pub fn removed(&self, step: usize) -> u64 {
        let before = step.checked_sub(1).map_or(0, |before| self.edges[before]);
        before + self.added[step] - self.edges[step].min(before + self.added[step])
    }

    /// The sequence of these snapshots, or of one topology for `steps` snapshots if that is given.
    pub fn into_sequence(self, constant: Option<usize>) -> SnapshotSequence {
        let (vertices, edges) = (self.vertices, self.edges.clone());
        let made = SnapshotSequence::made_by(vertices, edges, Arc::new(self));
        match constant {
            Some(steps) => made.repeated(steps),
            None => made,
        }
    }
}

impl SnapshotSource for SnapshotCounts {
    fn make(&self, steps: Range<usize>) -> Result<SnapshotSequence, GraphError> {
        Err(GraphError::OnlyCounted { step: steps.start })
    }

    fn size(&self, step: usize) -> usize {
        self.edges[step] as usize
    }

    fn counts(&self) -> Option<&SnapshotCounts> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_and_removed_adds_up_to_the_edges_of_the_next_snapshot() {
        let counts = SnapshotCounts::new(9, vec![10, 12, 5], vec![0, 4, 0], false).unwrap();
        assert_eq!((counts.added(0), counts.removed(0)), (10, 0));
        assert_eq!((counts.added(1), counts.removed(1)), (4, 2));
        assert_eq!((counts.added(2), counts.removed(2)), (0, 7));
    }

    #[test]
    fn changes_that_cannot_be_are_refused() {
        assert!(SnapshotCounts::new(9, vec![10, 12], vec![0, 13], false).is_err());
        // Two of twelve are new: the ten others must all be of the first one, which has nine.
        assert!(SnapshotCounts::new(9, vec![9, 12], vec![0, 2], false).is_err());
        assert!(SnapshotCounts::new(9, vec![9], vec![0, 2], false).is_err());
    }

    #[test]
    fn a_sequence_of_sizes_tells_them_and_refuses_to_be_looked_at() {
        let counts = SnapshotCounts::new(9, vec![10, 12], vec![10, 2], true).unwrap();
        let changing = counts.clone().into_sequence(None);
        assert_eq!((changing.steps(), changing.stored_edges()), (2, 22));
        assert_eq!(changing.edges_at(1), 12);
        assert!(matches!(changing.keep(1), Err(GraphError::OnlyCounted { step: 1 })));
        assert_eq!(changing.counts().map(|counts| counts.added(1)), Some(2));
        let one = SnapshotCounts::new(9, vec![10], vec![10], true).unwrap();
        let constant = one.into_sequence(Some(7));
        assert!(constant.is_constant());
        assert_eq!((constant.steps(), constant.stored_edges(), constant.edges_at(6)), (7, 10, 10));
    }
}
