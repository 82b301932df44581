//! Graph attention over a sparse matrix: the aggregation of GAT.
//!
//! ```text
//! s(e, h) = leaky_relu(a_src[c, h] + a_dst[r, h])   for the entry e = (r, c) and head h
//! α = softmax of s over the entries of a row        out[r, h] = Σ α(e, h)·xw[c, h]
//! ```
//!
//! With `weighted` the sum is multiplied by the entry's value before the leaky relu (DySAT).
//! Dropout on α is by counter (entry · heads + head). α before dropout is saved [E, heads].
//! Rows without entries give zeros.
//!
//! The backward pass goes over rows for the scores and over the transposed matrix for the
//! sources, so that every output is written by one thread in a fixed order.

use super::dropout::{Dropout, Mask};
use super::scratch;
use super::simd::current;
use super::sparse_rows::{Part, for_each_range};
use super::spmm::CsrRef;

/// Multiply-adds of a block of rows.
const BLOCK: usize = 1 << 15;

/// Shape and options of a graph attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gat {
    /// Number of heads.
    pub heads: usize,
    /// Columns D of one head.
    pub width: usize,
    /// Slope of the leaky relu below 0.
    pub slope: f32,
    /// Whether the values of the matrix multiply the scores.
    pub weighted: bool,
}

impl Gat {
    fn block(&self) -> usize {
        (BLOCK / (self.heads * self.width).max(1)).max(16)
    }

    /// The score of an entry before the leaky relu.
    #[inline(always)]
    fn score(&self, value: f32, source: f32, destination: f32) -> f32 {
        let sum = source + destination;
        if self.weighted { value * sum } else { sum }
    }

    fn check(&self, m: CsrRef, xw: &[f32], a_src: &[f32], a_dst: &[f32]) {
        m.check();
        assert_eq!(a_dst.len(), m.rows * self.heads, "a destination term per row and head");
        assert_eq!(a_src.len() * self.width, xw.len(), "a source term per vertex and head");
    }
}

/// Writes `out` [rows, heads·D] and `alpha` [E, heads] for `xw` [N, heads·D], `a_src` [N, heads],
/// `a_dst` [rows, heads].
///
/// # Panics
///
/// When a length does not fit or a column lies outside `xw`.
#[allow(clippy::too_many_arguments)]
pub fn gat_forward(
    gat: Gat,
    m: CsrRef,
    xw: &[f32],
    a_src: &[f32],
    a_dst: &[f32],
    dropout: Option<Dropout>,
    out: &mut [f32],
    alpha: &mut [f32],
) {
    let (heads, d) = (gat.heads, gat.width);
    gat.check(m, xw, a_src, a_dst);
    assert_eq!(out.len(), m.rows * heads * d, "one row of results per row");
    assert_eq!(alpha.len(), m.columns.len() * heads, "one coefficient per entry and head");
    let drop = dropout.map(Mask::from);
    let cpu = current();
    let parts = [Part::rows(out, heads * d), Part::entries(alpha, heads)];
    for_each_range(m, gat.block(), parts, &|from, to, [out, alpha]| {
        let first = m.offsets[from] as usize;
        cpu.run(|| {
            for row in from..to {
                let entries = m.entries(row);
                let alpha =
                    &mut alpha.data[(entries.start - first) * heads..][..entries.len() * heads];
                let out = &mut out.data[(row - from) * heads * d..][..heads * d];
                out.fill(0.0);
                for (e, alpha) in entries.clone().zip(alpha.chunks_exact_mut(heads)) {
                    let source = &a_src[m.columns[e] as usize * heads..][..heads];
                    for h in 0..heads {
                        let s = gat.score(m.values[e], source[h], a_dst[row * heads + h]);
                        alpha[h] = if s > 0.0 { s } else { gat.slope * s };
                    }
                }
                softmax_columns(alpha, heads);
                for (e, alpha) in entries.zip(alpha.chunks_exact(heads)) {
                    let xw = &xw[m.columns[e] as usize * heads * d..][..heads * d];
                    for h in 0..heads {
                        let a = alpha[h] * factor(drop, e * heads + h);
                        add_scaled(a, &xw[h * d..(h + 1) * d], &mut out[h * d..(h + 1) * d]);
                    }
                }
            }
        });
    });
}

