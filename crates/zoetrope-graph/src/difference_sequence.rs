//! A sequence of snapshots as full snapshots and differences, in blocks of the timeline.
//!
//! ESDG processes the timeline in blocks of `block_steps` snapshots: the first of a block is sent
//! plainly, each other as a [`Difference`] to the one before it, so `(block_steps - 1) /
//! block_steps` of the snapshots profit (§3.2, §6.2). Blocks do not depend on each other.

use rayon::prelude::*;

use crate::difference::Difference;
use crate::edges::Edges;
use crate::encoding::Encoding;
use crate::error::GraphError;
use crate::ranges::Ranges;
use crate::snapshot::SnapshotSequence;

/// A sequence in blocks of one full snapshot and differences.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceSequence {
    vertices: u32,
    block_steps: usize,
    blocks: Vec<DifferenceBlock>,
}

/// Consecutive snapshots: the first in full, each other as a difference to the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct DifferenceBlock {
    first: Edges,
    differences: Vec<Difference>,
}

impl DifferenceBlock {
    /// The first snapshot.
    pub fn first(&self) -> &Edges {
        &self.first
    }

    /// How each later snapshot differs from the one before it.
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// All snapshots of the block.
    ///
    /// # Errors
    /// Never for a block that a [`DifferenceSequence`] made.
    pub fn reconstruct(&self) -> Result<Vec<Edges>, GraphError> {
        let mut snapshots = vec![self.first.clone()];
        for difference in &self.differences {
            let next = difference.apply(snapshots[snapshots.len() - 1].view())?;
            snapshots.push(next);
        }
        Ok(snapshots)
    }
}

/// Bytes that a sequence needs in the plain form and as differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DifferenceBytes {
    /// Every snapshot as (index, value) pairs.
    pub plain: u64,
    /// The first of each block plainly, the others by the paper's account of a difference.
    pub paper: u64,
    /// As `paper`, with one position instead of a pair for each removed edge: what is held.
    pub held: u64,
}

impl DifferenceSequence {
    /// Takes the differences of a sequence in blocks of `block_steps` snapshots, in parallel.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] where `block_steps` is 0; [`GraphError::TooMany`] where a
    /// snapshot has more edges than 32 bits can name.
    pub fn new(sequence: &SnapshotSequence, block_steps: usize) -> Result<Self, GraphError> {
        if block_steps == 0 {
            return Err(GraphError::BadParameter {
                parameter: "block_steps",
                value: block_steps.to_string(),
                expected: "at least 1",
            });
        }
        let starts: Vec<usize> = (0..sequence.steps()).step_by(block_steps).collect();
        let block = |start: usize| {
            let end = start.saturating_add(block_steps).min(sequence.steps());
            let differences: Result<Vec<_>, _> = (start + 1..end)
                .into_par_iter()
                .map(|step| Difference::between(sequence.at(step - 1), sequence.at(step)))
                .collect();
            let first = Edges::from(sequence.at(start));
            Ok(DifferenceBlock { first, differences: differences? })
        };
        let blocks: Result<Vec<_>, GraphError> = starts.into_par_iter().map(block).collect();
        Ok(Self { vertices: sequence.vertices(), block_steps, blocks: blocks? })
    }

    /// Snapshots in a block; the last may have fewer.
    pub fn block_steps(&self) -> usize {
        self.block_steps
    }

    /// The blocks in time order.
    pub fn blocks(&self) -> &[DifferenceBlock] {
        &self.blocks
    }

    /// All snapshots again, bit for bit; window boundaries are not part of a difference.
    ///
    /// # Errors
    /// Never for differences that [`new`](Self::new) made.
    pub fn reconstruct(&self) -> Result<SnapshotSequence, GraphError> {
        let blocks: Result<Vec<_>, _> =
            self.blocks.par_iter().map(DifferenceBlock::reconstruct).collect();
        let snapshots: Vec<Edges> = blocks?.into_iter().flatten().collect();
        Ok(join(self.vertices, &snapshots))
    }

    /// What the sequence costs to send, plainly and as differences.
    pub fn bytes(&self, encoding: Encoding) -> DifferenceBytes {
        let mut bytes = DifferenceBytes { plain: 0, paper: 0, held: 0 };
        for block in &self.blocks {
            let first = encoding.snapshot(block.first.view());
            bytes.plain += first;
            bytes.paper += first;
            bytes.held += first;
            for difference in &block.differences {
                bytes.plain += difference.plain_bytes(encoding);
                bytes.paper += difference.paper_bytes(encoding);
                bytes.held += difference.held_bytes(encoding);
            }
        }
        bytes
    }
}

/// Snapshots end to end; weighted where the first is, since all come from one sequence.
fn join(vertices: u32, snapshots: &[Edges]) -> SnapshotSequence {
    let mut offsets = vec![0];
    offsets.extend(snapshots.iter().scan(0, |end, edges| {
        *end += edges.len() as u64;
        Some(*end)
    }));
    let views: Vec<_> = snapshots.iter().map(Edges::view).collect();
    let src = views.iter().map(|view| view.src).collect::<Vec<_>>().concat();
    let dst = views.iter().map(|view| view.dst).collect::<Vec<_>>().concat();
    let weight: Option<Vec<&[f32]>> = views.iter().map(|view| view.weight).collect();
    let weight = weight.filter(|parts| !parts.is_empty()).map(|parts| parts.concat());
    SnapshotSequence::from_sorted(vertices, Ranges::from_offsets(&offsets), src, dst, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SnapshotSequence {
        let src = vec![0, 1, 0, 1, 2, 1, 2, 2];
        let dst = vec![0, 0, 0, 0, 1, 0, 1, 2];
        SnapshotSequence::new(3, vec![0, 2, 5, 5, 7, 8], src, dst, Some(vec![0.5; 8])).unwrap()
    }

    #[test]
    fn every_block_length_gives_the_sequence_back() {
        for block_steps in [1, 2, 3, 5, 9, usize::MAX] {
            let differences = DifferenceSequence::new(&sample(), block_steps).unwrap();
            assert_eq!(differences.reconstruct().unwrap(), sample());
        }
        assert!(DifferenceSequence::new(&sample(), 0).is_err());
    }

    #[test]
    fn blocks_of_one_snapshot_cost_the_plain_form() {
        let differences = DifferenceSequence::new(&sample(), 1).unwrap();
        let bytes = differences.bytes(Encoding::COMPACT);
        assert_eq!(bytes, DifferenceBytes { plain: 96, paper: 96, held: 96 });
        assert_eq!(differences.blocks().len(), 5);
    }

    #[test]
    fn an_unchanging_graph_costs_its_values_only() {
        let sequence =
            SnapshotSequence::constant(2, 4, vec![0, 1], vec![1, 0], Some(vec![1.0, 2.0])).unwrap();
        let bytes = DifferenceSequence::new(&sequence, 4).unwrap().bytes(Encoding::COMPACT);
        assert_eq!(bytes, DifferenceBytes { plain: 4 * 24, paper: 24 + 3 * 8, held: 24 + 3 * 8 });
    }
}
