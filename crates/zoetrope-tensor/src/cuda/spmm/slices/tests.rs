use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::normalise::{GcnOptions, gcn};

use super::*;
use crate::cpu::test_support::{Sparse, sparse};

const PIECE: usize = PIECE_ENTRIES_MAX.get() as usize;

/// A matrix whose rows have the given lengths.
fn with_lengths(lengths: &[usize], cols: usize) -> Sparse {
    let ends = lengths.iter().scan(0, |sum, &len| {
        *sum += len as u32;
        Some(*sum)
    });
    let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
    let columns =
        lengths.iter().flat_map(|&len| (0..len).map(move |at| (at * cols / len.max(1)) as u32));
    let columns: Vec<u32> = columns.collect();
    let values = crate::cpu::test_support::numbers(5, columns.len(), 1.0);
    Sparse { rows: lengths.len(), offsets, columns, values }
}

fn returns(m: &Sparse, cols: usize) -> Slices {
    let slices = Slices::new(m.view(), cols, None);
    let back = slices.to_csr();
    assert_eq!((back.rows() as usize, back.cols() as usize), (m.rows, cols));
    assert_eq!(back.row_offsets(), m.offsets);
    assert_eq!(back.column_indices(), m.columns);
    assert_eq!(back.values(), m.values);
    slices
}

#[test]
fn every_row_is_there_once_with_its_entries_in_order() {
    let sizes =
        [(0, 0, 0), (1, 1, 1), (137, 90, 900), (9000, 5000, 200_000), (7, 9, 0), (32, 32, 300)];
    for (rows, cols, entries) in sizes {
        returns(&sparse(3, rows, cols, entries), cols);
    }
}

#[test]
fn long_rows_are_cut_into_pieces_of_nearly_one_length() {
    let slices =
        returns(&with_lengths(&[3, SHORT, SHORT + 1, 0, PIECE, PIECE + 1, 5 * PIECE], 5000), 5000);
    let units = slices.part(Section::Units, slices.units() * UNIT);
    let units: Vec<_> = units.chunks(UNIT).map(|unit| (unit[0], unit[2], unit[3])).collect();
    let (piece, short) = (PIECE as u32, SHORT as u32);
    let (half, rest) = (piece / 2, piece / 2 + 1);
    let mut expected = vec![(2, short + 1, DIRECT), (4, piece, DIRECT), (5, half, 0), (5, rest, 1)];
    expected.extend((2..7).map(|slot| (6, piece, slot)));
    assert_eq!(units, expected);
    assert_eq!(slices.part(Section::Folds, 8), [5, 0, 2, 0, 6, 2, 5, 0]);
    assert_eq!(slices.slots(), 7);
}

#[test]
fn a_slice_holds_its_rows_longest_first_and_nothing_between_entries() {
    let slices = returns(&with_lengths(&[1, 3, 0, 3, 2], 10), 10);
    assert_eq!((slices.slices(), slices.units(), slices.folds()), (1, 0, 0));
    let rows = slices.part(Section::Rows, 6);
    assert_eq!(rows, [3 << 16 | 1, 3 << 16 | 3, 2 << 16 | 4, 1 << 16, 2, ELSEWHERE]);
    // Rows 1, 3, 4, 0 have a first entry, 1, 3, 4 a second, 1 and 3 a third.
    assert_eq!(slices.part(Section::Columns, 9), [0, 0, 0, 0, 3, 3, 5, 6, 6]);
}

#[test]
fn the_block_takes_the_room_of_compressed_rows() {
    let m = sparse(8, 20_000, 20_000, 120_000);
    let words = Slices::new(m.view(), 20_000, None).words().len();
    let compressed = 2 * m.columns.len() + m.rows + 1;
    assert!(words < compressed + compressed / 100, "{words} words for {compressed}");
}

#[test]
fn the_values_of_a_normalised_graph_without_weights_follow_from_factors() {
    let graph = SnapshotSequence::new(4, vec![0, 4], vec![2, 0, 3, 1], vec![0, 1, 1, 3], None);
    let matrix = gcn(graph.unwrap().at(0), GcnOptions::default()).unwrap();
    let view = |values| CsrRef {
        rows: 4,
        offsets: matrix.row_offsets(),
        columns: matrix.column_indices(),
        values,
    };
    let found = Factors::of(view(matrix.values()), 4).unwrap();
    assert_eq!(found.different, [1.0f32, 2.0, 3.0].map(|len| 1.0 / len.sqrt()));
    assert_eq!(found.numbers, [1, 2, 0, 1]);
    let slices = Slices::new(view(matrix.values()), 4, Some(&found));
    assert_eq!(slices.to_csr(), matrix);
    assert!(slices.is_factored());
    // Eight entries, half a word each.
    assert_eq!(slices.essence().len() + 4, slices.words().len());

    let mut weighted = matrix.values().to_vec();
    weighted[3] = weighted[3].next_up();
    assert_eq!(Factors::of(view(&weighted), 4), None);
    let plain = Slices::new(view(&weighted), 4, None);
    assert_eq!((plain.is_factored(), plain.essence().len()), (false, plain.words().len()));
}

#[test]
#[should_panic(expected = "columns below 3")]
fn a_column_outside_is_refused() {
    Slices::new(CsrRef { rows: 1, offsets: &[0, 1], columns: &[3], values: &[1.0] }, 3, None);
}
