//! The GRU against a plain f64 loop, its gradients against central differences.

use super::*;
use crate::cpu::recurrent::InputRows;
use crate::cpu::test_support::{added, assert_close, everywhere, exact, numbers, slopes, weighted};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// States of all cells, written from the formulas. `x` is the input, h0, u, bias and, if the
/// input has `width` features, its weight and bias.
fn reference(case: &Case, x: &[Vec<f64>; 6]) -> Vec<f64> {
    let Case { kind, shape, width, .. } = *case;
    let mask = case.mask.as_deref();
    let [input, h0, u, bias, weight, input_bias] = x;
    let (n, h) = (shape.vertices, shape.hidden);
    let share = |cell: usize, gate: usize| -> f64 {
        let Some(width) = width else { return input[cell * 3 * h + gate] };
        let terms = (0..width).map(|l| input[cell * width + l] * weight[gate * width + l]);
        terms.sum::<f64>() + input_bias[gate]
    };
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
            let gi: Vec<f64> = (0..3 * h).map(|gate| share(cell, gate)).collect();
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
    x: [Vec<f32>; 6],
    /// Features of the input's rows; none if the gates' share is given.
    width: Option<usize>,
    mask: Option<Vec<f32>>,
}

impl Case {
    /// With `extras` there are a bias and a mask.
    fn new(
        kind: GruKind,
        [steps, vertices, hidden]: [usize; 3],
        width: Option<usize>,
        extras: bool,
    ) -> Self {
        let shape = GruShape { steps, vertices, hidden, whole: vertices };
        let mask = numbers(5, shape.cells(), 1.0).iter().map(|x| f32::from(*x > -0.4)).collect();
        let (wide, extra) = (3 * hidden, width.unwrap_or(0));
        let x = [
            numbers(1, shape.cells() * width.unwrap_or(wide), 1.5),
            numbers(2, vertices * hidden, 1.0),
            numbers(3, wide * hidden, 1.0 / (hidden as f32).sqrt()),
            numbers(4, wide, if extras { 0.5 } else { 0.0 }),
            numbers(6, wide * extra, 1.0 / (extra as f32).sqrt()),
            numbers(7, if extra > 0 { wide } else { 0 }, 0.5),
        ];
        Self { kind, shape, x, width, mask: extras.then_some(mask) }
    }

    fn exact(&self) -> [Vec<f64>; 6] {
        self.x.each_ref().map(|x| exact(x))
    }

    fn call(&self) -> GruCall<&[f32]> {
        let [input, h0, u, bias, weight, input_bias] = &self.x;
        let input: Input<&[f32]> = match self.width {
            None => Input::Gates(input),
            Some(_) => {
                let bias = Some(&input_bias[..]);
                Input::Rows(InputRows { x: input, beside: None, weight, bias })
            }
        };
        let (kind, shape) = (self.kind, self.shape);
        // Without a mask the bias is zeros: as good as none.
        let bias = self.mask.is_some().then_some(&bias[..]);
        GruCall { kind, shape, input, h0, u, bias, mask: self.mask.as_deref() }
    }

    fn forward(&self) -> (Vec<f32>, Vec<f32>) {
        let mut out = vec![f32::NAN; self.shape.cells() * self.shape.hidden];
        let mut saved = vec![f32::NAN; gru_saved_len(self.kind, self.shape)];
        gru_forward(&self.call(), &mut out, &mut saved);
        let mut alone = vec![f32::NAN; out.len()];
        gru_forward(&self.call(), &mut alone, &mut []);
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&alone), bits(&out), "nothing saved");
        (out, saved)
    }

    /// All gradients one after another, each added to ones; that of the input replaces.
    fn backward(&self, d_out: &[f32]) -> Vec<f32> {
        let (out, saved) = self.forward();
        let [mut x, mut h0, mut u, mut bias, mut weight, mut input_bias] =
            self.x.each_ref().map(|x| vec![1.0; x.len()]);
        let rows = self.width.is_some();
        let gradients: GruGradients<&mut [f32]> = GruGradients {
            input: InputGradient {
                x: Some((&mut x, Accumulate::Overwrite)),
                beside: None,
                weight: rows.then_some(&mut weight),
                bias: rows.then_some(&mut input_bias),
            },
            h0: Some(&mut h0),
            u: Some(&mut u),
            bias: Some(&mut bias),
        };
        gru_backward(&self.call(), &out, &saved, d_out, gradients);
        x.iter_mut().for_each(|x| *x += 1.0);
        [x, h0, u, bias, weight, input_bias].concat()
    }
}

