//! Attention of a block of vertices on one thread.
//!
//! Matrices with the time steps side by side ("turned") have rows padded to whole vectors; the
//! padding holds zeros or values that nobody reads.

use super::AttentionShape;
use crate::cpu::dropout::Mask;
use crate::cpu::math;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;
use crate::cpu::small_product::{Strided, small_product};
use pulp::{Simd, WithSimd};

pub(super) struct Forward<'a> {
    pub(super) shape: AttentionShape,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) q: &'a [f32],
    pub(super) k: &'a [f32],
    pub(super) v: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) causal: bool,
    pub(super) scale: f32,
    pub(super) drop: Option<Mask>,
    pub(super) out: Scattered<'a>,
    pub(super) probabilities: Scattered<'a>,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(unsafe_code)]
    fn with_simd<S: Simd>(self, simd: S) {
        let shape = self.shape;
        let (t, d) = (shape.steps, shape.width / shape.heads);
        let padded = t.next_multiple_of(S::F32_LANES);
        let apart = shape.vertices * shape.width;
        let mut queries = scratch::zeroed(d * padded);
        let mut bars = scratch::zeroed(t * padded);
        let mut p = scratch::take(t * padded);
        let mut result = scratch::take(d * padded);
        let mut factors = scratch::take(t * t);
        let (queries, bars, p) = (&mut queries[..], &mut bars[..], &mut p[..]);
        let (result, factors) = (&mut result[..], &mut factors[..]);
        for vertex in self.from..self.to {
            if vertex == self.from || self.mask.is_some() {
                self.bar(vertex, padded, bars);
            }
            for head in 0..shape.heads {
                let at = shape.row(0, vertex) + head * d;
                turn(self.q, at, apart, [t, d, padded], self.scale, queries);
                let keys = Strided { data: &self.k[at..], row: apart, step: 1 };
                small_product(simd, keys, [t, d, padded], queries, p);
                softmax(simd, t, padded, bars, p);
                let first = (vertex * shape.heads + head) * t * t;
                // SAFETY: the probabilities of this vertex, which belongs to this block alone.
                let saved = unsafe { self.probabilities.piece(first, t * t) };
                unpad(p, [t, padded], saved);
                if let Some(drop) = self.drop {
                    drop.fill(simd, first as u64, factors);
                    multiply(factors, [t, padded], p);
                }
                let values = Strided { data: &self.v[at..], row: 1, step: apart };
                small_product(simd, values, [d, t, padded], p, result);
                for step in 0..t {
                    // SAFETY: this head's part of a row of this vertex, as above.
                    let out = unsafe { self.out.piece(at + step * apart, d) };
                    for (j, out) in out.iter_mut().enumerate() {
                        *out = result[j * padded + step];
                    }
                }
            }
        }
    }
}

impl Forward<'_> {
    /// What is added to scores: 0, or −∞ where a query may not attend to a key.
    #[inline(always)]
    fn bar(&self, vertex: usize, padded: usize, bars: &mut [f32]) {
        let there = |step: usize| {
            self.mask.is_none_or(|mask| mask[step * self.shape.vertices + vertex] != 0.0)
        };
        for key in 0..self.shape.steps {
            let key_there = there(key);
            for query in 0..self.shape.steps {
                let open = key_there && there(query) && (!self.causal || key <= query);
                bars[key * padded + query] = if open { 0.0 } else { f32::NEG_INFINITY };
            }
        }
    }
}

/// y[j, step] = scale·x[step, j] for `count` steps of `d` columns; rows of x lie `apart`.
#[inline(always)]
fn turn(
    x: &[f32],
    at: usize,
    apart: usize,
    [count, d, padded]: [usize; 3],
    scale: f32,
    y: &mut [f32],
) {
    for step in 0..count {
        for (j, x) in x[at + step * apart..][..d].iter().enumerate() {
            y[j * padded + step] = scale * x;
        }
    }
}

/// Softmax over keys (rows) for every query (column); columns without an open key become zeros.
#[inline(always)]
fn softmax<S: Simd>(simd: S, t: usize, padded: usize, bars: &[f32], p: &mut [f32]) {
    let vectors = padded / S::F32_LANES;
    let (bars, p) = (S::as_simd_f32s(bars).0, S::as_mut_simd_f32s(p).0);
    let (zero, none) = (simd.splat_f32s(0.0), simd.splat_f32s(f32::NEG_INFINITY));
    for at in 0..vectors {
        let mut max = none;
        for i in (at..t * vectors).step_by(vectors) {
            p[i] = simd.add_f32s(p[i], bars[i]);
            max = simd.max_f32s(max, p[i]);
        }
        max = simd.select_f32s(simd.equal_f32s(max, none), zero, max);
        let mut sum = zero;
        for i in (at..t * vectors).step_by(vectors) {
            p[i] = math::exp(simd, simd.sub_f32s(p[i], max));
            sum = simd.add_f32s(sum, p[i]);
        }
        let inverse = simd.div_f32s(simd.splat_f32s(1.0), sum);
        let inverse = simd.select_f32s(simd.equal_f32s(sum, zero), zero, inverse);
        for i in (at..t * vectors).step_by(vectors) {
            p[i] = simd.mul_f32s(p[i], inverse);
        }
    }
}

