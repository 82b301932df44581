//! The LSTM against a plain f64 loop, its gradients against central differences.

use super::*;
use crate::cpu::recurrent::InputRows;
use crate::cpu::test_support::{added, assert_close, everywhere, exact, numbers, slopes, weighted};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// States of all cells, then the last memories, written from the formulas. `x` is the input, h0,
/// c0, u, bias and, if the input has `width` features, its weight and bias.
fn reference(case: &Case, x: &[Vec<f64>; 7]) -> Vec<f64> {
    let Case { shape, product, width, .. } = *case;
    let mask = case.mask.as_deref();
    let [input, h0, c0, u, bias, weight, input_bias] = x;
    let (n, h) = (shape.vertices, shape.hidden);
    let share = |cell: usize, gate: usize| -> f64 {
        let Some(width) = width else { return input[cell * 4 * h + gate] };
        let terms = (0..width).map(|l| input[cell * width + l] * weight[gate * width + l]);
        terms.sum::<f64>() + input_bias[gate]
    };
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
                    share(cell, gate * h + j) + sum + bias[gate * h + j]
                };
                let new = sigmoid(gate(1)) * memory[j] + sigmoid(gate(0)) * gate(2).tanh();
                let masked = mask.is_some_and(|m| m[cell] == 0.0);
                memories[cell * h + j] = if masked { memory[j] } else { new };
                states[cell * h + j] =
                    if masked { state[j] } else { sigmoid(gate(3)) * new.tanh() };
            }
        }
    }
    match shape.steps {
        0 => states.extend(c0),
        steps => states.extend(&memories[(steps - 1) * n * h..]),
    }
    states
}

struct Case {
    shape: LstmShape,
    x: [Vec<f32>; 7],
    product: bool,
    /// Features of the input's rows; none if the gates' share is given.
    width: Option<usize>,
    mask: Option<Vec<f32>>,
}

impl Case {
    fn new(
        [steps, vertices, hidden]: [usize; 3],
        width: Option<usize>,
        product: bool,
        masked: bool,
    ) -> Self {
        let shape = LstmShape { steps, vertices, hidden, whole: vertices };
        let mask = numbers(5, shape.cells(), 1.0).iter().map(|x| f32::from(*x > -0.4)).collect();
        let wide = 4 * hidden;
        let extra = width.unwrap_or(0);
        let x = [
            numbers(1, shape.cells() * width.unwrap_or(wide), 1.5),
            numbers(2, vertices * hidden, 1.0),
            numbers(3, vertices * hidden, 1.0),
            numbers(4, wide * hidden, 1.0 / (hidden as f32).sqrt()),
            numbers(6, wide, if masked { 0.5 } else { 0.0 }),
            numbers(7, wide * extra, 1.0 / (extra as f32).sqrt()),
            numbers(8, if extra > 0 { wide } else { 0 }, 0.5),
        ];
        Self { shape, x, product, width, mask: masked.then_some(mask) }
    }

    fn exact(&self) -> [Vec<f64>; 7] {
        self.x.each_ref().map(|x| exact(x))
    }

    fn call(&self) -> LstmCall<&[f32]> {
        let [input, h0, c0, u, bias, weight, input_bias] = &self.x;
        let input: Input<&[f32]> = match self.width {
            None => Input::Gates(input),
            Some(_) => {
                let bias = Some(&input_bias[..]);
                Input::Rows(InputRows { x: input, beside: None, weight, bias })
            }
        };
        LstmCall {
            shape: self.shape,
            input,
            h0,
            c0,
            u: self.product.then_some(u),
            // Without a mask the bias is zeros: as good as none.
            bias: self.mask.is_some().then_some(&bias[..]),
            mask: self.mask.as_deref(),
        }
    }

    fn forward(&self) -> [Vec<f32>; 3] {
        let LstmShape { vertices, hidden, .. } = self.shape;
        let mut h = vec![f32::NAN; self.shape.cells() * hidden];
        let mut c = vec![f32::NAN; vertices * hidden];
        let mut saved = vec![f32::NAN; lstm_saved_len(self.shape)];
        lstm_forward(&self.call(), &mut h, &mut c, &mut saved);
        [h, c, saved]
    }

    /// All gradients one after another, each added to ones; that of the input replaces.
    fn backward(&self, d: &[f32]) -> Vec<f32> {
        let [h, _, saved] = self.forward();
        let (d_h, d_c) = d.split_at(h.len());
        let [mut x, mut h0, mut c0, mut u, mut bias, mut weight, mut input_bias] =
            self.x.each_ref().map(|x| vec![1.0; x.len()]);
        let rows = self.width.is_some();
        let gradients: LstmGradients<&mut [f32]> = LstmGradients {
            input: InputGradient {
                x: Some((&mut x, Accumulate::Overwrite)),
                beside: None,
                weight: rows.then_some(&mut weight),
                bias: rows.then_some(&mut input_bias),
            },
            h0: Some(&mut h0),
            c0: Some(&mut c0),
            u: self.product.then_some(&mut u),
            bias: Some(&mut bias),
        };
        lstm_backward(&self.call(), &h, &saved, d_h, Some(d_c), None, gradients);
        x.iter_mut().for_each(|x| *x += 1.0);
        [x, h0, c0, u, bias, weight, input_bias].concat()
    }
}

#[test]
fn states_and_memories_agree_with_f64() {
    for (steps, vertices, hidden) in
        [(1, 1, 1), (3, 5, 7), (4, 130, 16), (2, 70, 33), (5, 3, 64), (1, 0, 4), (0, 4, 4)]
    {
        for (product, masked) in [(false, false), (true, false), (true, true), (false, true)] {
            for width in [None, Some(1), Some(16), Some(37)] {
                let case = Case::new([steps, vertices, hidden], width, product, masked);
                let expected = reference(&case, &case.exact());
                let run = || {
                    let [h, c, _] = case.forward();
                    [h, c].concat()
                };
                everywhere(run, |level, got| assert_close(level, got, &expected, 5e-6));
            }
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for (steps, vertices, hidden) in [(1, 2, 3), (3, 4, 5), (2, 3, 17), (2, 3, 16)] {
        for (product, masked) in [(false, false), (true, false), (true, true)] {
            for width in [None, Some(3)] {
                let case = Case::new([steps, vertices, hidden], width, product, masked);
                let d = numbers(9, (steps + 1) * vertices * hidden, 1.0);
                let x = case.exact();
                let expected = (0..7).map(|which| {
                    let loss = |changed: &[f64]| {
                        let mut x = x.clone();
                        x[which] = changed.to_vec();
                        weighted(&reference(&case, &x), &d)
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
}

#[test]
fn gradients_of_many_vertices_do_not_depend_on_threads() {
    for (hidden, width) in [(9, 5), (16, 20)] {
        let case = Case::new([2, 500, hidden], Some(width), true, true);
        let d = numbers(9, 3 * 500 * hidden, 1.0);
        everywhere(|| case.backward(&d), |_, got| assert!(got.iter().all(|x| x.is_finite())));
    }
}
