//! Softmax against f64 and central differences.

use super::*;
use crate::cpu::test_support::{
    added, assert_close, everywhere, exact, numbers, slopes, sparse, weighted,
};

fn softmax(x: &[f64]) -> Vec<f64> {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
    x.iter().map(|x| (x - max).exp() / sum).collect()
}

#[test]
fn rows_agree_with_f64() {
    for (rows, cols) in [(1, 1), (5, 3), (40, 16), (30, 45), (400, 70)] {
        let x = numbers(1, rows * cols, 30.0);
        let expected: Vec<f64> = exact(&x).chunks(cols).flat_map(softmax).collect();
        let logs: Vec<f64> = expected.iter().map(|p| p.ln()).collect();
        let run = || {
            let mut y = vec![f32::NAN; 2 * x.len()];
            let (plain, logs) = y.split_at_mut(x.len());
            softmax_rows(&x, cols, plain);
            log_softmax_rows(&x, cols, logs);
            y
        };
        let all = [&expected[..], &logs].concat();
        everywhere(run, |level, y| assert_close(level, y, &all, 1e-6));
    }
}

#[test]
fn gradients_of_rows_agree_with_central_differences() {
    for (rows, cols) in [(1, 1), (6, 5), (3, 37)] {
        let (x, dy) = (numbers(1, rows * cols, 2.0), numbers(2, rows * cols, 1.0));
        let plain = |x: &[f64]| x.chunks(cols).flat_map(softmax).collect::<Vec<_>>();
        let logs = |x: &[f64]| plain(x).iter().map(|p| p.ln()).collect::<Vec<_>>();
        let expected =
            [slopes(|x| weighted(&plain(x), &dy), &x), slopes(|x| weighted(&logs(x), &dy), &x)];
        let run = || {
            let mut y = vec![0.0; x.len()];
            let mut d = vec![1.0; 2 * x.len()];
            let (first, second) = d.split_at_mut(x.len());
            softmax_rows(&x, cols, &mut y);
            softmax_rows_backward(&y, cols, &dy, first);
            log_softmax_rows(&x, cols, &mut y);
            log_softmax_rows_backward(&y, cols, &dy, second);
            d
        };
        everywhere(run, |level, d| assert_close(level, d, &added(&expected.concat()), 5e-6));
    }
}

#[test]
fn segments_agree_with_f64_and_central_differences() {
    for (rows, entries) in [(1, 1), (40, 150), (2000, 30_000), (4, 0)] {
        let m = sparse(3, rows, 50, entries);
        let entries = m.columns.len();
        let (x, dy) = (numbers(1, entries, 3.0), numbers(2, entries, 1.0));
        let reference = |x: &[f64]| -> Vec<f64> {
            (0..m.rows).flat_map(|row| softmax(&x[m.view().entries(row)])).collect()
        };
        let run = || {
            let mut y = vec![f32::NAN; entries];
            segment_softmax(m.view(), &x, &mut y);
            let mut dx = vec![1.0; entries];
            segment_softmax_backward(m.view(), &y, &dy, &mut dx);
            y.extend(dx);
            y
        };
        let expected = reference(&exact(&x));
        everywhere(run, |level, got| {
            assert_close(level, &got[..entries], &expected, 1e-6);
            if entries < 1000 {
                let slopes = added(&slopes(|x| weighted(&reference(x), &dy), &x));
                assert_close(level, &got[entries..], &slopes, 5e-6);
            }
        });
    }
}

#[test]
fn a_row_of_minus_infinity_gives_zeros() {
    let x = [f32::NEG_INFINITY; 3];
    let mut y = [1.0; 3];
    softmax_rows(&x, 3, &mut y);
    assert_eq!(y, [0.0; 3]);
}
