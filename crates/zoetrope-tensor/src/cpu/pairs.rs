//! Scores of pairs of rows: a hidden layer that is linear in each end, relu, and a linear layer.
//!
//! ```text
//! h = relu(source[src] + destination[dst])      y = h·Wᵀ + b
//! ```
//!
//! A pair reads its two rows once and writes its results: 8·width + 8 bytes, of which the rows
//! mostly come from the second-level cache, since there are many more pairs than vertices. Nothing
//! is saved: the backward pass computes h again and writes the gradient of one end, which is that
//! of the other, for [`scatter_add_rows`](super::gather::scatter_add_rows).
//!
//! A result is summed along the row in whole vectors, then across the vector. Gradients of W and b
//! are summed in fixed blocks of pairs, added in order.

use pulp::{Simd, WithSimd};

use super::blocks::{for_each_block, sum_over_blocks};
use super::scattered::Scattered;
use super::simd::current;

/// Pairs of a block.
const BLOCK: usize = 1024;

/// Rows of both ends, the pairs, and the last layer.
#[derive(Debug, Clone, Copy)]
pub struct PairScores<'a> {
    /// A row for each vertex as a source, with the bias of the hidden layer.
    pub source: &'a [f32],
    /// A row for each vertex as a destination.
    pub destination: &'a [f32],
    /// Columns of both.
    pub width: usize,
    /// The rows of each pair.
    pub ends: [&'a [u32]; 2],
    /// `outputs × width`.
    pub weight: &'a [f32],
    /// One number for each output.
    pub bias: &'a [f32],
}

impl PairScores<'_> {
    fn check(&self, results: usize) {
        assert_eq!(self.ends[0].len(), self.ends[1].len(), "two ends each");
        assert_eq!(self.weight.len(), self.bias.len() * self.width, "outputs × width weights");
        assert_eq!(results, self.ends[0].len() * self.bias.len(), "outputs for each pair");
    }

    /// Both rows of a pair.
    #[inline(always)]
    fn rows(&self, pair: usize) -> [&[f32]; 2] {
        let [src, dst] = [self.ends[0][pair] as usize, self.ends[1][pair] as usize];
        let source = &self.source[src * self.width..][..self.width];
        [source, &self.destination[dst * self.width..][..self.width]]
    }
}

/// Writes `pairs × outputs` results.
///
/// # Panics
///
/// When a length does not fit or an end lies outside the rows.
pub fn pair_scores(pairs: PairScores, y: &mut [f32]) {
    pairs.check(y.len());
    let cpu = current();
    for_each_block(y, BLOCK * pairs.bias.len(), |i, y| {
        cpu.run(Forward { pairs, first: i * BLOCK, y });
    });
}

struct Forward<'a> {
    pairs: PairScores<'a>,
    first: usize,
    y: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { pairs, first, y } = self;
        let (width, outputs) = (pairs.width, pairs.bias.len());
        for at in 0..y.len() / outputs {
            let [s, t] = pairs.rows(first + at);
            for out in 0..outputs {
                let weight = &pairs.weight[out * width..][..width];
                y[at * outputs + out] = dot(simd, s, t, weight) + pairs.bias[out];
            }
        }
    }
}

/// relu(s + t), a vector.
#[inline(always)]
fn hidden<S: Simd>(simd: S, s: S::f32s, t: S::f32s) -> S::f32s {
    let (sum, zero) = (simd.add_f32s(s, t), simd.splat_f32s(0.0));
    simd.select_f32s(simd.greater_than_f32s(sum, zero), sum, zero)
}

/// Σ relu(s + t)·w.
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, s: &[f32], t: &[f32], w: &[f32]) -> f32 {
    let ((s, s_tail), (t, t_tail)) = (S::as_simd_f32s(s), S::as_simd_f32s(t));
    let (w, w_tail) = S::as_simd_f32s(w);
    let mut sum = simd.splat_f32s(0.0);
    for j in 0..s.len() {
        sum = simd.mul_add_e_f32s(hidden(simd, s[j], t[j]), w[j], sum);
    }
    if !s_tail.is_empty() {
        let (s, t) = (simd.partial_load_f32s(s_tail), simd.partial_load_f32s(t_tail));
        sum = simd.mul_add_e_f32s(hidden(simd, s, t), simd.partial_load_f32s(w_tail), sum);
    }
    simd.reduce_sum_f32s(sum)
}

