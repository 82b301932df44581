use std::sync::Arc;

use super::super::coded_rows::CodedRows;
use super::super::packet::pack;
use super::super::snapshot_changes::SnapshotChanges;
use super::super::test_support::{Kind, SIDES, sequence};
use super::*;
use crate::cuda::test_support::gpu;
use crate::sparse::SparseMatrix;

/// Sends matrices in parts of the given lengths, the first from nothing and the others as what differs,
/// and compares the blocks.
fn assert_rebuilds(
    gpu: &Gpu,
    about: &str,
    side: Side,
    matrices: &[Arc<SparseMatrix>],
    parts: &[usize],
) {
    let rows: Vec<CodedRows> = matrices.iter().map(|matrix| CodedRows::of(matrix, side)).collect();
    let slices: Vec<_> = matrices.iter().map(|matrix| &**matrix.slices(side)).collect();
    let mut packets = Vec::new();
    let mut from = 0;
    for &len in parts {
        let steps = from..from + len;
        let before = from.checked_sub(1).map(|before| &rows[before]);
        let changes =
            SnapshotChanges::new(before, &rows[steps.clone()].iter().collect::<Vec<_>>()).unwrap();
        let own: Vec<_> = steps.clone().map(|step| (slices[step], &rows[step])).collect();
        let (words, sizes) = pack(&changes, &own);
        packets.push((steps, gpu.uploaded(&words), sizes));
        from += len;
    }
    assert_eq!(from, matrices.len());
    let room = Room { rows: matrices[0].rows(), ..Room::default() };
    let room = packets.iter().fold(room, |room, (_, _, sizes)| room.with(sizes));
    let mut rebuild = Rebuild::new(gpu, side, room);
    let mut before = None;
    for (steps, words, sizes) in &packets {
        let zeros = |step: usize| gpu.uploaded(&vec![0u32; slices[step].words().len()]);
        let blocks: Vec<Scratch<u32>> = steps.clone().map(zeros).collect();
        let arrived = Arrived { sizes: *sizes, words: words.view() };
        let views: Vec<_> = blocks.iter().map(Scratch::view).collect();
        gpu.wait();
        rebuild.apply(before, arrived, &views);
        gpu.mark_copies().wait();
        for (step, block) in steps.clone().zip(&blocks) {
            let mut made = vec![0; slices[step].words().len()];
            gpu.download(block.view(), &mut made);
            let len = slices[step].essence().len();
            let own = slices[step].words();
            let differs = made[..len].iter().zip(own).position(|(made, own)| made != own);
            assert_eq!(
                differs, None,
                "{about} {side:?}, snapshot {step}: the first word that differs"
            );
        }
        before = Some(arrived);
    }
}

#[test]
fn blocks_out_of_differences_are_those_of_the_host_word_for_word() {
    let Some(gpu) = gpu() else { return };
    for kind in Kind::ALL {
        for side in SIDES {
            assert_rebuilds(&gpu, &format!("{kind:?}"), side, &sequence(kind, 700, 6), &[1, 3, 2]);
        }
    }
    // More than one window of rows, the last one not full.
    assert_rebuilds(&gpu, "large", Side::Matrix, &sequence(Kind::Weighted, 4500, 3), &[2, 1]);
    assert!(gpu.fault().is_none(), "{:?}", gpu.fault());
}

#[test]
fn snapshots_without_entries_are_made_and_left_again() {
    let Some(gpu) = gpu() else { return };
    let some = sequence(Kind::Plain, 100, 2);
    let none = zoetrope_graph::Csr::new(100, 100, vec![0; 101], vec![], vec![]).unwrap();
    let none = Arc::new(SparseMatrix::for_gpu(none));
    let matrices = [&none, &some[0], &none, &none, &some[1]].map(Arc::clone);
    for parts in [&[5][..], &[1, 4], &[2, 1, 2], &[1; 5]] {
        assert_rebuilds(&gpu, &format!("{parts:?}"), Side::Matrix, &matrices, parts);
    }
}
