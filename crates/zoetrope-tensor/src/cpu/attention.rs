//! Temporal self-attention: every vertex attends over its own time steps.
//!
//! ```text
//! P = softmax(scale · Q·Kᵀ)   over the steps that are there (and not later, if causal)
//! out = P·V                   per vertex and head
//! ```
//!
//! Q, K, V are [T·N, D] stacked by time; a head owns D / heads consecutive columns. The
//! probabilities [N, heads, T, T] are saved. A cell that is not there (mask 0) is attended to by
//! nobody and gets zeros, as does one with nothing to attend to. Vertices are independent: blocks
//! of them run in parallel.

use super::blocks::for_each_block;
use super::dropout::{Dropout, Mask};
use super::scratch;
use super::shared::Shared;
use super::simd::current;

/// Multiply-adds of a block of vertices.
const BLOCK: usize = 1 << 16;

/// Shape of a temporal self-attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionShape {
    /// Number of time steps T.
    pub steps: usize,
    /// Number of vertices N.
    pub vertices: usize,
    /// Number of heads; divides the width.
    pub heads: usize,
    /// Columns D of queries, keys, values and result.
    pub width: usize,
}

impl AttentionShape {
    /// Elements of the saved probabilities.
    pub fn probabilities_len(&self) -> usize {
        self.vertices * self.per_vertex()
    }

    fn per_vertex(&self) -> usize {
        self.heads * self.steps * self.steps
    }

    fn vertices_per_block(&self) -> usize {
        (BLOCK / (2 * self.steps * self.steps * self.width).max(1)).max(1)
    }

    fn check(&self, matrices: &[&[f32]], probabilities: usize) {
        assert!(self.heads > 0 && self.width.is_multiple_of(self.heads), "heads divide the width");
        for matrix in matrices {
            assert_eq!(matrix.len(), self.steps * self.vertices * self.width, "[T·N, D]");
        }
        assert_eq!(probabilities, self.probabilities_len(), "probabilities");
    }

    fn row(&self, step: usize, vertex: usize) -> usize {
        (step * self.vertices + vertex) * self.width
    }
}

/// Writes the result `out` [T·N, D] and the `probabilities` [N, heads, T, T], before dropout.
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn attention_forward(
    shape: AttentionShape,
    q: &[f32],
    k: &[f32],
    v: &[f32],
    mask: Option<&[f32]>,
    causal: bool,
    scale: f32,
    dropout: Option<Dropout>,
    out: &mut [f32],
    probabilities: &mut [f32],
) {
    shape.check(&[q, k, v, out], probabilities.len());
    assert!(mask.is_none_or(|m| m.len() == shape.steps * shape.vertices), "a mask value per cell");
    let (t, d) = (shape.steps, shape.width / shape.heads);
    let drop = dropout.map(Mask::from);
    let out = Shared::new(out);
    let cpu = current();
    let per_block = shape.vertices_per_block();
    for_each_block(probabilities, per_block * shape.per_vertex(), |i, probabilities| {
        let mut keys = scratch::take(t * shape.width);
        let blocks = probabilities.chunks_exact_mut(shape.per_vertex());
        for (vertex, probabilities) in (i * per_block..).zip(blocks) {
            let is_there =
                |step: usize| mask.is_none_or(|m| m[step * shape.vertices + vertex] != 0.0);
            cpu.run(|| transpose_rows(shape, vertex, k, &mut keys));
            for step in 0..t {
                let at = shape.row(step, vertex);
                // SAFETY: this vertex's row of this step, which belongs to this block alone.
                let out = unsafe { out.piece(at, shape.width) };
                out.fill(0.0);
                let q = &q[at..at + shape.width];
                let last = if causal { step + 1 } else { t };
                for head in 0..shape.heads {
                    let p = &mut probabilities[(head * t + step) * t..][..t];
                    p.fill(0.0);
                    if !is_there(step) {
                        continue;
                    }
                    let keys = &keys[head * d * t..(head + 1) * d * t];
                    cpu.run(|| scores(&q[head * d..(head + 1) * d], keys, scale, p));
                    for (j, p) in p.iter_mut().enumerate() {
                        if j >= last || !is_there(j) {
                            *p = f32::NEG_INFINITY;
                        }
                    }
                    softmax_in_place(p);
                    let first = ((vertex * shape.heads + head) * t + step) * t;
                    let out = &mut out[head * d..(head + 1) * d];
                    cpu.run(|| {
                        for (j, &p) in p.iter().enumerate() {
                            let p = p * drop.map_or(1.0, |drop| drop.factor((first + j) as u64));
                            if p != 0.0 {
                                let from = shape.row(j, vertex) + head * d;
                                add_scaled(p, &v[from..from + d], out);
                            }
                        }
                    });
                }
            }
        }
    });
}