/// Writes the gradient of each pair's sum of rows (`pairs × width`) to `d_rows` and adds those of
/// the last layer, weights then biases, to `d_layer`.
///
/// # Panics
///
/// When a length does not fit or an end lies outside the rows.
pub fn pair_scores_backward(
    pairs: PairScores,
    dy: &[f32],
    d_rows: &mut [f32],
    d_layer: &mut [f32],
) {
    pairs.check(dy.len());
    let (count, outputs, width) = (pairs.ends[0].len(), pairs.bias.len(), pairs.width);
    assert_eq!(d_rows.len(), count * width, "a row for each pair");
    assert_eq!(d_layer.len(), outputs * (width + 1), "weights and biases");
    let (cpu, d_rows) = (current(), Scattered::new(d_rows));
    sum_over_blocks(count.div_ceil(BLOCK), d_layer, |i, d_layer| {
        let first = i * BLOCK;
        let here = BLOCK.min(count - first);
        // SAFETY: the rows of this block's pairs, which no other block touches.
        #[allow(unsafe_code)]
        let d_rows = unsafe { d_rows.piece(first * width, here * width) };
        let dy = &dy[first * outputs..][..here * outputs];
        cpu.run(Backward { pairs, first, dy, d_rows, d_layer });
    });
}

struct Backward<'a> {
    pairs: PairScores<'a>,
    first: usize,
    dy: &'a [f32],
    d_rows: &'a mut [f32],
    d_layer: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { pairs, first, dy, d_rows, d_layer } = self;
        let (width, outputs) = (pairs.width, pairs.bias.len());
        let (d_weight, d_bias) = d_layer.split_at_mut(outputs * width);
        for at in 0..dy.len() / outputs {
            let dy = &dy[at * outputs..][..outputs];
            let d_row = &mut d_rows[at * width..][..width];
            let [s, t] = pairs.rows(first + at);
            d_row.fill(0.0);
            for out in 0..outputs {
                let range = out * width..(out + 1) * width;
                d_bias[out] += dy[out];
                let step = Step { dy: dy[out], s, t, weight: &pairs.weight[range.clone()] };
                step.run(simd, d_row, &mut d_weight[range]);
            }
        }
    }
}

/// One output of one pair.
struct Step<'a> {
    dy: f32,
    s: &'a [f32],
    t: &'a [f32],
    weight: &'a [f32],
}

impl Step<'_> {
    /// d_row += dy·w if the hidden value is above 0, d_weight += dy·hidden.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, d_row: &mut [f32], d_weight: &mut [f32]) {
        let ((s, s_tail), (t, t_tail)) = (S::as_simd_f32s(self.s), S::as_simd_f32s(self.t));
        let (w, w_tail) = S::as_simd_f32s(self.weight);
        let (d_row, d_row_tail) = S::as_mut_simd_f32s(d_row);
        let (d_weight, d_weight_tail) = S::as_mut_simd_f32s(d_weight);
        let dy = simd.splat_f32s(self.dy);
        for j in 0..s.len() {
            let (row, weight) = slopes(simd, dy, [s[j], t[j], w[j]], d_row[j], d_weight[j]);
            d_row[j] = row;
            d_weight[j] = weight;
        }
        if !s_tail.is_empty() {
            let (s, t) = (simd.partial_load_f32s(s_tail), simd.partial_load_f32s(t_tail));
            let x = [s, t, simd.partial_load_f32s(w_tail)];
            let row = simd.partial_load_f32s(d_row_tail);
            let weight = simd.partial_load_f32s(d_weight_tail);
            let (row, weight) = slopes(simd, dy, x, row, weight);
            simd.partial_store_f32s(d_row_tail, row);
            simd.partial_store_f32s(d_weight_tail, weight);
        }
    }
}

#[inline(always)]
fn slopes<S: Simd>(
    simd: S,
    dy: S::f32s,
    [s, t, w]: [S::f32s; 3],
    d_row: S::f32s,
    d_weight: S::f32s,
) -> (S::f32s, S::f32s) {
    let (h, zero) = (hidden(simd, s, t), simd.splat_f32s(0.0));
    let open = simd.select_f32s(simd.greater_than_f32s(h, zero), w, zero);
    (simd.mul_add_e_f32s(dy, open, d_row), simd.mul_add_e_f32s(dy, h, d_weight))
}