/// Padded rows to contiguous ones.
#[inline(always)]
fn unpad(x: &[f32], [t, padded]: [usize; 2], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(padded).zip(y.chunks_exact_mut(t)) {
        y.copy_from_slice(&x[..t]);
    }
}

/// y = x for contiguous rows x and padded rows y, whose padding becomes zeros.
#[inline(always)]
fn pad(x: &[f32], [t, padded]: [usize; 2], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(t).zip(y.chunks_exact_mut(padded)) {
        y[..t].copy_from_slice(x);
        y[t..].fill(0.0);
    }
}

/// y ∘= x for contiguous rows x and padded rows y.
#[inline(always)]
fn multiply(x: &[f32], [t, padded]: [usize; 2], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(t).zip(y.chunks_exact_mut(padded)) {
        for (x, y) in x.iter().zip(y) {
            *y *= x;
        }
    }
}

/// y[j, i] = x[i, j] for padded square matrices.
#[inline(always)]
fn transpose(x: &[f32], [t, padded]: [usize; 2], y: &mut [f32]) {
    for i in 0..t {
        for j in 0..t {
            y[j * padded + i] = x[i * padded + j];
        }
    }
}

pub(super) struct Backward<'a> {
    pub(super) shape: AttentionShape,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) inputs: [&'a [f32]; 3],
    pub(super) scale: f32,
    pub(super) drop: Option<Mask>,
    pub(super) probabilities: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) gradients: [Scattered<'a>; 3],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let shape = self.shape;
        let (t, d) = (shape.steps, shape.width / shape.heads);
        let padded = t.next_multiple_of(S::F32_LANES);
        let apart = shape.vertices * shape.width;
        let [q, k, v] = self.inputs;
        let [d_q, d_k, d_v] = self.gradients;
        let mut turned = scratch::zeroed(d * padded);
        let mut p = scratch::take(t * padded);
        let mut slopes = scratch::take(t * padded);
        let mut across = scratch::zeroed(t * padded);
        let mut factors = scratch::take(t * t);
        let (turned, p, slopes) = (&mut turned[..], &mut p[..], &mut slopes[..]);
        let (across, factors) = (&mut across[..], &mut factors[..]);
        let (square, mixed) = ([t, padded], [d, t, padded]);
        for vertex in self.from..self.to {
            for head in 0..shape.heads {
                let at = shape.row(0, vertex) + head * d;
                let first = (vertex * shape.heads + head) * t * t;
                pad(&self.probabilities[first..first + t * t], square, p);
                turn(self.d_out, at, apart, [t, d, padded], 1.0, turned);
                let values = Strided { data: &v[at..], row: apart, step: 1 };
                small_product(simd, values, [t, d, padded], turned, slopes);
                if let Some(drop) = self.drop {
                    drop.fill(simd, first as u64, factors);
                    multiply(factors, square, slopes);
                }
                softmax_slopes(simd, t, padded, self.scale, p, slopes);
                let by_step = |x| Strided { data: x, row: 1, step: apart };
                small_product(simd, by_step(&k[at..]), mixed, slopes, turned);
                add_turned(turned, mixed, d_q, at, apart);
                transpose(slopes, square, across);
                small_product(simd, by_step(&q[at..]), mixed, across, turned);
                add_turned(turned, mixed, d_k, at, apart);
                if self.drop.is_some() {
                    multiply(factors, square, p);
                }
                transpose(p, square, across);
                small_product(simd, by_step(&self.d_out[at..]), mixed, across, turned);
                add_turned(turned, mixed, d_v, at, apart);
            }
        }
    }
}

/// slopes = scale·p∘(slopes − Σ p∘slopes), the sum over keys (rows).
#[inline(always)]
fn softmax_slopes<S: Simd>(
    simd: S,
    t: usize,
    padded: usize,
    scale: f32,
    p: &[f32],
    slopes: &mut [f32],
) {
    let vectors = padded / S::F32_LANES;
    let (p, slopes) = (S::as_simd_f32s(p).0, S::as_mut_simd_f32s(slopes).0);
    let scale = simd.splat_f32s(scale);
    for at in 0..vectors {
        let mut sum = simd.splat_f32s(0.0);
        for i in (at..t * vectors).step_by(vectors) {
            sum = simd.mul_add_e_f32s(p[i], slopes[i], sum);
        }
        for i in (at..t * vectors).step_by(vectors) {
            let centred = simd.sub_f32s(slopes[i], sum);
            slopes[i] = simd.mul_f32s(simd.mul_f32s(scale, p[i]), centred);
        }
    }
}

/// y[step, j] += x[j, step] for the rows of one vertex and head.
#[inline(always)]
#[allow(unsafe_code)]
fn add_turned(x: &[f32], [d, t, padded]: [usize; 3], y: Scattered, at: usize, apart: usize) {
    for step in 0..t {
        // SAFETY: a head's part of a row of a vertex, which belongs to the caller's block alone.
        let y = unsafe { y.piece(at + step * apart, d) };
        for (j, y) in y.iter_mut().enumerate() {
            *y += x[j * padded + step];
        }
    }
}
