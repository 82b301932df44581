//! Temporal attention against plain f64 loops, its gradients against central differences.

use super::*;
use crate::cpu::dropout::DropoutKey;
use crate::cpu::test_support::{added, assert_close, everywhere, exact, numbers, slopes, weighted};

struct Case {
    shape: AttentionShape,
    mask: Option<Vec<f32>>,
    causal: bool,
    dropout: Option<Dropout>,
}

const SCALE: f32 = 0.7;

impl Case {
    fn new(steps: usize, vertices: usize, heads: usize, width: usize, extras: bool) -> Self {
        let shape = AttentionShape { steps, vertices, heads, width };
        let mask = numbers(5, steps * vertices, 1.0).iter().map(|x| f32::from(*x > -0.4)).collect();
        let key = DropoutKey { seed: 3, stream: 1, step: 2 };
        let dropout = extras.then_some(Dropout { p: 0.25, key });
        Self { shape, mask: extras.then_some(mask), causal: extras, dropout }
    }

    fn inputs(&self) -> [Vec<f32>; 3] {
        let len = self.shape.steps * self.shape.vertices * self.shape.width;
        [1, 2, 3].map(|seed| numbers(seed, len, 1.0))
    }

    fn reference(&self, [q, k, v]: &[Vec<f64>; 3]) -> Vec<f64> {
        let AttentionShape { steps, vertices, heads, width } = self.shape;
        let d = width / heads;
        let there =
            |t: usize, n: usize| self.mask.as_ref().is_none_or(|m| m[t * vertices + n] != 0.0);
        let drop = self.dropout.map(Mask::from);
        let mut out = vec![0.0; q.len()];
        for n in 0..vertices {
            for head in 0..heads {
                for t in (0..steps).filter(|&t| there(t, n)) {
                    let at = |t: usize| (t * vertices + n) * width + head * d;
                    let others = (0..steps).filter(|&s| there(s, n) && (!self.causal || s <= t));
                    let scores: Vec<(usize, f64)> = others
                        .map(|s| {
                            let dot: f64 = (0..d).map(|j| q[at(t) + j] * k[at(s) + j]).sum();
                            (s, (f64::from(SCALE) * dot).exp())
                        })
                        .collect();
                    let total: f64 = scores.iter().map(|(_, e)| e).sum();
                    for (s, e) in scores {
                        let index = (((n * heads + head) * steps + s) * steps + t) as u64;
                        let factor = f64::from(drop.map_or(1.0, |drop| drop.factor(index)));
                        for j in 0..d {
                            out[at(t) + j] += e / total * factor * v[at(s) + j];
                        }
                    }
                }
            }
        }
        out
    }

    fn rule(&self) -> AttentionRule<'_> {
        let (mask, causal) = (self.mask.as_deref(), self.causal);
        AttentionRule { mask, causal, scale: SCALE, dropout: self.dropout, numbers: None }
    }

    fn forward(&self) -> Vec<f32> {
        let inputs = self.inputs();
        let mut out = vec![f32::NAN; inputs[0].len()];
        let inputs = inputs.each_ref().map(|x| &x[..]);
        attention_forward(self.shape, self.rule(), inputs, &mut out);
        out
    }

    fn backward(&self, d_out: &[f32]) -> Vec<f32> {
        let inputs = self.inputs();
        let mut gradients = inputs.each_ref().map(|x| vec![1.0; x.len()]);
        let inputs = inputs.each_ref().map(|x| &x[..]);
        let places = gradients.each_mut().map(|x| &mut x[..]);
        attention_backward(self.shape, self.rule(), inputs, d_out, places);
        gradients.concat()
    }
}

#[test]
fn results_agree_with_f64() {
    for (steps, vertices, heads, width) in
        [(1, 1, 1, 1), (4, 5, 2, 6), (17, 30, 4, 32), (8, 40, 8, 64), (3, 0, 1, 2), (9, 7, 1, 20)]
    {
        for extras in [false, true] {
            let case = Case::new(steps, vertices, heads, width, extras);
            let expected = case.reference(&case.inputs().map(|x| exact(&x)));
            everywhere(|| case.forward(), |level, out| assert_close(level, out, &expected, 5e-6));
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for (steps, vertices, heads, width) in [(1, 2, 1, 3), (5, 2, 2, 8), (4, 3, 1, 17)] {
        for extras in [false, true] {
            let case = Case::new(steps, vertices, heads, width, extras);
            let inputs = case.inputs();
            let x = inputs.each_ref().map(|x| exact(x));
            let d_out = numbers(9, x[0].len(), 1.0);
            let expected = (0..3).map(|which| {
                let loss = |changed: &[f64]| {
                    let mut x = x.clone();
                    x[which] = changed.to_vec();
                    weighted(&case.reference(&x), &d_out)
                };
                slopes(loss, &inputs[which])
            });
            let expected = added(&expected.collect::<Vec<_>>().concat());
            let run = || case.backward(&d_out);
            everywhere(run, |level, got| assert_close(level, got, &expected, 2e-5));
        }
    }
}

#[test]
fn a_vertex_that_is_never_there_gets_zeros() {
    let mut case = Case::new(3, 2, 1, 4, false);
    case.mask = Some(vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let out = case.forward();
    for t in 0..3 {
        assert_eq!(out[2 * t * 4..][..4], [0.0; 4]);
    }
}
