//! Sparse products whose matrices go to a GPU group by group, or once as differences.
//!
//! On a real GPU if there is one, otherwise on the emulated one of the test kit.

mod gpu;

use std::sync::Arc;

use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::normalise::{GcnOptions, gcn_parts, scale};
use zoetrope_tensor::{Device, Difference, Gpu, SparseGroup, SparseMatrix, Tape};

const VERTICES: u32 = 300;
const STEPS: usize = 5;
const WIDTH: usize = 6;

/// Snapshots of a graph with a vertex that all others point to; normalised, with or without weights.
fn group(weighted: bool) -> SparseGroup {
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    for step in 0..STEPS as u32 {
        for vertex in 0..VERTICES {
            let sources: Vec<u32> = match vertex {
                7 => (0..VERTICES).collect(),
                // One of a vertex's edges leads elsewhere in every snapshot.
                _ => (0..vertex % 4)
                    .map(|edge| (vertex + 31 * edge + if edge == 0 { step } else { 0 }) % VERTICES)
                    .collect(),
            };
            let mut sources = sources;
            sources.sort_unstable();
            dst.extend(sources.iter().map(|_| vertex));
            src.extend(sources);
        }
        offsets.push(src.len() as u64);
    }
    let weight = weighted.then(|| (0..src.len()).map(|at| 0.5 + (at % 7) as f32).collect());
    let sequence = SnapshotSequence::new(VERTICES, offsets, src, dst, weight).unwrap();
    let member = |step| {
        let (weights, factors) = gcn_parts(sequence.at(step), GcnOptions::default()).unwrap();
        let own = weights.values().to_vec();
        let matrix = SparseMatrix::for_gpu(scale(weights, &factors));
        Arc::new(matrix.made_from(own, factors))
    };
    SparseGroup::new((0..STEPS).map(member).collect())
}

/// The product and the gradient of its operand.
fn both(device: Device, group: &SparseGroup) -> [Vec<f32>; 2] {
    let rows = group.len() * VERTICES as usize;
    let values: Vec<f32> = (0..rows * WIDTH).map(|at| (at % 23) as f32 / 23.0 - 0.4).collect();
    let mut tape = Tape::on(device);
    let x = tape.variable(rows, WIDTH, &values).unwrap();
    let y = tape.spmm(group, x).unwrap();
    let product = tape.read(y);
    tape.backward_from(y, &values).unwrap();
    [product, tape.gradient_block(x).unwrap().to_vec()]
}

fn assert_agrees(gpu: &Gpu, group: &SparseGroup) {
    let expected = both(Device::Cpu, group);
    let got = both(Device::Cuda(gpu.clone()), group);
    for (got, expected) in got.iter().flatten().zip(expected.iter().flatten()) {
        assert!((got - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{got} for {expected}");
    }
}

#[test]
fn groups_that_are_streamed_give_the_same_products() {
    let test = "groups_that_are_streamed_give_the_same_products";
    let Some(gpu) = gpu::open(test) else { return };
    let rules = [Difference::Off, Difference::Auto, Difference::On];
    for (weighted, rule) in [false, true].into_iter().flat_map(|w| rules.map(|rule| (w, rule))) {
        let all = group(weighted);
        all.stream(2, rule);
        // In turn, the same again, a part of the one before, back, and more than go at once.
        for steps in [0..2, 2..4, 2..4, 3..4, 0..2, 4..5, 0..5] {
            assert_agrees(&gpu, &all.cut(steps));
        }
        let frames = [all.cut(0..2), all.cut(2..4), all.cut(3..5)];
        gpu.prefetch(&frames[0], true);
        for (at, frame) in frames.iter().enumerate() {
            gpu.enter(frame, true);
            if let Some(next) = frames.get(at + 1) {
                gpu.prefetch(next, true);
            }
            assert_agrees(&gpu, frame);
        }
    }
    assert!(gpu.fault().is_none(), "{:?}", gpu.fault());
}

#[test]
fn a_group_is_copied_once_and_without_the_values_that_follow_from_the_degrees() {
    let test = "a_group_is_copied_once_and_without_the_values_that_follow_from_the_degrees";
    let Some(gpu) = gpu::open(test) else { return };
    let copied = |weighted: bool| {
        let all = group(weighted);
        all.stream(2, Difference::Off);
        // Tables and places are made at the first group.
        gpu.enter(&all.cut(0..2), false);
        let before = gpu.copied_bytes()[0];
        let frame = all.cut(2..4);
        gpu.prefetch(&frame, false);
        gpu.enter(&frame, false);
        gpu.enter(&frame, false);
        ((gpu.copied_bytes()[0] - before) as usize, frame.entries())
    };
    let (with_values, entries) = copied(true);
    let (without, _) = copied(false);
    // Less the values, more which factor each vertex has, to within the rounding of parts and the few
    // factors themselves.
    let expected = with_values - 4 * entries + 2 * 2 * VERTICES as usize;
    assert!(without.abs_diff(expected) <= 2 * 64, "{without} instead of {expected} bytes");
}

#[test]
fn differences_take_fewer_bytes_and_what_is_on_the_gpu_is_not_sent_again() {
    let test = "differences_take_fewer_bytes_and_what_is_on_the_gpu_is_not_sent_again";
    let Some(gpu) = gpu::open(test) else { return };
    let copied = |rule: Difference| {
        let all = group(true);
        all.stream(2, rule);
        gpu.enter(&all.cut(0..2), false);
        [1..3, 2..4, 3..4].map(|steps| {
            let before = gpu.copied_bytes()[0];
            gpu.enter(&all.cut(steps), false);
            gpu.copied_bytes()[0] - before
        })
    };
    let (whole, differences) = (copied(Difference::Off), copied(Difference::On));
    assert!(2 * differences[0] < whole[0], "{differences:?} instead of {whole:?} bytes");
    assert!(2 * differences[1] < whole[1], "{differences:?} instead of {whole:?} bytes");
    assert_eq!((whole[2], differences[2]), (0, 0), "a part of the group that is there");
    let streaming = gpu.streaming();
    assert!(streaming.bytes > 0 && streaming.transfer_seconds >= 0.0);
}

#[test]
fn matrices_that_stay_are_the_same_out_of_differences_of_fewer_bytes() {
    let test = "matrices_that_stay_are_the_same_out_of_differences_of_fewer_bytes";
    let Some(gpu) = gpu::open(test) else { return };
    for weighted in [false, true] {
        let [(whole, expected), (differences, got)] =
            [Difference::Off, Difference::On].map(|rule| {
                let all = group(weighted);
                all.send_as(rule);
                let before = gpu.copied_bytes()[0];
                gpu.prefetch(&all, true);
                let bytes = gpu.copied_bytes()[0] - before;
                assert_agrees(&gpu, &all.cut(1..4));
                (bytes, both(Device::Cuda(gpu.clone()), &all))
            });
        assert!(differences < whole, "{differences} instead of {whole} bytes");
        assert_eq!(got, expected);
    }
    assert!(gpu.fault().is_none(), "{:?}", gpu.fault());
}
