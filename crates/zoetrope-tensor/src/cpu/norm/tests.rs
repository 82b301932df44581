//! Normalisations against f64 and central differences.

use super::*;
use crate::cpu::test_support::{added, assert_close, everywhere, exact, numbers, slopes, weighted};

const EPS: f32 = 1e-5;

/// Normalises groups of positions, then scales and shifts by column.
fn normalise(x: &[f64], cols: usize, by_row: bool, weight: &[f64], bias: &[f64]) -> Vec<f64> {
    let rows = x.len() / cols;
    let groups = if by_row { rows } else { cols };
    let mut y = vec![0.0; x.len()];
    for group in 0..groups {
        let members: Vec<usize> = if by_row {
            (group * cols..(group + 1) * cols).collect()
        } else {
            (group..x.len()).step_by(cols).collect()
        };
        let count = members.len() as f64;
        let mean = members.iter().map(|&i| x[i]).sum::<f64>() / count;
        let variance = members.iter().map(|&i| (x[i] - mean).powi(2)).sum::<f64>() / count;
        for i in members {
            let normal = (x[i] - mean) / (variance + f64::from(EPS)).sqrt();
            y[i] = normal * weight[i % cols] + bias[i % cols];
        }
    }
    y
}

fn forward_and_backward(by_row: bool, x: &[f32], w: &[f32], b: &[f32], dy: &[f32]) -> Vec<f32> {
    let cols = w.len();
    let rows = x.len() / cols;
    let mut y = vec![f32::NAN; x.len()];
    let [mut dx, mut dw, mut db] = [x.len(), cols, cols].map(|len| vec![1.0; len]);
    let (gradients, w) = ((Some(&mut dx[..]), Some(&mut dw[..]), Some(&mut db[..])), Some(w));
    if by_row {
        let mut statistics = vec![0.0; 2 * rows];
        layer_norm_forward(x, cols, EPS, w, Some(b), &mut y, &mut statistics);
        layer_norm_backward(x, cols, &statistics, w, dy, gradients.0, gradients.1, gradients.2);
    } else {
        let (mut mean, mut inverse) = (vec![0.0; cols], vec![0.0; cols]);
        batch_statistics(x, rows, cols, EPS, &mut mean, &mut inverse);
        batch_norm_forward(x, cols, &mean, &inverse, w, Some(b), &mut y);
        let (d_x, d_w, d_b) = gradients;
        let mode = Accumulate::Add;
        batch_norm_backward(x, cols, &mean, &inverse, w, dy, d_x, mode, d_w, d_b);
    }
    [y, dx, dw, db].concat()
}

#[test]
fn normalisations_and_gradients_agree_with_f64() {
    for by_row in [false, true] {
        for (rows, cols) in [(4, 3), (30, 17), (9, 40)] {
            let (x, dy) = (numbers(1, rows * cols, 2.0), numbers(2, rows * cols, 1.0));
            let (w, b) = (numbers(3, cols, 1.0), numbers(4, cols, 1.0));
            let (ex, ew, eb) = (exact(&x), exact(&w), exact(&b));
            let y = normalise(&ex, cols, by_row, &ew, &eb);
            let loss =
                |x: &[f64], w: &[f64], b: &[f64]| weighted(&normalise(x, cols, by_row, w, b), &dy);
            let expected = [
                y,
                added(&slopes(|x| loss(x, &ew, &eb), &x)),
                added(&slopes(|w| loss(&ex, w, &eb), &w)),
                added(&slopes(|b| loss(&ex, &ew, b), &b)),
            ]
            .concat();
            let run = || forward_and_backward(by_row, &x, &w, &b, &dy);
            everywhere(run, |level, got| assert_close(level, got, &expected, 1e-5));
        }
    }
}

#[test]
fn large_offsets_do_not_cancel_and_threads_do_not_matter() {
    for by_row in [false, true] {
        let cols = 20;
        let x: Vec<f32> = numbers(1, 5000 * cols, 1.0).iter().map(|x| x + 300.0).collect();
        let dy = numbers(2, x.len(), 1.0);
        let (w, b) = (vec![1.0; cols], vec![0.0; cols]);
        let expected = normalise(&exact(&x), cols, by_row, &vec![1.0; cols], &vec![0.0; cols]);
        let run = || forward_and_backward(by_row, &x, &w, &b, &dy);
        everywhere(run, |level, got| assert_close(level, &got[..x.len()], &expected, 2e-4));
    }
}

#[test]
fn given_statistics_give_a_plain_scaling() {
    let (mut y, mut dx) = ([0.0; 4], [1.0; 4]);
    let x = [1.0, 2.0, 3.0, 4.0];
    batch_norm_forward(&x, 2, &[1.0, 0.0], &[2.0, 0.5], None, Some(&[0.5, 0.0]), &mut y);
    assert_eq!(y, [0.5, 1.0, 4.5, 2.0]);
    batch_norm_fixed_backward(2, &[2.0, 0.5], Some(&[1.0, 3.0]), &[1.0; 4], &mut dx);
    assert_eq!(dx, [3.0, 2.5, 3.0, 2.5]);
}
