//! The LSTM against a plain f64 loop, its gradients against central differences.

use super::*;
use crate::cpu::trial::{added, assert_close, everywhere, exact, numbers, slopes, weighted};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// States of all cells, then memories, written from the formulas. `x` is gi, h0, c0, u, bias.
fn reference(shape: LstmShape, x: &[Vec<f64>; 5], product: bool, mask: Option<&[f32]>) -> Vec<f64> {
    let [gi, h0, c0, u, bias] = x;
    let (n, h) = (shape.vertices, shape.hidden);
    let mut states = vec![0.0; shape.cells() * h];
    let mut memories = states.clone();
    for t in 0..shape.steps {
        for v in 0..n {
            let cell = t * n + v;
            let before = |first: &[f64], all: &[f64]| -> Vec<f64> {
                if t == 0 {
                    first[v * h..][..h].to_vec()
                } else {
                    all[(cell - n) * h..][..h].to_vec()
                }
            };
            let (state, memory) = (before(h0, &states), before(c0, &memories));
            for j in 0..h {
                let gate = |gate: usize| -> f64 {
                    let sum: f64 = (0..h).map(|l| u[(gate * h + j) * h + l] * state[l]).sum();
                    let sum = if product { sum } else { 0.0 };
                    gi[cell * 4 * h + gate * h + j] + sum + bias[gate * h + j]
                };
                let new = sigmoid(gate(1)) * memory[j] + sigmoid(gate(0)) * gate(2).tanh();
                let masked = mask.is_some_and(|m| m[cell] == 0.0);
                memories[cell * h + j] = if masked { memory[j] } else { new };
                states[cell * h + j] =
                    if masked { state[j] } else { sigmoid(gate(3)) * new.tanh() };
            }
        }
    }
    states.extend(memories);
    states
}

struct Case {
    shape: LstmShape,
    x: [Vec<f32>; 5],
    product: bool,
    mask: Option<Vec<f32>>,
}

impl Case {
    fn new(steps: usize, vertices: usize, hidden: usize, product: bool, masked: bool) -> Self {
        let shape = LstmShape { steps, vertices, hidden };
        let mask = numbers(5, shape.cells(), 1.0).iter().map(|x| f32::from(*x > -0.4)).collect();
        let x = [
            numbers(1, shape.cells() * 4 * hidden, 1.5),
            numbers(2, vertices * hidden, 1.0),
            numbers(3, vertices * hidden, 1.0),
            numbers(4, 4 * hidden * hidden, 1.0 / (hidden as f32).sqrt()),
            numbers(6, 4 * hidden, if masked { 0.5 } else { 0.0 }),
        ];
        Self { shape, x, product, mask: masked.then_some(mask) }
    }

    fn u(&self) -> Option<&[f32]> {
        self.product.then_some(&self.x[3])
    }

    fn exact(&self) -> [Vec<f64>; 5] {
        self.x.each_ref().map(|x| exact(x))
    }

    fn forward(&self) -> [Vec<f32>; 3] {
        let [gi, h0, c0, _, bias] = &self.x;
        let len = self.shape.cells() * self.shape.hidden;
        let [mut h, mut c] = [(); 2].map(|()| vec![f32::NAN; len]);
        let mut saved = vec![f32::NAN; lstm_saved_len(self.shape)];
        // Without a mask the bias is zeros: as good as none.
        let bias = self.mask.is_some().then_some(&bias[..]);
        let mask = self.mask.as_deref();
        let (u, shape) = (self.u(), self.shape);
        lstm_forward(shape, gi, h0, c0, u, bias, mask, &mut h, &mut c, &mut saved);
        [h, c, saved]
    }

    /// All gradients one after another, each added to ones.
    fn backward(&self, d: &[f32]) -> Vec<f32> {
        let [h, c, saved] = self.forward();
        let (d_h, d_c) = d.split_at(h.len());
        let [mut gi, mut h0, mut c0, mut u, mut bias] =
            self.x.each_ref().map(|x| vec![1.0; x.len()]);
        lstm_backward(
            self.shape,
            &self.x[1],
            &self.x[2],
            self.u(),
            self.mask.as_deref(),
            &h,
            &c,
            &saved,
            d_h,
            Some(d_c),
            Some(&mut gi),
            Some(&mut h0),
            Some(&mut c0),
            self.product.then_some(&mut u),
            Some(&mut bias),
        );
        [gi, h0, c0, u, bias].concat()
    }
}

#[test]
fn states_and_memories_agree_with_f64() {
    for (steps, vertices, hidden) in
        [(1, 1, 1), (3, 5, 7), (4, 130, 16), (2, 70, 33), (5, 3, 64), (1, 0, 4), (0, 4, 4)]
    {
        for (product, masked) in [(false, false), (true, false), (true, true), (false, true)] {
            let case = Case::new(steps, vertices, hidden, product, masked);
            let expected = reference(case.shape, &case.exact(), product, case.mask.as_deref());
            let run = || {
                let [h, c, _] = case.forward();
                [h, c].concat()
            };
            everywhere(run, |level, got| assert_close(level, got, &expected, 5e-6));
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for (steps, vertices, hidden) in [(1, 2, 3), (3, 4, 5), (2, 3, 17)] {
        for (product, masked) in [(false, false), (true, false), (true, true)] {
            let case = Case::new(steps, vertices, hidden, product, masked);
            let d = numbers(9, 2 * case.shape.cells() * hidden, 1.0);
            let x = case.exact();
            let expected = (0..5).map(|which| {
                let loss = |changed: &[f64]| {
                    let mut x = x.clone();
                    x[which] = changed.to_vec();
                    weighted(&reference(case.shape, &x, product, case.mask.as_deref()), &d)
                };
                slopes(loss, &case.x[which])
            });
            let expected = added(&expected.collect::<Vec<_>>().concat());
            everywhere(
                || case.backward(&d),
                |level, got| assert_close(level, got, &expected, 2e-5),
            );
        }
    }
}

#[test]
fn gradients_of_many_vertices_do_not_depend_on_threads() {
    let case = Case::new(2, 500, 9, true, true);
    let d = numbers(9, 2 * case.shape.cells() * 9, 1.0);
    everywhere(|| case.backward(&d), |_, got| assert!(got.iter().all(|x| x.is_finite())));
}
