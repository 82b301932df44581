//! Losses against f64 and central differences.

use super::*;
use crate::cpu::test_support::{added, assert_close, everywhere, numbers, slopes};

type Term = fn(f64, f64) -> f64;
type Value = fn(&[f32], &[f32], Option<&[f32]>) -> f32;
type Slope = fn(&[f32], &[f32], Option<&[f32]>, f32, &mut [f32]);

const POSITIVE: f32 = 1.7;

fn losses() -> [(Term, Value, Slope); 3] {
    [
        (|p, t| (p - t) * (p - t), mse, mse_backward),
        (|p, t| (p - t).abs(), mae, mae_backward),
        (
            |x, t| {
                let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
                f64::from(POSITIVE) * t * softplus(-x) + (1.0 - t) * softplus(x)
            },
            |x, t, w| bce_with_logits(x, t, POSITIVE, w),
            |x, t, w, d, out| bce_with_logits_backward(x, t, POSITIVE, w, d, out),
        ),
    ]
}

fn weights(len: usize) -> Vec<f32> {
    numbers(7, len, 1.0).iter().map(|w| w.max(0.0)).collect()
}

#[test]
fn losses_and_gradients_agree_with_f64() {
    let len = 301;
    let p = numbers(1, len, 3.0);
    let t: Vec<f32> = numbers(2, len, 1.0).iter().map(|t| t.abs()).collect();
    let w = weights(len);
    for (term, value, slope) in losses() {
        for weight in [None, Some(&w[..])] {
            let exact = |p: &[f64]| -> f64 {
                let weight = |i: usize| weight.map_or(1.0, |w| f64::from(w[i]));
                let total: f64 = (0..len).map(weight).sum();
                (0..len).map(|i| weight(i) * term(p[i], f64::from(t[i]))).sum::<f64>() / total
            };
            let expected: Vec<f64> = slopes(exact, &p).iter().map(|x| 2.0 * x).collect();
            let at: Vec<f64> = p.iter().map(|&p| f64::from(p)).collect();
            let run = || {
                let mut d = vec![1.0; len];
                slope(&p, &t, weight, 2.0, &mut d);
                d.push(value(&p, &t, weight));
                d
            };
            everywhere(run, |level, got| {
                assert_close(level, &got[..len], &added(&expected), 1e-6);
                assert_close(level, &got[len..], &[exact(&at)], 1e-6);
            });
        }
    }
}

#[test]
fn weights_of_zero_hide_everything_even_nan() {
    for (_, value, slope) in losses() {
        let (p, t) = ([f32::NAN, 1.0], [0.0, 0.5]);
        let mut d = [3.0; 2];
        assert_eq!(value(&p, &t, Some(&[0.0, 0.0])), 0.0);
        slope(&p, &t, Some(&[0.0, 0.0]), 1.0, &mut d);
        assert_eq!(d, [3.0; 2]);
        assert_eq!(value(&p, &t, Some(&[0.0, 2.0])), value(&p[1..], &t[1..], None));
        slope(&p, &t, Some(&[0.0, 2.0]), 1.0, &mut d);
        assert!(d[0] == 3.0 && d[1].is_finite());
        assert_eq!(value(&[], &[], None), 0.0);
    }
}

#[test]
fn cross_entropy_and_its_gradient_agree_with_f64() {
    let (rows, classes) = (45, 7);
    let logits = numbers(1, rows * classes, 20.0);
    let target: Vec<u32> = (0..rows as u32).map(|i| i * i % 7).collect();
    let w = weights(rows);
    for weight in [None, Some(&w[..])] {
        let exact = |x: &[f64]| -> f64 {
            let weight = |i: usize| weight.map_or(1.0, |w| f64::from(w[i]));
            let total: f64 = (0..rows).map(weight).sum();
            let terms = (0..rows).map(|i| {
                let x = &x[i * classes..][..classes];
                let sum: f64 = x.iter().map(|x| x.exp()).sum();
                weight(i) * (sum.ln() - x[target[i] as usize])
            });
            terms.sum::<f64>() / total
        };
        let expected = slopes(exact, &logits);
        let at: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
        let run = || {
            let mut d = vec![1.0; logits.len()];
            cross_entropy_backward(&logits, classes, &target, weight, 1.0, &mut d);
            d.push(cross_entropy(&logits, classes, &target, weight));
            d
        };
        everywhere(run, |level, got| {
            assert_close(level, &got[..logits.len()], &added(&expected), 1e-6);
            assert_close(level, &got[logits.len()..], &[exact(&at)], 1e-6);
        });
    }
    let mut d = [0.0; 2];
    assert_eq!(cross_entropy(&[1.0, 2.0], 2, &[0], Some(&[0.0])), 0.0);
    cross_entropy_backward(&[1.0, 2.0], 2, &[0], Some(&[0.0]), 1.0, &mut d);
    assert_eq!(d, [0.0; 2]);
}
