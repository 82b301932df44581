//! Products against f64 for all transposes and splits.

use super::*;
use crate::cpu::test_support::{assert_close, everywhere, numbers};

fn reference(a: MatRef, b: MatRef, c: &[f64], accumulate: Accumulate) -> Vec<f64> {
    let ((m, k), (_, n)) = (a.shape(), b.shape());
    let at = |x: &MatRef, i: usize, j: usize| {
        let (i, j) = if x.transposed { (j, i) } else { (i, j) };
        f64::from(x.data[i * x.stride + j])
    };
    let mut out = c.to_vec();
    for i in 0..m {
        for j in 0..n {
            let sum: f64 = (0..k).map(|l| at(&a, i, l) * at(&b, l, j)).sum();
            let old = if accumulate == Accumulate::Add { out[i * n + j] } else { 0.0 };
            out[i * n + j] = old + sum;
        }
    }
    out
}

fn stored(data: &[f32], rows: usize, cols: usize, transposed: bool) -> MatRef<'_> {
    let (rows, cols) = if transposed { (cols, rows) } else { (rows, cols) };
    MatRef { transposed, ..MatRef::new(data, rows, cols) }
}

#[test]
fn products_agree_with_f64_for_all_transposes_and_splits() {
    let shapes = [
        (1, 1, 1),
        (3, 5, 2),
        (3, 50, 2),
        (3000, 33, 3),
        (40, 9, 4),
        (129, 96, 8),
        (7, 1, 33),
        (700, 40, 50),
        (20, 900, 20),
        (12, 17, 5000),
        (40, 2, 3000),
        (33, 1, 70),
        (3001, 6, 6),
        (3001, 2, 2),
        (9000, 20, 7),
        (3001, 1, 81),
        (700, 2, 40),
        (6, 6, 3001),
        (16, 15, 3001),
        (1, 81, 3001),
        (70, 5, 1500),
        (8, 4, 0),
        (5, 4, 0),
    ];
    for (m, n, k) in shapes {
        let (a, b) = (numbers(1, m * k, 1.0), numbers(2, k * n, 1.0));
        let c = numbers(3, m * n, 1.0);
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
                let (a, b) = (stored(&a, m, k, ta), stored(&b, k, n, tb));
                let old: Vec<f64> = c.iter().map(|&x| f64::from(x)).collect();
                let expected = reference(a, b, &old, accumulate);
                let run = || {
                    let mut c = c.clone();
                    matmul(a, b, MatMut::new(&mut c, m, n), accumulate);
                    c
                };
                // Rounding errors of a sum of k terms grow like a random walk.
                let tolerance = 2e-6 * (1.0 + (k as f64).sqrt());
                everywhere(run, |level, c| assert_close(level, c, &expected, tolerance));
            }
        }
    }
}

#[test]
fn a_linear_layer_adds_bias_and_activates_within_its_columns_only() {
    for (m, n, k) in [(9, 19, 6), (1000, 33, 40), (4, 3000, 30), (700, 33, 2), (5, 8, 1)] {
        let stride = n + 3;
        let (x, w) = (numbers(1, m * k, 1.0), numbers(2, n * k, 1.0));
        let bias = numbers(3, n, 1.0);
        let (x, w) = (MatRef::new(&x, m, k), MatRef::new(&w, n, k).t());
        let product = reference(x, w, &vec![0.0; m * n], Accumulate::Overwrite);
        let mut expected = vec![7.0; m * stride];
        for i in 0..m {
            for j in 0..n {
                expected[i * stride + j] = (product[i * n + j] + f64::from(bias[j])).tanh();
            }
        }
        let run = || {
            let mut y = vec![7.0; m * stride];
            let c = MatMut { data: &mut y, rows: m, cols: n, stride };
            linear(x, w, Some(&bias), Activation::Tanh, c, Accumulate::Overwrite);
            y
        };
        everywhere(run, |level, y| assert_close(level, y, &expected, 3e-5));
    }
}

#[test]
fn weight_gradients_split_the_inner_dimension() {
    assert_eq!(split(96, 32, 50_000), Split::Inner(1563));
    assert_eq!(split(50_000, 96, 32), Split::Grid);
    assert_eq!(split(20, 40_000, 20), Split::Grid);
    assert_eq!(split(129, 96, 8), Split::Whole);
}