#[test]
fn one_step_of_many_vertices_has_the_gradients_of_the_general_way() {
    for hidden in [7, 16] {
        for (extras, beside) in [(false, false), (true, true)] {
            let case = Case::new(GruKind::ResetAfter, [1, 300, hidden], Some(21), extras);
            let d_out = numbers(9, 300 * hidden, 1.0);
            let (out, saved) = case.forward();
            // With something beside, the last eight features are it.
            let left = if beside { 13 } else { 21 };
            let columns = |range: std::ops::Range<usize>| -> Vec<f32> {
                case.x[0].chunks_exact(21).flat_map(|row| row[range.clone()].to_vec()).collect()
            };
            let (x, more) = (columns(0..left), columns(left..21));
            let mut call = case.call();
            if let Input::Rows(rows) = &mut call.input {
                rows.x = &x;
                rows.beside = beside.then_some(&more);
            }
            assert!(one_step::pays(&call));
            let run = |one_step: bool| {
                let [mut d_h0, mut u, mut bias, mut weight, mut input_bias] =
                    [1, 2, 3, 4, 5].map(|which| vec![1.0; case.x[which].len()]);
                let (mut d_x, mut d_more) = (vec![1.0; x.len()], vec![1.0; more.len()]);
                let gradients: GruGradients<&mut [f32]> = GruGradients {
                    input: InputGradient {
                        x: Some((&mut d_x, Accumulate::Overwrite)),
                        beside: beside.then_some((&mut d_more[..], Accumulate::Add)),
                        weight: Some(&mut weight),
                        bias: Some(&mut input_bias),
                    },
                    h0: extras.then_some(&mut d_h0),
                    u: Some(&mut u),
                    bias: Some(&mut bias),
                };
                if one_step {
                    one_step::backward(&call, &saved, &d_out, gradients)
                } else {
                    sequence_backward(&call, &out, &saved, &d_out, gradients)
                }
                [d_x, d_more, d_h0, u, bias, weight, input_bias].concat()
            };
            let expected = exact(&run(false));
            everywhere(|| run(true), |level, got| assert_close(level, got, &expected, 2e-5));
        }
    }
}

const KINDS: [GruKind; 2] = [GruKind::ResetAfter, GruKind::ResetBefore];

#[test]
fn states_agree_with_f64() {
    for kind in KINDS {
        for (steps, vertices, hidden) in
            [(1, 1, 1), (3, 5, 7), (4, 130, 16), (2, 70, 33), (5, 3, 64), (1, 0, 4), (0, 4, 4)]
        {
            for width in [None, Some(1), Some(16), Some(37)] {
                for extras in [false, true] {
                    let case = Case::new(kind, [steps, vertices, hidden], width, extras);
                    let expected = reference(&case, &case.exact());
                    everywhere(
                        || case.forward().0,
                        |level, out| assert_close(level, out, &expected, 5e-6),
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for kind in KINDS {
        for (steps, vertices, hidden) in [(1, 2, 3), (3, 4, 5), (2, 3, 17), (2, 3, 16)] {
            for (width, extras) in [(None, false), (None, true), (Some(3), false), (Some(3), true)]
            {
                let case = Case::new(kind, [steps, vertices, hidden], width, extras);
                let d_out = numbers(9, case.shape.cells() * hidden, 1.0);
                let x = case.exact();
                let expected = (0..6).map(|which| {
                    let loss = |changed: &[f64]| {
                        let mut x = x.clone();
                        x[which] = changed.to_vec();
                        weighted(&reference(&case, &x), &d_out)
                    };
                    slopes(loss, &case.x[which])
                });
                let expected = added(&expected.collect::<Vec<_>>().concat());
                let run = || case.backward(&d_out);
                everywhere(run, |level, got| assert_close(level, got, &expected, 2e-5));
            }
        }
    }
}

#[test]
fn gradients_of_many_vertices_do_not_depend_on_threads() {
    for kind in KINDS {
        for (hidden, width) in [(9, 5), (16, 20)] {
            let case = Case::new(kind, [2, 500, hidden], Some(width), true);
            let d = numbers(9, case.shape.cells() * hidden, 1.0);
            everywhere(|| case.backward(&d), |_, got| assert!(got.iter().all(|x| x.is_finite())));
        }
    }
}

#[test]
fn vertices_that_are_alike_have_the_states_that_each_has_alone() {
    for kind in [GruKind::ResetAfter, GruKind::ResetBefore] {
        for (hidden, width, values) in [(16, 1, 2.0), (32, 2, 1.0), (23, 1, 2.0)] {
            let mut case = Case::new(kind, [3, 1500, hidden], Some(width), false);
            // Few values, so that there are fewer classes than vertices; a negative zero is one of them.
            case.x[0].iter_mut().for_each(|x| *x = (*x * values / 1.5).round());
            case.x[1].fill(0.0);
            let inputs = [Some((&case.x[0][..], width)), None];
            let alike = Alike::find(case.shape, 3, inputs, &case.x[1]).expect("many are alike");
            let classes = alike.shape(case.shape).vertices;
            assert!((3..1300).contains(&classes), "{classes} classes");
            alike.give_back();
            // Without a backward pass and with one: the latter computes every vertex.
            everywhere(|| case.forward().0, |_, _| {});
        }
    }
}

#[test]
fn vertices_are_not_compared_if_that_cannot_pay() {
    let case = Case::new(GruKind::ResetBefore, [3, 2000, 16], Some(1), false);
    let zeros = vec![0.0; case.x[1].len()];
    let found = |x: &[f32], width, state: &[f32]| {
        let inputs = [Some((x, width)), None];
        Alike::find(case.shape, 3, inputs, state).map(Alike::give_back).is_some()
    };
    let same = vec![1.0; case.x[0].len()];
    assert!(found(&same, 1, &zeros));
    assert!(!found(&case.x[0], 1, &zeros), "all differ");
    assert!(!found(&same, 1, &case.x[1]), "first states differ");
    let wide = vec![1.0; 4 * same.len()];
    assert!(!found(&wide, 4, &zeros), "as much to compare as to compute");
}
