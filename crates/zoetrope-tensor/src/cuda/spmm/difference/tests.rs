use std::sync::Arc;

use super::super::patch::Patch;
use super::super::rows::Rows;
use super::super::trial::{Kind, SIDES, sequence};
use super::*;
use crate::cuda::trial::card;
use crate::sparse::SparseMatrix;

/// Sends the first matrix by rows and the others as differences, and compares the blocks.
fn assert_rebuilds(gpu: &Gpu, kind: Kind, side: Side, matrices: &[Arc<SparseMatrix>]) {
    let rows: Vec<Rows> = matrices.iter().map(|matrix| Rows::of(matrix, side)).collect();
    let room = Room {
        rows: matrices[0].rows(),
        entries: rows.iter().map(Rows::entries).max().unwrap(),
        added: rows.iter().map(Rows::entries).max().unwrap(),
        weighted: rows[0].weights.is_some(),
        by_vertex: rows[0].vertices.is_some(),
    };
    let mut rebuild = Rebuild::new(gpu, side, &room);
    for (step, matrix) in matrices.iter().enumerate() {
        let (mut words, slices) = (Vec::new(), matrix.slices(side));
        let packet = match step {
            0 => Packet::whole(&mut words, slices, &rows[0]),
            step => {
                let patch = Patch::between(&rows[step - 1], &rows[step]).unwrap();
                Packet::patch(&mut words, slices, &patch, rows[step].entries())
            }
        };
        let sent = gpu.uploaded(&words);
        let mut block = gpu.uploaded(&vec![0u32; slices.words().len()]);
        rebuild.apply(&packet, sent.view(), block.view());
        let mut made = vec![0; slices.words().len()];
        gpu.download(block.view_mut().as_view(), &mut made);
        let len = slices.essence().len();
        let differs = made[..len].iter().zip(slices.words()).position(|(made, own)| made != own);
        assert_eq!(
            differs, None,
            "{kind:?} {side:?}, snapshot {step}: the first word that differs"
        );
    }
}

#[test]
fn blocks_out_of_differences_are_those_of_the_host_word_for_word() {
    let Some(gpu) = card() else { return };
    for kind in Kind::ALL {
        for side in SIDES {
            assert_rebuilds(&gpu, kind, side, &sequence(kind, 700, 3));
        }
    }
    // More than one window of rows, the last one not full.
    assert_rebuilds(&gpu, Kind::Weighted, Side::Matrix, &sequence(Kind::Weighted, 4500, 3));
    assert!(gpu.fault().is_none(), "{:?}", gpu.fault());
}

#[test]
fn snapshots_without_entries_are_made_and_left_again() {
    let Some(gpu) = card() else { return };
    let some = sequence(Kind::Plain, 100, 2);
    let none = zoetrope_graph::Csr::new(100, 100, vec![0; 101], vec![], vec![]).unwrap();
    let none = Arc::new(SparseMatrix::for_gpu(none));
    let matrices = [&none, &some[0], &none, &none, &some[1]].map(Arc::clone);
    assert_rebuilds(&gpu, Kind::Plain, Side::Matrix, &matrices);
}
