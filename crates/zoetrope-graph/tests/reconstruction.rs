//! Differences and overlaps give snapshots back, bit for bit; CSR and sliced CSR hold the edges.

mod sequences;

use proptest::prelude::*;
use sequences::{any_weight, bits, sequences};
use zoetrope_graph::change::{changes, overlap_rate};
use zoetrope_graph::{
    Csr, Difference, DifferenceSequence, Encoding, Overlap, SlicedCsr, SnapshotView,
};

fn same(left: SnapshotView<'_>, right: SnapshotView<'_>) -> Result<(), TestCaseError> {
    prop_assert_eq!(left.vertices, right.vertices);
    prop_assert_eq!(left.src, right.src);
    prop_assert_eq!(left.dst, right.dst);
    prop_assert_eq!(bits(left.weight), bits(right.weight));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_difference_applied_to_a_snapshot_gives_the_next(sequence in sequences(any_weight())) {
        for step in 1..sequence.steps() {
            let (from, to) = (sequence.at(step - 1), sequence.at(step));
            let difference = Difference::between(from, to).unwrap();
            same(difference.apply(from).unwrap().view(), to)?;
            prop_assert_eq!(difference.to_edges(), to.len());
            let encoding = Encoding::COMPACT;
            prop_assert!(difference.held_bytes(encoding) <= difference.paper_bytes(encoding));
            prop_assert_eq!(difference.plain_bytes(encoding), encoding.snapshot(to));
        }
    }

    #[test]
    fn a_sequence_in_blocks_of_differences_comes_back(
        sequence in sequences(any_weight()), block_steps in 1usize..9
    ) {
        let differences = DifferenceSequence::new(&sequence, block_steps).unwrap();
        let back = differences.reconstruct().unwrap();
        prop_assert_eq!(back.steps(), sequence.steps());
        for step in 0..sequence.steps() {
            same(back.at(step), sequence.at(step))?;
        }
        let plain: u64 = sequence.iter().map(|view| Encoding::TORCH.snapshot(view)).sum();
        prop_assert_eq!(differences.bytes(Encoding::TORCH).plain, plain);
    }

    #[test]
    fn an_overlap_and_its_remainders_give_each_snapshot_back(sequence in sequences(any_weight())) {
        let views: Vec<_> = sequence.iter().collect();
        for group in [&views[..1], &views[..views.len().min(2)], &views[..]] {
            let overlap = Overlap::of(group).unwrap();
            for (snapshot, view) in group.iter().enumerate() {
                same(overlap.reconstruct(snapshot).view(), *view)?;
                prop_assert_eq!(overlap.common().len() + overlap.exclusive(snapshot).len(), view.len());
            }
            prop_assert_eq!(overlap.rate(), overlap_rate(group));
            prop_assert!(overlap.held_bytes(Encoding::COMPACT) <= overlap.plain_bytes(Encoding::COMPACT));
        }
    }

    #[test]
    fn no_edge_is_exclusive_to_every_snapshot_of_a_group(sequence in sequences(any_weight())) {
        let views: Vec<_> = sequence.iter().collect();
        let overlap = Overlap::of(&views).unwrap();
        let first = overlap.exclusive(0);
        for edge in 0..first.len() {
            let everywhere = (0..views.len()).all(|snapshot| {
                let own = overlap.exclusive(snapshot);
                (0..own.len()).any(|other| own.key(other) == first.key(edge))
            });
            prop_assert!(!everywhere);
        }
    }

    #[test]
    fn rates_of_a_pair_agree_and_stay_between_zero_and_one(sequence in sequences(any_weight())) {
        for (step, change) in changes(&sequence).iter().enumerate() {
            let pair = [sequence.at(step), sequence.at(step + 1)];
            prop_assert_eq!(change.overlap_rate(), overlap_rate(&pair));
            prop_assert!((change.change_rate() + change.overlap_rate() - 1.0).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&change.similarity()));
            let difference = Difference::between(pair[0], pair[1]).unwrap();
            prop_assert_eq!(difference.common_edges() as u64, change.common);
        }
    }

    #[test]
    fn matrices_hold_exactly_the_edges(sequence in sequences(any_weight()), limit in 1u32..40) {
        for view in sequence.iter() {
            let matrix = Csr::from_view(view).unwrap();
            let rows: Vec<u32> = matrix.iter().map(|(row, _, _)| row).collect();
            prop_assert_eq!(rows, view.dst);
            prop_assert_eq!(matrix.column_indices(), view.src);
            let twice = matrix.transpose().transpose();
            prop_assert_eq!(twice.row_offsets(), matrix.row_offsets());
            prop_assert_eq!(twice.column_indices(), matrix.column_indices());
            prop_assert_eq!(bits(Some(twice.values())), bits(Some(matrix.values())));
            let sliced = SlicedCsr::new(matrix.clone(), limit).unwrap();
            for slice in 0..sliced.slices() {
                prop_assert!((1..=limit as usize).contains(&sliced.slice(slice).1.len()));
            }
            prop_assert!(sliced.slice_rows().is_sorted());
            let back = sliced.into_csr();
            prop_assert_eq!(back.row_offsets(), matrix.row_offsets());
            prop_assert_eq!(back.column_indices(), matrix.column_indices());
        }
    }
}
