//! Differences and overlaps give matrices back, bit for bit; CSR and its slices hold the edges.

mod sequences;

use std::num::NonZeroU32;

use proptest::prelude::*;
use sequences::{any_weight, bits, sequences};
use zoetrope_graph::change::{changes, overlap_rate};
use zoetrope_graph::{Csr, Difference, MatrixRows, Overlap, RowSlices, SnapshotSequence};

/// Rows that own what [`MatrixRows`] borrows.
#[derive(Debug, Clone, PartialEq)]
struct Rows {
    offsets: Vec<u32>,
    columns: Vec<u32>,
    weights: Option<Vec<u32>>,
}

impl Rows {
    fn view(&self) -> MatrixRows<'_> {
        let Self { offsets, columns, weights } = self;
        MatrixRows { offsets, columns, weights: weights.as_deref() }
    }
}

/// The matrices of a sequence; without weights if its snapshots have none.
fn matrices(sequence: &SnapshotSequence) -> Vec<Rows> {
    let rows = |view: zoetrope_graph::SnapshotView<'_>| {
        let matrix = Csr::from_view(view).unwrap();
        let MatrixRows { offsets, columns, weights } = MatrixRows::of(&matrix);
        Rows {
            offsets: offsets.to_vec(),
            columns: columns.to_vec(),
            weights: weights.filter(|_| view.weight.is_some()).map(<[u32]>::to_vec),
        }
    };
    sequence.iter().map(rows).collect()
}

/// Each snapshot out of the list of a difference, as kernels on a GPU rebuild it.
fn rebuild(difference: &Difference, before: Option<MatrixRows<'_>>, steps: usize) -> Vec<Rows> {
    let empty = Rows {
        offsets: vec![0; difference.born_before.len()],
        columns: vec![],
        weights: before
            .map_or(!difference.born_weights.is_empty(), |old| old.weights.is_some())
            .then(Vec::new),
    };
    let old = before.unwrap_or(empty.view());
    // The list: columns, weights and lives of its entries.
    let (mut offsets, mut columns, mut weights, mut lives) = (vec![0], vec![], vec![], vec![]);
    for row in 0..old.rows() {
        let (old_columns, old_weights) = old.row(row);
        let mut entries: Vec<(u32, u32, u8)> = (old_columns.iter().enumerate())
            .map(|(at, &column)| (column, old_weights.get(at).copied().unwrap_or(0), 0))
            .collect();
        let born = difference.born_before[row]..difference.born_before[row + 1];
        for born in born.start as usize..born.end as usize {
            let column = difference.born_columns[born];
            let at = entries.partition_point(|&(other, ..)| other <= column);
            let weight = difference.born_weights.get(born).copied().unwrap_or(0);
            entries.insert(at, (column, weight, difference.born_steps[born]));
        }
        for (column, weight, born) in entries {
            columns.push(column);
            weights.push(weight);
            lives.push(born..u8::MAX);
        }
        offsets.push(columns.len());
    }
    assert_eq!(columns.len(), difference.entries);
    for (&place, &step) in difference.dead.iter().zip(&difference.dead_steps) {
        lives[place as usize].end = step;
    }
    let weighted = old.weights.is_some();
    let snapshot = |step: u8| {
        let changes = &difference.weights;
        for at in (0..changes.len()).filter(|&at| changes.steps[at] == step) {
            weights[changes.places[at] as usize] = changes.values[at];
        }
        let mut rows = Rows { offsets: vec![0], columns: vec![], weights: weighted.then(Vec::new) };
        for row in offsets.windows(2) {
            for at in (row[0]..row[1]).filter(|&at| lives[at].contains(&step)) {
                rows.columns.push(columns[at]);
                rows.weights.iter_mut().for_each(|own| own.push(weights[at]));
            }
            rows.offsets.push(rows.columns.len() as u32);
        }
        rows
    };
    (0..steps as u8).map(snapshot).collect()
}

