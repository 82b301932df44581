//! Matrices multiply as their dense forms do, and normalised rows add up to what they must.

mod sequences;

use std::num::NonZeroU32;

use proptest::prelude::*;
use sequences::{finite_weight, sequences};
use zoetrope_graph::normalise::{GcnOptions, gcn, mean, row};
use zoetrope_graph::{Csr, RowSlices};

/// Width of the dense matrix that sparse ones are multiplied with.
const WIDTH: usize = 3;

fn dense(rows: u32) -> Vec<f32> {
    (0..rows as usize * WIDTH).map(|at| (at * 29 % 17) as f32 - 8.0).collect()
}

fn accumulate(out: &mut [f32], row: u32, columns: &[u32], values: &[f32], features: &[f32]) {
    for (&column, &value) in columns.iter().zip(values) {
        for feature in 0..WIDTH {
            out[row as usize * WIDTH + feature] +=
                value * features[column as usize * WIDTH + feature];
        }
    }
}

fn multiply(matrix: &Csr, features: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; matrix.rows() as usize * WIDTH];
    for row in 0..matrix.rows() {
        let (columns, values) = matrix.row(row);
        accumulate(&mut out, row, columns, values, features);
    }
    out
}

fn multiply_slices(matrix: &Csr, limit: u32, features: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; matrix.rows() as usize * WIDTH];
    let slices = RowSlices::new(matrix.row_offsets(), NonZeroU32::new(limit).unwrap());
    for (&row, slice) in slices.rows().iter().zip(slices.offsets().windows(2)) {
        let own = slice[0] as usize..slice[1] as usize;
        let (columns, values) = (&matrix.column_indices()[own.clone()], &matrix.values()[own]);
        accumulate(&mut out, row, columns, values, features);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn slices_and_whole_rows_multiply_alike(
        sequence in sequences(finite_weight()), limit in 1u32..40
    ) {
        for view in sequence.iter() {
            let matrix = Csr::from_view(view).unwrap();
            let features = dense(matrix.cols());
            let by_slices = multiply_slices(&matrix, limit, &features);
            prop_assert_eq!(by_slices, multiply(&matrix, &features));
        }
    }

    #[test]
    fn the_transpose_multiplies_from_the_other_side(sequence in sequences(finite_weight())) {
        let matrix = Csr::from_view(sequence.at(0)).unwrap();
        let ones = vec![1.0; matrix.rows() as usize * WIDTH];
        let sums = multiply(&matrix.transpose(), &ones);
        let mut expected = vec![0.0f32; matrix.cols() as usize];
        for (_, column, value) in matrix.iter() {
            expected[column as usize] += value;
        }
        for (column, expected) in expected.into_iter().enumerate() {
            prop_assert_eq!(sums[column * WIDTH], expected);
        }
    }

    #[test]
    fn row_normalised_rows_sum_to_one_and_mean_rows_to_the_mean_weight(
        sequence in sequences(0.125f32..4.0)
    ) {
        let matrix = Csr::from_view(sequence.at(0)).unwrap();
        let (by_weight, by_count) = (row(matrix.clone()), mean(matrix.clone()));
        for vertex in 0..matrix.rows() {
            let weights = matrix.row(vertex).1;
            if weights.is_empty() {
                continue;
            }
            let sum: f32 = by_weight.row(vertex).1.iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-5);
            let sum: f32 = by_count.row(vertex).1.iter().sum();
            let expected = weights.iter().sum::<f32>() / weights.len() as f32;
            prop_assert!((sum - expected).abs() < 1e-5 * expected);
        }
    }

    /// `D^1/2 Â D^-1/2` has the row sums of `D^-1 (A + I)`: all 1.
    #[test]
    fn gcn_normalisation_undone_on_both_sides_has_unit_rows(sequence in sequences(0.125f32..4.0)) {
        let view = sequence.at(0);
        let normal = gcn(view, GcnOptions::default()).unwrap();
        let looped =
            zoetrope_graph::normalise::with_self_loops(&Csr::from_view(view).unwrap(), 1.0).unwrap();
        let degree: Vec<f64> = (0..looped.rows())
            .map(|vertex| looped.row(vertex).1.iter().map(|&value| f64::from(value)).sum())
            .collect();
        for vertex in 0..normal.rows() {
            let (columns, values) = normal.row(vertex);
            let sum: f64 = columns
                .iter()
                .zip(values)
                .map(|(&column, &value)| f64::from(value) * degree[column as usize].sqrt())
                .sum();
            prop_assert!((sum / degree[vertex as usize].sqrt() - 1.0).abs() < 1e-5);
        }
    }
}
