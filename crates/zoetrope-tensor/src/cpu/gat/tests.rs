//! Graph attention against plain f64 loops, its gradients against central differences.

use super::*;
use crate::cpu::dropout::DropoutKey;
use crate::cpu::test_support::{
    Sparse, added, assert_close, everywhere, exact, numbers, slopes, sparse, transposed, weighted,
};

struct Case {
    gat: Gat,
    m: Sparse,
    columns: usize,
    dropout: Option<Dropout>,
}

impl Case {
    fn new(rows: usize, columns: usize, entries: usize, gat: Gat, drop: bool) -> Self {
        let key = DropoutKey { seed: 3, stream: 1, step: 2 };
        let dropout = drop.then_some(Dropout { p: 0.25, key });
        Self { gat, m: sparse(8, rows, columns, entries), columns, dropout }
    }

    /// xw, a_src, a_dst.
    fn inputs(&self) -> [Vec<f32>; 3] {
        let Gat { heads, width, .. } = self.gat;
        [
            numbers(1, self.columns * heads * width, 1.0),
            numbers(2, self.columns * heads, 1.0),
            numbers(3, self.m.rows * heads, 1.0),
        ]
    }

    fn reference(&self, [xw, a_src, a_dst]: &[Vec<f64>; 3]) -> Vec<f64> {
        let Gat { heads, width, slope, weighted } = self.gat;
        let drop = self.dropout.map(Mask::from);
        let mut out = vec![0.0; self.m.rows * heads * width];
        for row in 0..self.m.rows {
            for h in 0..heads {
                let terms: Vec<(usize, f64)> = self
                    .m
                    .view()
                    .entries(row)
                    .map(|e| {
                        let c = self.m.columns[e] as usize;
                        let sum = a_src[c * heads + h] + a_dst[row * heads + h];
                        let s = if weighted { f64::from(self.m.values[e]) * sum } else { sum };
                        (e, if s > 0.0 { s } else { f64::from(slope) * s }.exp())
                    })
                    .collect();
                let total: f64 = terms.iter().map(|(_, s)| s).sum();
                for (e, s) in terms {
                    let factor = drop.map_or(1.0, |drop| drop.factor((e * heads + h) as u64));
                    let c = self.m.columns[e] as usize;
                    for j in 0..width {
                        out[(row * heads + h) * width + j] +=
                            s / total * f64::from(factor) * xw[(c * heads + h) * width + j];
                    }
                }
            }
        }
        out
    }

    fn forward(&self) -> (Vec<f32>, Vec<f32>) {
        let Gat { heads, width, .. } = self.gat;
        let [xw, a_src, a_dst] = self.inputs();
        let mut out = vec![f32::NAN; self.m.rows * heads * width];
        let mut alpha = vec![f32::NAN; self.m.columns.len() * heads];
        let m = self.m.view();
        gat_forward(self.gat, m, &xw, &a_src, &a_dst, self.dropout, &mut out, &mut alpha);
        (out, alpha)
    }

    fn backward(&self, d_out: &[f32]) -> Vec<f32> {
        let [xw, a_src, a_dst] = self.inputs();
        let (_, alpha) = self.forward();
        let (t, edge_of) = transposed(&self.m, self.columns);
        let [mut d_xw, mut d_src, mut d_dst] = self.inputs().map(|x| vec![1.0; x.len()]);
        gat_backward(
            self.gat,
            self.m.view(),
            t.view(),
            &edge_of,
            &xw,
            &a_src,
            &a_dst,
            self.dropout,
            &alpha,
            d_out,
            Some(&mut d_xw),
            Some(&mut d_src),
            Some(&mut d_dst),
        );
        [d_xw, d_src, d_dst].concat()
    }
}

fn gat(heads: usize, width: usize, weighted: bool) -> Gat {
    Gat { heads, width, slope: 0.2, weighted }
}

#[test]
fn results_agree_with_f64() {
    for (rows, columns, entries) in [(1, 1, 1), (9, 12, 30), (400, 300, 4000), (3, 2, 0)] {
        for (heads, width) in [(1, 1), (2, 5), (4, 8), (8, 16), (1, 33)] {
            for (weighted, drop) in [(false, false), (true, true)] {
                let case = Case::new(rows, columns, entries, gat(heads, width, weighted), drop);
                let expected = case.reference(&case.inputs().map(|x| exact(&x)));
                let run = || case.forward().0;
                everywhere(run, |level, out| assert_close(level, out, &expected, 5e-6));
            }
        }
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for (heads, width) in [(1, 1), (2, 3), (1, 17)] {
        for (weighted_scores, drop) in [(false, false), (true, true)] {
            let case = Case::new(6, 5, 14, gat(heads, width, weighted_scores), drop);
            let inputs = case.inputs();
            let x = inputs.each_ref().map(|x| exact(x));
            let d_out = numbers(9, 6 * heads * width, 1.0);
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
fn gradients_of_many_entries_do_not_depend_on_threads() {
    let case = Case::new(500, 400, 6000, gat(4, 8, true), true);
    let d_out = numbers(9, 500 * 32, 1.0);
    everywhere(|| case.backward(&d_out), |_, got| assert!(got.iter().all(|x| x.is_finite())));
}
