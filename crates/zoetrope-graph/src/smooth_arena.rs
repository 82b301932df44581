//! The columns of a smoothed sequence, cut so that blocks of edges write side by side.
//!
//! The arena holds snapshot after snapshot, and within a snapshot block after block, so blocks
//! that hold ascending edges leave every snapshot in order without a copy.

use crate::error::GraphError;
use crate::ids::VertexId;
use crate::ranges::Ranges;
use crate::smooth::ADVICE;
use crate::snapshot::SnapshotSequence;

/// Two ends and a weight.
const EDGE_BYTES: u64 = 12;

pub(crate) struct Arena {
    offsets: Vec<u64>,
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    weight: Vec<f32>,
}

/// Where one block writes its edges of one step.
pub(crate) struct StepPart<'a> {
    src: std::slice::IterMut<'a, VertexId>,
    dst: std::slice::IterMut<'a, VertexId>,
    weight: std::slice::IterMut<'a, f32>,
}

impl StepPart<'_> {
    /// Writes the next edge; the counts that the arena was made from say how many there are.
    #[inline]
    pub(crate) fn push(&mut self, src: VertexId, dst: VertexId, weight: f32) {
        if let (Some(to_src), Some(to_dst), Some(to_weight)) =
            (self.src.next(), self.dst.next(), self.weight.next())
        {
            (*to_src, *to_dst, *to_weight) = (src, dst, weight);
        } else {
            debug_assert!(false, "more edges than were counted");
        }
    }
}

impl Arena {
    /// Makes room for `counts[block][step]` edges, if there is enough memory.
    pub(crate) fn new(steps: usize, counts: &[Vec<u64>]) -> Result<Self, GraphError> {
        let mut offsets = vec![0];
        let mut end = 0;
        for step in 0..steps {
            end += counts.iter().map(|block| block[step]).sum::<u64>();
            offsets.push(end);
        }
        zoetrope_heap::need("snapshots that are smoothed over time", end * EDGE_BYTES, ADVICE)?;
        let edges = end as usize;
        Ok(Self { offsets, src: vec![0; edges], dst: vec![0; edges], weight: vec![0.0; edges] })
    }

    /// For each block, its part of each step.
    pub(crate) fn parts(&mut self, counts: &[Vec<u64>]) -> Vec<Vec<StepPart<'_>>> {
        let steps = self.offsets.len() - 1;
        let mut parts: Vec<Vec<StepPart<'_>>> =
            counts.iter().map(|_| Vec::with_capacity(steps)).collect();
        let (mut src, mut dst, mut weight) =
            (&mut self.src[..], &mut self.dst[..], &mut self.weight[..]);
        for step in 0..steps {
            for (block, counts) in parts.iter_mut().zip(counts) {
                let length = counts[step] as usize;
                let (own_src, rest_src) = src.split_at_mut(length);
                let (own_dst, rest_dst) = dst.split_at_mut(length);
                let (own_weight, rest_weight) = weight.split_at_mut(length);
                block.push(StepPart {
                    src: own_src.iter_mut(),
                    dst: own_dst.iter_mut(),
                    weight: own_weight.iter_mut(),
                });
                (src, dst, weight) = (rest_src, rest_dst, rest_weight);
            }
        }
        parts
    }

    /// The steps from `from` on; those before it have no edges.
    pub(crate) fn into_sequence(self, vertices: u32, from: usize) -> SnapshotSequence {
        let ranges = Ranges::from_offsets(&self.offsets[from..]);
        SnapshotSequence::from_sorted(vertices, ranges, self.src, self.dst, Some(self.weight))
    }
}
