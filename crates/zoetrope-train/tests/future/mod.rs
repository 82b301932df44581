//! Another future for the same past: what leakage tests change.
#![allow(dead_code, reason = "each test program uses its own part of this module")]

use zoetrope_data::SnapshotDataset;
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, Targets, VertexFeatures};

/// The data set with every snapshot and all features from step `from` on, and all targets from step
/// `targets_from` on, replaced by others. What is before is the same to the bit.
///
/// Two steps, because a query at step `t` knows snapshot and features of `t` but not its target: a
/// test of a node task gives `t + 1` and `t`.
pub(crate) fn with_another_future(
    data: &SnapshotDataset,
    from: usize,
    targets_from: usize,
    seed: u64,
) -> SnapshotDataset {
    SnapshotDataset {
        sequence: other_snapshots(&data.sequence, from, seed),
        features: data.features.as_ref().map(|features| other_features(features, from, seed)),
        targets: data.targets.as_ref().map(|targets| other_targets(targets, targets_from, seed)),
        ..data.clone()
    }
}

fn other_snapshots(sequence: &SnapshotSequence, from: usize, seed: u64) -> SnapshotSequence {
    let vertices = u64::from(sequence.vertices());
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    let mut weight = sequence.weight().map(|_| Vec::new());
    for (step, view) in sequence.iter().enumerate() {
        let random = Random::new(seed, 1).at_step(step as u32);
        let edges = if step < from { view.len() } else { random.below(0, 40) as usize };
        for edge in 0..edges {
            let at = 4 * edge as u64;
            let (a, b, w) = if step < from {
                (view.src[edge], view.dst[edge], view.weight_of(edge))
            } else {
                (
                    random.below(at + 1, vertices) as u32,
                    random.below(at + 2, vertices) as u32,
                    random.normal(at + 3) as f32,
                )
            };
            src.push(a);
            dst.push(b);
            weight.iter_mut().for_each(|weight| weight.push(w));
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(sequence.vertices(), offsets, src, dst, weight).unwrap()
}

fn other_features(features: &VertexFeatures, from: usize, seed: u64) -> VertexFeatures {
    let mut other = features.clone();
    if features.steps() > 1 {
        let random = Random::new(seed, 2);
        let size = features.vertices() * features.width();
        for (at, value) in other.values_mut().iter_mut().enumerate().skip(from * size) {
            *value = 50.0 * random.normal(at as u64) as f32;
        }
    }
    other
}

fn other_targets(targets: &Targets, from: usize, seed: u64) -> Targets {
    let mut values = targets.values().to_vec();
    let random = Random::new(seed, 3);
    if targets.steps() > 1 {
        for (at, value) in values.iter_mut().enumerate().skip(from * targets.vertices()) {
            *value = match targets.classes() {
                Some(classes) => random.below(at as u64, u64::from(classes)) as f32,
                None => 50.0 * random.normal(at as u64) as f32,
            };
        }
    }
    Targets::new(targets.steps(), targets.vertices(), targets.classes(), values).unwrap()
}

/// The data set with all values of its measured series from step `from` on replaced by others, far
/// from what was measured. What is before is the same to the bit.
pub(crate) fn with_another_series(
    data: &SnapshotDataset,
    from: usize,
    seed: u64,
) -> SnapshotDataset {
    let mut data = data.clone();
    let signal = data.signal.as_mut().expect("a measured series");
    for series in std::iter::once(&mut signal.values).chain(signal.target.as_mut()) {
        let random = Random::new(seed, 4);
        let size = series.vertices() * series.width();
        for (at, value) in series.values_mut().iter_mut().enumerate().skip(from * size) {
            *value = 1000.0 + 500.0 * random.normal(at as u64) as f32;
        }
    }
    data
}
