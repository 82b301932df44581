//! Temporal self-attention: every vertex attends over its own time steps.
//!
//! ```text
//! P = softmax(scale · Q·Kᵀ)   over the steps that are there (and not later, if causal)
//! out = P·V                   per vertex and head
//! ```
//!
//! Q, K, V are [T·N, D] stacked by time; a head owns D / heads consecutive columns. The
//! probabilities are saved as [N, heads, key, query]: the queries of a vertex lie side by side in
//! a vector, so that the softmax over keys needs no sum across a vector. A cell that is not there
//! (mask 0) is attended to by nobody and gets zeros, as does one with nothing to attend to.
//! Vertices are independent: blocks of them run in parallel, each in the first-level cache.
//!
//! Measured (15 November 2026, one core of a busy two-core AMD EPYC virtual machine with AVX-512,
//! shortest of many runs): 2.2 µs a vertex forward and 2.8 µs backward for T = 8, 8 heads, D = 64;
//! 6.3 and 11 µs for T = 16, D = 128. The bytes that must move take 0.3 µs: turning short rows
//! and their exponentials are the cost, not memory.

mod vertex;

use super::dropout::{Dropout, Mask};
use super::scattered::Scattered;
use super::simd::current;
use rayon::prelude::*;
use vertex::{Backward, Forward};

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
        self.vertices * self.heads * self.steps * self.steps
    }

    fn check(&self, matrices: &[&[f32]], probabilities: usize) {
        assert!(self.heads > 0 && self.width.is_multiple_of(self.heads), "heads divide the width");
        for matrix in matrices {
            assert_eq!(matrix.len(), self.steps * self.vertices * self.width, "[T·N, D]");
        }
        assert_eq!(probabilities, self.probabilities_len(), "probabilities");
    }

    /// Where the row of a cell begins.
    fn row(&self, step: usize, vertex: usize) -> usize {
        (step * self.vertices + vertex) * self.width
    }

    /// Calls `f(from, to)` for blocks of vertices in parallel.
    fn for_each_block(&self, f: impl Fn(usize, usize) + Sync + Send) {
        if self.steps == 0 || self.width == 0 {
            return;
        }
        let size = (BLOCK / (2 * self.steps * self.steps * self.width).max(1)).max(1);
        let blocks = self.vertices.div_ceil(size);
        let call = |i: usize| f(i * size, self.vertices.min((i + 1) * size));
        if blocks == 1 { call(0) } else { (0..blocks).into_par_iter().for_each(call) }
    }
}

/// Writes the result `out` [T·N, D] and the `probabilities` [N, heads, T, T] before dropout.
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
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
    let cpu = current().for_width(shape.steps);
    let drop = dropout.map(Mask::from);
    let (out, probabilities) = (Scattered::new(out), Scattered::new(probabilities));
    shape.for_each_block(|from, to| {
        cpu.run(Forward {
            shape,
            from,
            to,
            q,
            k,
            v,
            mask,
            causal,
            scale,
            drop,
            out,
            probabilities,
        });
    });
}

/// Adds the gradients of [`attention_forward`] from its saved probabilities; `d_out` is [T·N, D].
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
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
    let cpu = current().for_width(shape.steps);
    let drop = dropout.map(Mask::from);
    let gradients = [Scattered::new(d_q), Scattered::new(d_k), Scattered::new(d_v)];
    shape.for_each_block(|from, to| {
        cpu.run(Backward {
            shape,
            from,
            to,
            inputs: [q, k, v],
            scale,
            drop,
            probabilities,
            d_out,
            gradients,
        });
    });
}

#[cfg(test)]
mod tests;