/// Adds the gradients of [`gat_forward`]. `transposed` has a row per source; `edge_of[i]` is the
/// position in `m` of its entry i.
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
pub fn gat_backward(
    gat: Gat,
    m: CsrRef,
    transposed: CsrRef,
    edge_of: &[u32],
    xw: &[f32],
    a_src: &[f32],
    a_dst: &[f32],
    dropout: Option<Dropout>,
    alpha: &[f32],
    d_out: &[f32],
    d_xw: Option<&mut [f32]>,
    d_a_src: Option<&mut [f32]>,
    d_a_dst: Option<&mut [f32]>,
) {
    let (heads, d) = (gat.heads, gat.width);
    gat.check(m, xw, a_src, a_dst);
    assert_eq!(alpha.len(), m.columns.len() * heads, "one coefficient per entry and head");
    assert_eq!(d_out.len(), m.rows * heads * d, "gradient of the result");
    assert_eq!(edge_of.len(), m.columns.len(), "one position per transposed entry");
    assert_eq!(transposed.rows * heads, a_src.len(), "a transposed row per source");
    let drop = dropout.map(Mask::from);
    let cpu = current();
    let mut slopes = scratch::take(alpha.len());
    let parts = [Part::maybe_rows(d_a_dst, heads), Part::entries(&mut slopes, heads)];
    for_each_range(m, gat.block(), parts, &|from, to, [d_a_dst, slopes]| {
        let first = m.offsets[from] as usize;
        cpu.run(|| {
            for row in from..to {
                let entries = m.entries(row);
                let d_out = &d_out[row * heads * d..][..heads * d];
                let slopes =
                    &mut slopes.data[(entries.start - first) * heads..][..entries.len() * heads];
                let alpha = &alpha[entries.start * heads..entries.end * heads];
                for (e, slopes) in entries.clone().zip(slopes.chunks_exact_mut(heads)) {
                    let xw = &xw[m.columns[e] as usize * heads * d..][..heads * d];
                    for (h, slope) in slopes.iter_mut().enumerate() {
                        let part = h * d..(h + 1) * d;
                        let factor = factor(drop, e * heads + h);
                        *slope = factor * dot(&d_out[part.clone()], &xw[part]);
                    }
                }
                for h in 0..heads {
                    let sum: f32 =
                        (h..alpha.len()).step_by(heads).map(|i| alpha[i] * slopes[i]).sum();
                    let mut total = 0.0;
                    for (e, i) in entries.clone().zip((h..).step_by(heads)) {
                        let source = a_src[m.columns[e] as usize * heads + h];
                        let s = gat.score(m.values[e], source, a_dst[row * heads + h]);
                        let leak = if s > 0.0 { 1.0 } else { gat.slope };
                        let value = if gat.weighted { m.values[e] } else { 1.0 };
                        slopes[i] = alpha[i] * (slopes[i] - sum) * leak * value;
                        total += slopes[i];
                    }
                    if d_a_dst.is_wanted() {
                        d_a_dst.data[(row - from) * heads + h] += total;
                    }
                }
            }
        });
    });
    let slopes = &slopes[..];
    let parts = [Part::maybe_rows(d_xw, heads * d), Part::maybe_rows(d_a_src, heads)];
    for_each_range(transposed, gat.block(), parts, &|from, to, [d_xw, d_a_src]| {
        cpu.run(|| {
            for row in from..to {
                for entry in transposed.entries(row) {
                    let e = edge_of[entry] as usize;
                    let destination = transposed.columns[entry] as usize;
                    if d_xw.is_wanted() {
                        let d_out = &d_out[destination * heads * d..][..heads * d];
                        let d_xw = &mut d_xw.data[(row - from) * heads * d..][..heads * d];
                        for h in 0..heads {
                            let a = alpha[e * heads + h] * factor(drop, e * heads + h);
                            let part = h * d..(h + 1) * d;
                            add_scaled(a, &d_out[part.clone()], &mut d_xw[part]);
                        }
                    }
                    if d_a_src.is_wanted() {
                        let d_a_src = &mut d_a_src.data[(row - from) * heads..][..heads];
                        for h in 0..heads {
                            d_a_src[h] += slopes[e * heads + h];
                        }
                    }
                }
            }
        });
    });
}

#[inline(always)]
fn factor(drop: Option<Mask>, index: usize) -> f32 {
    drop.map_or(1.0, |drop| drop.factor(index as u64))
}

/// Softmax over the rows of [entries, heads], per head.
#[inline(always)]
fn softmax_columns(x: &mut [f32], heads: usize) {
    for h in 0..heads {
        let mut max = f32::NEG_INFINITY;
        for i in (h..x.len()).step_by(heads) {
            max = max.max(x[i]);
        }
        let mut sum = 0.0;
        for i in (h..x.len()).step_by(heads) {
            x[i] = (x[i] - max).exp();
            sum += x[i];
        }
        let factor = 1.0 / sum;
        for i in (h..x.len()).step_by(heads) {
            x[i] *= factor;
        }
    }
}

#[inline(always)]
fn add_scaled(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