/// One matrix out of the common and its exclusive entries: copies of one entry that are common are the
/// first ones.
fn merged(overlap: &Overlap, at: usize) -> Rows {
    let (common, exclusive) = (overlap.common_of(at), overlap.exclusive(at));
    let mut rows =
        Rows { offsets: vec![0], columns: vec![], weights: exclusive.weights.map(|_| Vec::new()) };
    for row in 0..common.rows() {
        let mut entries = Vec::new();
        for part in [common, exclusive] {
            let (columns, weights) = part.row(row);
            let weight = |at: usize| weights.get(at).copied().unwrap_or(0);
            entries.extend(columns.iter().enumerate().map(|(at, &column)| (column, weight(at))));
        }
        entries.sort_by_key(|entry| entry.0);
        for (column, weight) in entries {
            rows.columns.push(column);
            rows.weights.iter_mut().for_each(|own| own.push(weight));
        }
        rows.offsets.push(rows.columns.len() as u32);
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_snapshot_follows_from_the_difference_of_all(sequence in sequences(any_weight())) {
        let matrices = matrices(&sequence);
        let views: Vec<_> = matrices.iter().map(Rows::view).collect();
        for first in 0..views.len() {
            let after_none = Difference::new(None, &views[first..]).unwrap();
            let weighted_list = !after_none.born_columns.is_empty();
            let rebuilt = rebuild(&after_none, None, views.len() - first);
            for (made, own) in rebuilt.iter().zip(&matrices[first..]) {
                prop_assert_eq!(&made.offsets, &own.offsets);
                prop_assert_eq!(&made.columns, &own.columns);
                prop_assert!(!weighted_list || made.weights == own.weights);
            }
            if first > 0 {
                let before = Some(views[first - 1]);
                let difference = Difference::new(before, &views[first..]).unwrap();
                let rebuilt = rebuild(&difference, before, views.len() - first);
                prop_assert_eq!(&rebuilt[..], &matrices[first..]);
                prop_assert_eq!(difference.born_rows().len(), difference.born_columns.len());
            }
        }
    }

    #[test]
    fn a_difference_to_the_next_snapshot_has_what_is_not_common(sequence in sequences(any_weight())) {
        let matrices = matrices(&sequence);
        for (step, change) in changes(&sequence).into_iter().enumerate() {
            let [from, to] = [matrices[step].view(), matrices[step + 1].view()];
            let difference = Difference::new(Some(from), &[to]).unwrap();
            prop_assert_eq!(difference.born_columns.len() as u64, change.added);
            prop_assert_eq!(difference.dead.len() as u64, change.removed);
            let overlap = Overlap::of(&[from, to]).unwrap();
            prop_assert_eq!(overlap.common().entries() as u64, change.common);
            prop_assert_eq!(overlap.exclusive(1).columns, &difference.born_columns[..]);
        }
    }

    #[test]
    fn an_overlap_and_its_remainders_give_each_matrix_back(sequence in sequences(any_weight())) {
        let (matrices, views) = (matrices(&sequence), sequence.iter().collect::<Vec<_>>());
        for len in [1, views.len().min(2), views.len()] {
            let group: Vec<_> = matrices[..len].iter().map(Rows::view).collect();
            let overlap = Overlap::of(&group).unwrap();
            for (at, own) in matrices[..len].iter().enumerate() {
                prop_assert_eq!(&merged(&overlap, at), own);
            }
            prop_assert_eq!(overlap.rate(), overlap_rate(&views[..len]));
        }
    }

    #[test]
    fn no_entry_is_exclusive_to_every_matrix_of_a_group(sequence in sequences(any_weight())) {
        let matrices = matrices(&sequence);
        let views: Vec<_> = matrices.iter().map(Rows::view).collect();
        let overlap = Overlap::of(&views).unwrap();
        for row in 0..views[0].rows() {
            for column in overlap.exclusive(0).row(row).0 {
                let has = |at: usize| overlap.exclusive(at).row(row).0.contains(column);
                prop_assert!(!(0..views.len()).all(has));
            }
        }
    }

    #[test]
    fn rates_of_a_pair_agree_and_stay_between_zero_and_one(sequence in sequences(any_weight())) {
        for (step, change) in changes(&sequence).iter().enumerate() {
            let pair = [sequence.at(step), sequence.at(step + 1)];
            prop_assert_eq!(change.overlap_rate(), overlap_rate(&pair));
            prop_assert!((change.change_rate() + change.overlap_rate() - 1.0).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&change.similarity()));
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
            let slices = RowSlices::new(matrix.row_offsets(), NonZeroU32::new(limit).unwrap());
            let mut lengths = vec![0; matrix.rows() as usize];
            for (&row, slice) in slices.rows().iter().zip(slices.offsets().windows(2)) {
                prop_assert!((1..=limit).contains(&(slice[1] - slice[0])));
                lengths[row as usize] += slice[1] - slice[0];
            }
            prop_assert!(slices.rows().is_sorted());
            let own = matrix.row_offsets().windows(2).map(|row| row[1] - row[0]);
            prop_assert_eq!(lengths, own.collect::<Vec<_>>());
        }
    }
}

#[test]
fn equal_entries_come_and_go_as_often_as_snapshots_have_them() {
    let rows = |columns: &[u32], weights: &[u32]| Rows {
        offsets: vec![0, columns.len() as u32],
        columns: columns.to_vec(),
        weights: Some(weights.to_vec()),
    };
    let snapshots = [
        rows(&[1, 1, 1, 4, 6], &[10, 11, 12, 40, 60]),
        rows(&[1, 4, 4, 7], &[10, 40, 41, 70]),
        rows(&[], &[]),
        rows(&[1, 1, 7], &[13, 14, 70]),
        rows(&[1, 7], &[13, 71]),
        rows(&[1, 1, 6], &[13, 15, 61]),
    ];
    let all: Vec<_> = snapshots.iter().map(Rows::view).collect();
    for first in 0..3 {
        let difference = Difference::new(Some(all[first]), &all[first + 1..]).unwrap();
        let rebuilt = rebuild(&difference, Some(all[first]), 5 - first);
        assert_eq!(rebuilt, snapshots[first + 1..], "after one");
        let difference = Difference::new(None, &all[first..]).unwrap();
        assert_eq!(rebuild(&difference, None, 6 - first), snapshots[first..], "after none");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let plain = MatrixRows { offsets: &[0, 1], columns: &[0], weights: None };
    let weighted = MatrixRows { weights: Some(&[1]), ..plain };
    let longer = MatrixRows { offsets: &[0, 1, 1], ..plain };
    assert!(Difference::new(Some(plain), &[weighted]).is_err());
    assert!(Difference::new(Some(plain), &[longer]).is_err());
    assert!(Difference::new(None, &[plain, longer]).is_err());
    assert!(Difference::new(Some(plain), &[]).is_err());
    assert!(Difference::new(None, &[plain; Difference::STEPS_MAX]).is_ok());
    assert!(Difference::new(None, &[plain; Difference::STEPS_MAX + 1]).is_err());
}
