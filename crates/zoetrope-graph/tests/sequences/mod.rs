//! Random sequences of snapshots for property tests, awkward on purpose.

use proptest::prelude::*;
use zoetrope_graph::SnapshotSequence;

/// Weights that break careless comparisons and sums come up as often as ordinary ones.
#[allow(dead_code, reason = "each test file uses its own part of this module")]
pub(crate) fn any_weight() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![
        4 => -8.0f32..8.0,
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(f32::NAN),
        1 => Just(f32::INFINITY),
        1 => Just(f32::from_bits(1)),
    ]
}

/// Weights whose sums mean something.
#[allow(dead_code, reason = "each test file uses its own part of this module")]
pub(crate) fn finite_weight() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![4 => -8.0f32..8.0, 1 => Just(0.0)]
}

/// Up to 7 snapshots of up to 9 vertices; few vertices make repeats and self-loops common, and
/// snapshots may be empty.
pub(crate) fn sequences(
    weight: impl Strategy<Value = f32> + Clone,
) -> impl Strategy<Value = SnapshotSequence> {
    (1u32..10, any::<bool>()).prop_flat_map(move |(vertices, weighted)| {
        let edge = (0..vertices, 0..vertices, weight.clone());
        let snapshot = prop::collection::vec(edge, 0..25);
        prop::collection::vec(snapshot, 1..8)
            .prop_map(move |snapshots| sequence_of(vertices, &snapshots, weighted))
    })
}

fn sequence_of(
    vertices: u32,
    snapshots: &[Vec<(u32, u32, f32)>],
    weighted: bool,
) -> SnapshotSequence {
    let mut offsets = vec![0];
    offsets.extend(snapshots.iter().scan(0, |end, snapshot| {
        *end += snapshot.len() as u64;
        Some(*end)
    }));
    let edges: Vec<_> = snapshots.iter().flatten().copied().collect();
    let weight = weighted.then(|| edges.iter().map(|edge| edge.2).collect());
    let src = edges.iter().map(|edge| edge.0).collect();
    let dst = edges.iter().map(|edge| edge.1).collect();
    SnapshotSequence::new(vertices, offsets, src, dst, weight).unwrap()
}

/// The bits of optional weights, so that NaN equals itself and 0 does not equal −0.
#[allow(dead_code, reason = "each test file uses its own part of this module")]
pub(crate) fn bits(weight: Option<&[f32]>) -> Option<Vec<u32>> {
    weight.map(|weight| weight.iter().map(|value| value.to_bits()).collect())
}
