//! The GRU against a plain f64 loop, its gradients against central differences.

use super::*;
use crate::cpu::trial::{added, assert_close, everywhere, exact, numbers, slopes, weighted};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// States of all cells, written from the formulas.
fn reference(
    kind: GruKind,
    shape: GruShape,
    gi: &[f64],
    h0: &[f64],
    u: &[f64],
    bias: &[f64],
    mask: Option<&[f32]>,
) -> Vec<f64> {
    let (n, h) = (shape.vertices, shape.hidden);
    let mut out = vec![0.0; shape.cells() * h];
    for t in 0..shape.steps {
        for v in 0..n {
            let cell = t * n + v;
            let state: Vec<f64> = if t == 0 {
                h0[v * h..][..h].to_vec()
            } else {
                out[(cell - n) * h..][..h].to_vec()
            };
            let times = |gate: usize, x: &[f64], j: usize| -> f64 {
                (0..h).map(|l| u[(gate * h + j) * h + l] * x[l]).sum::<f64>() + bias[gate * h + j]
            };
            let gi = &gi[cell * 3 * h..][..3 * h];
            let r: Vec<f64> = (0..h).map(|j| sigmoid(gi[j] + times(0, &state, j))).collect();
            let reset: Vec<f64> = (0..h).map(|j| r[j] * state[j]).collect();
            for j in 0..h {
                let z = sigmoid(gi[h + j] + times(1, &state, j));
                let n = match kind {
                    GruKind::ResetAfter => gi[2 * h + j] + r[j] * times(2, &state, j),
                    GruKind::ResetBefore => gi[2 * h + j] + times(2, &reset, j),
                }
                .tanh();
                let masked = mask.is_some_and(|m| m[cell] == 0.0);
                out[cell * h + j] = if masked { state[j] } else { (1.0 - z) * n + z * state[j] };
            }
        }
    }
    out
}

struct Case {
    kind: GruKind,
    shape: GruShape,
    gi: Vec<f32>,
    h0: Vec<f32>,
    u: Vec<f32>,
    bias: Option<Vec<f32>>,
    mask: Option<Vec<f32>>,
}

impl Case {
    fn new(kind: GruKind, steps: usize, vertices: usize, hidden: usize, extras: bool) -> Self {
        let shape = GruShape { steps, vertices, hidden };
        let mask = numbers(5, shape.cells(), 1.0).iter().map(|x| f32::from(*x > -0.4)).collect();
        Self {
            kind,
            shape,
            gi: numbers(1, shape.cells() * 3 * hidden, 1.5),
            h0: numbers(2, vertices * hidden, 1.0),
            u: numbers(3, 3 * hidden * hidden, 1.0 / (hidden as f32).sqrt()),
            bias: extras.then(|| numbers(4, 3 * hidden, 0.5)),
            mask: extras.then_some(mask),
        }
    }

    fn forward(&self) -> (Vec<f32>, Vec<f32>) {
        let mut out = vec![f32::NAN; self.shape.cells() * self.shape.hidden];
        let mut saved = vec![f32::NAN; gru_saved_len(self.kind, self.shape)];
        let (bias, mask) = (self.bias.as_deref(), self.mask.as_deref());
        let (kind, shape) = (self.kind, self.shape);
        gru_forward(kind, shape, &self.gi, &self.h0, &self.u, bias, mask, &mut out, &mut saved);
        (out, saved)
    }

    /// All gradients one after another, each added to ones.
    fn backward(&self, d_out: &[f32]) -> Vec<f32> {
        let (out, saved) = self.forward();
        let lens = [self.gi.len(), self.h0.len(), self.u.len(), 3 * self.shape.hidden];
        let [mut gi, mut h0, mut u, mut bias] = lens.map(|len| vec![1.0; len]);
        gru_backward(
            self.kind,
            self.shape,
            &self.h0,
            &self.u,
            self.mask.as_deref(),
            &out,
            &saved,
            d_out,
            Some(&mut gi),
            Some(&mut h0),
            Some(&mut u),
            Some(&mut bias),
        );
        [gi, h0, u, bias].concat()
    }

    fn exact_bias(&self) -> Vec<f64> {
        self.bias.as_ref().map_or(vec![0.0; 3 * self.shape.hidden], |bias| exact(bias))
    }
}

#[test]
fn states_agree_with_f64() {
    for kind in [GruKind::ResetAfter, GruKind::ResetBefore] {
        for (steps, vertices, hidden) in
            [(1, 1, 1), (3, 5, 7), (4, 130, 16), (2, 70, 33), (5, 3, 64), (1, 0, 4), (0, 4, 4)]
        {
            for extras in [false, true] {
                let case = Case::new(kind, steps, vertices, hidden, extras);
                let expected = reference(
                    kind,
                    case.shape,
                    &exact(&case.gi),
                    &exact(&case.h0),
                    &exact(&case.u),
                    &case.exact_bias(),
                    case.mask.as_deref(),
                );
                everywhere(
                    || case.forward().0,
                    |level, out| assert_close(level, out, &expected, 5e-6),
                );
            }
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for kind in [GruKind::ResetAfter, GruKind::ResetBefore] {
        for (steps, vertices, hidden) in [(1, 2, 3), (3, 4, 5), (2, 3, 17)] {
            for extras in [false, true] {
                let case = Case::new(kind, steps, vertices, hidden, extras);
                let d_out = numbers(9, case.shape.cells() * hidden, 1.0);
                let x = [exact(&case.gi), exact(&case.h0), exact(&case.u), case.exact_bias()];
                let loss = |which: usize, changed: &[f64]| {
                    let mut x = x.clone();
                    x[which] = changed.to_vec();
                    let [gi, h0, u, bias] = &x;
                    let mask = case.mask.as_deref();
                    weighted(&reference(kind, case.shape, gi, h0, u, bias, mask), &d_out)
                };
                let bias = case.bias.clone().unwrap_or(vec![0.0; 3 * hidden]);
                let expected = [
                    slopes(|x| loss(0, x), &case.gi),
                    slopes(|x| loss(1, x), &case.h0),
                    slopes(|x| loss(2, x), &case.u),
                    slopes(|x| loss(3, x), &bias),
                ]
                .concat();
                let run = || case.backward(&d_out);
                everywhere(run, |level, got| assert_close(level, got, &added(&expected), 2e-5));
            }
        }
    }
}

#[test]
fn gradients_of_many_vertices_do_not_depend_on_threads() {
    for kind in [GruKind::ResetAfter, GruKind::ResetBefore] {
        let case = Case::new(kind, 2, 500, 9, true);
        let d_out = numbers(9, case.shape.cells() * 9, 1.0);
        everywhere(|| case.backward(&d_out), |_, got| assert!(got.iter().all(|x| x.is_finite())));
    }
}