/// Adds the gradients of [`attention_forward`] from its saved probabilities; `d_out` is [T·N, D].
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn attention_backward(
    shape: AttentionShape,
    q: &[f32],
    k: &[f32],
    v: &[f32],
    scale: f32,
    dropout: Option<Dropout>,
    probabilities: &[f32],
    d_out: &[f32],
    d_q: &mut [f32],
    d_k: &mut [f32],
    d_v: &mut [f32],
) {
    shape.check(&[q, k, v, d_out, d_q, d_k, d_v], probabilities.len());
    let (t, d) = (shape.steps, shape.width / shape.heads);
    let drop = dropout.map(Mask::from);
    let (d_q, d_k, d_v) = (Shared::new(d_q), Shared::new(d_k), Shared::new(d_v));
    let cpu = current();
    let per_block = shape.vertices_per_block();
    let vertices = |from: usize| from..shape.vertices.min(from + per_block);
    let block = |i: usize| {
        let mut slopes = scratch::take(t);
        for vertex in vertices(i * per_block) {
            for head in 0..shape.heads {
                for step in 0..t {
                    let first = ((vertex * shape.heads + head) * t + step) * t;
                    let p = &probabilities[first..first + t];
                    let at = shape.row(step, vertex) + head * d;
                    let (q, d_out) = (&q[at..at + d], &d_out[at..at + d]);
                    cpu.run(|| {
                        let mut sum = 0.0;
                        for (j, slope) in slopes.iter_mut().enumerate() {
                            let factor = drop.map_or(1.0, |drop| drop.factor((first + j) as u64));
                            let from = shape.row(j, vertex) + head * d;
                            *slope = 0.0;
                            if p[j] != 0.0 && factor != 0.0 {
                                // SAFETY: a row of this vertex, which belongs to this block alone.
                                let d_v = unsafe { d_v.piece(from, d) };
                                add_scaled(p[j] * factor, d_out, d_v);
                                *slope = factor * dot(d_out, &v[from..from + d]);
                            }
                            sum += p[j] * *slope;
                        }
                        // SAFETY: as above.
                        let d_q = unsafe { d_q.piece(at, d) };
                        for (j, slope) in slopes.iter().enumerate() {
                            let slope = scale * p[j] * (slope - sum);
                            if slope != 0.0 {
                                let from = shape.row(j, vertex) + head * d;
                                add_scaled(slope, &k[from..from + d], d_q);
                                // SAFETY: as above.
                                add_scaled(slope, q, unsafe { d_k.piece(from, d) });
                            }
                        }
                    });
                }
            }
        }
    };
    use rayon::prelude::*;
    (0..shape.vertices.div_ceil(per_block)).into_par_iter().for_each(block);
}

/// The vertex's rows of a stacked matrix as columns: y [D, T].
#[inline(always)]
fn transpose_rows(shape: AttentionShape, vertex: usize, x: &[f32], y: &mut [f32]) {
    for step in 0..shape.steps {
        for (j, x) in x[shape.row(step, vertex)..][..shape.width].iter().enumerate() {
            y[j * shape.steps + step] = *x;
        }
    }
}

/// p = scale · q·keys, keys [d, T].
#[inline(always)]
fn scores(q: &[f32], keys: &[f32], scale: f32, p: &mut [f32]) {
    for (q, keys) in q.iter().zip(keys.chunks_exact(p.len())) {
        add_scaled(scale * q, keys, p);
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

/// Softmax of a row; zeros when everything is −∞.
fn softmax_in_place(p: &mut [f32]) {
    let max = p.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY {
        return p.fill(0.0);
    }
    let mut sum = 0.0;
    for p in p.iter_mut() {
        *p = (*p - max).exp();
        sum += *p;
    }
    let factor = 1.0 / sum;
    p.iter_mut().for_each(|p| *p *= factor);
}

#[cfg(test)]
mod tests;
