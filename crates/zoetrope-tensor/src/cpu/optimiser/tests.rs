//! Optimisers against their formulas in f64.

use super::*;
use crate::cpu::test_support::{assert_close, everywhere, numbers};

const LEN: usize = 40_007;
const STEPS: u64 = 5;

fn gradients(step: u64) -> Vec<f32> {
    numbers(10 + step, LEN, 1.0)
}

/// Runs a formula in f64 over the steps; it gets the step, the parameter, the gradient and
/// two values of state.
fn reference(f: impl Fn(u64, f64, f64, &mut [f64; 2]) -> f64) -> Vec<f64> {
    let mut p: Vec<f64> = numbers(1, LEN, 1.0).iter().map(|&x| f64::from(x)).collect();
    let mut state = vec![[0.0; 2]; LEN];
    for step in 1..=STEPS {
        for ((p, g), state) in p.iter_mut().zip(gradients(step)).zip(&mut state) {
            *p = f(step, *p, f64::from(g), state);
        }
    }
    p
}

fn check(
    step: impl Fn(u64, &mut [f32], &[f32], &mut [f32], &mut [f32]) + Sync,
    formula: impl Fn(u64, f64, f64, &mut [f64; 2]) -> f64,
) {
    let expected = reference(formula);
    let run = || {
        let mut p = numbers(1, LEN, 1.0);
        let [mut a, mut b] = [(); 2].map(|()| vec![0.0; LEN]);
        for t in 1..=STEPS {
            step(t, &mut p, &gradients(t), &mut a, &mut b);
        }
        p
    };
    everywhere(run, |level, p| assert_close(level, p, &expected, 2e-5));
}

#[test]
fn gradient_descent_follows_its_formula() {
    for (momentum, nesterov) in [(0.0, false), (0.9, false), (0.9, true)] {
        let o = Sgd { lr: 0.1, momentum, weight_decay: 0.01, nesterov };
        check(
            |_, p, g, v, _| sgd_step(o, p, g, v),
            |_, p, g, [v, _]| {
                let g = g + 0.01 * p;
                *v = f64::from(momentum) * *v + g;
                p - 0.1 * if nesterov { g + f64::from(momentum) * *v } else { *v }
            },
        );
    }
}

#[test]
fn adam_and_adamw_follow_their_formulas() {
    for decoupled in [false, true] {
        let o =
            Adam { lr: 0.01, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.1, decoupled };
        check(
            |t, p, g, m, v| adam_step(o, t, p, g, m, v),
            |t, p, g, [m, v]| {
                let (b1, b2) = (f64::from(o.beta1), f64::from(o.beta2));
                let (p, g) = if decoupled { (p * (1.0 - 1e-3), g) } else { (p, g + 0.1 * p) };
                *m = b1 * *m + (1.0 - b1) * g;
                *v = b2 * *v + (1.0 - b2) * g * g;
                let (m, v) = (*m / (1.0 - b1.powf(t as f64)), *v / (1.0 - b2.powf(t as f64)));
                p - 0.01 * m / (v.sqrt() + 1e-8)
            },
        );
    }
}

#[test]
fn rmsprop_follows_its_formula() {
    for momentum in [0.0, 0.9] {
        let o = RmsProp { lr: 0.01, alpha: 0.9, eps: 1e-6, weight_decay: 0.1, momentum };
        check(
            |_, p, g, s, v| rmsprop_step(o, p, g, s, v),
            |_, p, g, [s, v]| {
                let g = g + 0.1 * p;
                *s = 0.9 * *s + 0.1 * g * g;
                *v = f64::from(momentum) * *v + g / (s.sqrt() + 1e-6);
                p - 0.01 * *v
            },
        );
    }
}
