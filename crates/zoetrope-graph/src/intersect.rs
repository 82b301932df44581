//! Walks sorted snapshots side by side and tells shared edges from others.
//!
//! The walks decide by arithmetic instead of branches: which side an edge is on is a coin toss to
//! the processor's predictor, and a wrong guess costs more than the whole step. That is why
//! every step writes to both outputs and advances the cursor of one.

use std::ops::Range;

use crate::edges::Edges;
use crate::ids::VertexId;
use crate::snapshot::{SnapshotView, edge_key};

/// Walks two ranges of edges in order until one is used up. At each step reports where it is on
/// both sides and whether the edge is on the left or on the right only; on both, when neither.
/// Returns where it stopped.
#[inline]
pub(crate) fn walk_pair(
    (left, left_range): (SnapshotView<'_>, &Range<usize>),
    (right, right_range): (SnapshotView<'_>, &Range<usize>),
    mut step: impl FnMut(usize, usize, bool, bool),
) -> (usize, usize) {
    let (mut at_left, mut at_right) = (left_range.start, right_range.start);
    while at_left < left_range.end && at_right < right_range.end {
        let (one, other) = (left.key(at_left), right.key(at_right));
        step(at_left, at_right, one < other, other < one);
        at_left += usize::from(one <= other);
        at_right += usize::from(other <= one);
    }
    (at_left, at_right)
}

/// The keys of the edges that all snapshots have within their ranges, each as often as every
/// snapshot has it; ascending.
pub(crate) fn common_keys(snapshots: &[SnapshotView<'_>], ranges: &[Range<usize>]) -> Vec<u64> {
    let Some((first, others)) = snapshots.split_first() else {
        return Vec::new();
    };
    let mut common: Vec<u64> = ranges[0].clone().map(|edge| first.key(edge)).collect();
    for (view, range) in others.iter().zip(&ranges[1..]) {
        let (mut kept, mut next, mut edge) = (0, 0, range.start);
        while next < common.len() && edge < range.end {
            let (key, other) = (common[next], view.key(edge));
            common[kept] = key;
            kept += usize::from(key == other);
            next += usize::from(key <= other);
            edge += usize::from(other <= key);
        }
        common.truncate(kept);
    }
    common
}

/// Splits a range of edges into those of `common` (which it holds, by their first copies), of
/// which only the weights are returned, and the others.
pub(crate) fn split_common(
    view: SnapshotView<'_>,
    range: Range<usize>,
    common: &[u64],
) -> (Vec<f32>, Part) {
    let exclusive = range.len() - common.len();
    // One slot to spare: the cursor that does not advance writes where the other kind would go.
    let (mut src, mut dst) = (vec![0; exclusive + 1], vec![0; exclusive + 1]);
    let weights = |count: usize| if view.weight.is_some() { vec![0.0; count + 1] } else { vec![] };
    let (mut own_weight, mut common_weight) = (weights(exclusive), weights(common.len()));
    let (mut shared, mut own) = (0, 0);
    for edge in range {
        let hit = common.get(shared) == Some(&view.key(edge));
        src[own] = view.src[edge];
        dst[own] = view.dst[edge];
        if let Some(weight) = view.weight {
            own_weight[own] = weight[edge];
            common_weight[shared] = weight[edge];
        }
        shared += usize::from(hit);
        own += usize::from(!hit);
    }
    debug_assert_eq!((shared, own), (common.len(), exclusive));
    src.truncate(exclusive);
    dst.truncate(exclusive);
    own_weight.truncate(exclusive);
    common_weight.truncate(common.len());
    (common_weight, Part { src, dst, weight: own_weight })
}

/// Edge columns in the making; weights stay empty where the snapshots have none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    weight: Vec<f32>,
}

impl Part {
    pub(crate) fn from_keys(keys: &[u64]) -> Self {
        Self {
            src: keys.iter().map(|&key| key as u32).collect(),
            dst: keys.iter().map(|&key| (key >> 32) as u32).collect(),
            weight: Vec::new(),
        }
    }

    pub(crate) fn join(parts: &[&Self]) -> Self {
        let edges = parts.iter().map(|part| part.src.len()).sum();
        let mut joined = Self {
            src: Vec::with_capacity(edges),
            dst: Vec::with_capacity(edges),
            weight: Vec::with_capacity(parts.iter().map(|part| part.weight.len()).sum()),
        };
        for part in parts {
            joined.src.extend_from_slice(&part.src);
            joined.dst.extend_from_slice(&part.dst);
            joined.weight.extend_from_slice(&part.weight);
        }
        joined
    }

    pub(crate) fn into_edges(self, vertices: u32, weighted: bool) -> Edges {
        Edges::from_sorted(vertices, self.src, self.dst, weighted.then_some(self.weight))
    }
}

/// Two snapshots as one; copies of an edge that both have come from `first` first.
pub(crate) fn merge(first: SnapshotView<'_>, second: SnapshotView<'_>) -> Edges {
    let edges = first.len() + second.len();
    let mut merged = Part { src: vec![0; edges], dst: vec![0; edges], weight: Vec::new() };
    if first.weight.is_some() {
        merged.weight = vec![0.0; edges];
    }
    let key = |view: &SnapshotView<'_>, edge: usize| match edge < view.len() {
        true => edge_key(view.src[edge], view.dst[edge]),
        false => u64::MAX,
    };
    let (mut one, mut other) = (0, 0);
    for edge in 0..edges {
        let from_first = key(&first, one) <= key(&second, other);
        let (view, at) = if from_first { (&first, one) } else { (&second, other) };
        merged.src[edge] = view.src[at];
        merged.dst[edge] = view.dst[at];
        if let Some(weight) = view.weight {
            merged.weight[edge] = weight[at];
        }
        one += usize::from(from_first);
        other += usize::from(!from_first);
    }
    merged.into_edges(first.vertices, first.weight.is_some())
}
