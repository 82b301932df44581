//! Random snapshot data sets for property tests of readers and writers.

use proptest::prelude::*;
use zoetrope_graph::{
    NameTable, SnapshotSequence, Targets, TextTable, VertexFeatures, VertexNames,
};

use crate::dataset::{OneHot, Signal, SnapshotDataset, Standardise};

/// Any data set that a snapshot format must hold: changing or constant topology, weights or not,
/// names of each kind, and features and targets, or a series, or neither.
pub(crate) fn any_snapshots() -> impl Strategy<Value = SnapshotDataset> {
    (1usize..6, 1u32..6, any::<bool>(), any::<bool>(), 0u8..4, 0u8..4, any::<u64>(), 1usize..4)
        .prop_map(|(steps, vertices, constant, weighted, names, content, seed, width)| {
            let mut draw = Draw(seed);
            let sequence = sequence(&mut draw, steps, vertices, constant, weighted);
            let names = names_of(&mut draw, names, vertices);
            let mut data =
                SnapshotDataset { sequence, names, features: None, targets: None, signal: None };
            attach(&mut draw, &mut data, content, width);
            data
        })
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.below(1 << 30) as f32 / 65_537.0 - 4_000.0).collect()
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
}

fn sequence(
    draw: &mut Draw,
    steps: usize,
    vertices: u32,
    constant: bool,
    weighted: bool,
) -> SnapshotSequence {
    let stored = if constant { 1 } else { steps };
    let mut offsets = vec![0];
    for step in 0..stored {
        offsets.push(offsets[step] + draw.below(5));
    }
    let edges = offsets[stored] as usize;
    let mut ids = || (0..edges).map(|_| draw.below(u64::from(vertices)) as u32).collect::<Vec<_>>();
    let (src, dst) = (ids(), ids());
    let weight = weighted.then(|| draw.floats(edges));
    let sequence = if constant {
        SnapshotSequence::constant(vertices, steps, src, dst, weight)
    } else {
        SnapshotSequence::new(vertices, offsets, src, dst, weight)
    }
    .unwrap();
    if draw.coin() {
        let start = draw.below(1 << 30) as i64 - (1 << 29);
        let boundaries: Vec<i64> = (0..=steps as i64).map(|step| start + 86_400 * step).collect();
        sequence.with_boundaries(boundaries).unwrap()
    } else {
        sequence
    }
}

fn names_of(draw: &mut Draw, kind: u8, vertices: u32) -> VertexNames {
    let start = draw.below(1000) as i64 - 500;
    match kind {
        0 => VertexNames::identity(vertices),
        1 => {
            let names = (0..i64::from(vertices)).map(|vertex| start + 7 * vertex).collect();
            VertexNames { first: NameTable::Integers(names), second: None }
        }
        2 => {
            let names: TextTable =
                (0..vertices).map(|vertex| format!("é \"{vertex}\"\\{start}")).collect();
            VertexNames { first: NameTable::Text(names), second: None }
        }
        _ => {
            let first = draw.below(u64::from(vertices) + 1) as u32;
            VertexNames {
                first: NameTable::Identity(first),
                second: Some(NameTable::Identity(vertices - first)),
            }
        }
    }
}

fn attach(draw: &mut Draw, data: &mut SnapshotDataset, content: u8, width: usize) {
    let (steps, vertices) = (data.sequence.steps(), data.sequence.vertices() as usize);
    match content {
        0 => {}
        1 | 2 => {
            let feature_steps = if draw.coin() { 1 } else { steps };
            let values = draw.floats(feature_steps * vertices * width);
            data.features =
                Some(VertexFeatures::new(feature_steps, vertices, width, values).unwrap());
            let target_steps = if draw.coin() { 1 } else { steps };
            let count = target_steps * vertices;
            let (classes, values) = match content {
                1 => (None, draw.floats(count)),
                _ => (Some(9), (0..count).map(|_| draw.below(9) as f32).collect()),
            };
            data.targets = Some(Targets::new(target_steps, vertices, classes, values).unwrap());
        }
        _ => {
            let width = if draw.coin() { 1 } else { width };
            let values = draw.floats(steps * vertices * width);
            let mut signal =
                Signal::new(VertexFeatures::new(steps, vertices, width, values).unwrap(), 1);
            signal.lags = 1 + draw.below(9) as usize;
            signal.standardise = match draw.below(4) {
                0 => Standardise::No,
                1 => Standardise::ByVertex { epsilon: 0.0 },
                2 => Standardise::ByVertex { epsilon: 1e-10 },
                _ => Standardise::Overall,
            };
            if draw.coin() {
                let values = draw.floats(steps * vertices);
                signal.target = Some(VertexFeatures::new(steps, vertices, 1, values).unwrap());
            }
            signal.log_target = draw.coin();
            signal.repeat_last_target = draw.coin();
            if draw.coin() {
                let classes = (0..steps * vertices * 2).map(|_| draw.below(3) as u8).collect();
                signal.one_hot = Some(OneHot { sizes: vec![3, 4], classes });
            }
            data.signal = Some(signal);
        }
    }
}
