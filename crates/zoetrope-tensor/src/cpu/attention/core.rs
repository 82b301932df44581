//! Attention among the time steps of a group of vertices, in lanes.
//!
//! Queries, keys and values lie in one matrix `T × 3D`. Probabilities of a head are `T × T`
//! vectors, [key, query]; with a causal mask the later keys of a query are neither computed nor
//! read.

use pulp::Simd;

use super::AttentionShape;
use crate::cpu::math;

/// Sizes and options of one head.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) steps: usize,
    /// Columns of all heads.
    pub(super) width: usize,
    /// The first column, and how many there are.
    pub(super) at: usize,
    pub(super) columns: usize,
    pub(super) causal: bool,
    pub(super) scale: f32,
}

impl Head {
    pub(super) fn new(shape: AttentionShape, causal: bool, scale: f32, head: usize) -> Self {
        let columns = shape.width / shape.heads;
        let AttentionShape { steps, width, .. } = shape;
        Self { steps, width, at: head * columns, columns, causal, scale }
    }

    /// Keys that a query sees.
    #[inline(always)]
    fn seen(&self, query: usize) -> usize {
        if self.causal { query + 1 } else { self.steps }
    }

    /// The first query that sees a key.
    #[inline(always)]
    fn first(&self, key: usize) -> usize {
        if self.causal { key } else { 0 }
    }

    /// Where the part of a step begins: queries (0), keys (1) or values (2).
    #[inline(always)]
    fn of(&self, which: usize, step: usize) -> usize {
        (3 * step + which) * self.width + self.at
    }

    /// p = softmax(scale · q·kᵀ); a step whose `there` is 0 sees and is seen by nobody.
    #[inline(always)]
    pub(super) fn probabilities<S: Simd>(
        &self,
        simd: S,
        qkv: &[S::f32s],
        there: Option<&[S::f32s]>,
        p: &mut [S::f32s],
    ) {
        for query in 0..self.steps {
            let seen = self.seen(query);
            let q = &qkv[self.of(0, query)..][..self.columns];
            let p = &mut p[query..];
            dots(simd, q, &qkv[self.of(1, 0)..], 3 * self.width, seen, p, self.steps);
            let there = there.map(|there| (there[query], there));
            softmax(simd, self.scale, seen, there, p, self.steps);
        }
    }

    /// out = p·v; `out` is `T × D`.
    #[inline(always)]
    pub(super) fn attend<S: Simd>(
        &self,
        simd: S,
        qkv: &[S::f32s],
        p: &[S::f32s],
        out: &mut [S::f32s],
    ) {
        for query in 0..self.steps {
            let out = &mut out[query * self.width + self.at..][..self.columns];
            let v = &qkv[self.of(2, 0)..];
            mix(simd, &p[query..], self.steps, v, 3 * self.width, self.seen(query), out);
        }
    }

    /// Writes the derivatives of queries, keys and values to `d_qkv` for those of the result.
    ///
    /// `dropped` is what was attended with, `factors` the dropout; `slopes` is room for `T × T`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn backward<S: Simd>(
        &self,
        simd: S,
        qkv: &[S::f32s],
        p: &[S::f32s],
        dropped: &[S::f32s],
        factors: Option<&[S::f32s]>,
        d_out: &[S::f32s],
        slopes: &mut [S::f32s],
        d_qkv: &mut [S::f32s],
    ) {
        let (t, apart) = (self.steps, 3 * self.width);
        for query in 0..t {
            let seen = self.seen(query);
            let d_out = &d_out[query * self.width + self.at..][..self.columns];
            dots(simd, d_out, &qkv[self.of(2, 0)..], apart, seen, &mut slopes[query..], t);
            if let Some(factors) = factors {
                for at in (query..query + seen * t).step_by(t) {
                    slopes[at] = simd.mul_f32s(slopes[at], factors[at]);
                }
            }
            softmax_slopes(simd, self.scale, seen, &p[query..], &mut slopes[query..], t);
            let d_q = &mut d_qkv[self.of(0, query)..][..self.columns];
            mix(simd, &slopes[query..], t, &qkv[self.of(1, 0)..], apart, seen, d_q);
        }
        for key in 0..t {
            let first = self.first(key);
            let (slopes, dropped) = (&slopes[key * t + first..], &dropped[key * t + first..]);
            let d_k = &mut d_qkv[self.of(1, key)..][..self.columns];
            mix(simd, slopes, 1, &qkv[self.of(0, first)..], apart, t - first, d_k);
            let d_out = &d_out[first * self.width + self.at..];
            let d_v = &mut d_qkv[self.of(2, key)..][..self.columns];
            mix(simd, dropped, 1, d_out, self.width, t - first, d_v);
        }
    }
}

/// y[n · step] = a·b_n for `count` rows of b, which lie `apart`.
#[inline(always)]
fn dots<S: Simd>(
    simd: S,
    a: &[S::f32s],
    b: &[S::f32s],
    apart: usize,
    count: usize,
    y: &mut [S::f32s],
    step: usize,
) {
    let mut n = 0;
    while count - n >= 4 {
        some_dots::<S, 4>(simd, a, &b[n * apart..], apart, &mut y[n * step..], step);
        n += 4;
    }
    while n < count {
        some_dots::<S, 1>(simd, a, &b[n * apart..], apart, &mut y[n * step..], step);
        n += 1;
    }
}

#[inline(always)]
fn some_dots<S: Simd, const R: usize>(
    simd: S,
    a: &[S::f32s],
    b: &[S::f32s],
    apart: usize,
    y: &mut [S::f32s],
    step: usize,
) {
    let mut sums = [simd.splat_f32s(0.0); R];
    let mut rows = [&b[..0]; R];
    for u in 0..R {
        rows[u] = &b[u * apart..][..a.len()];
    }
    for j in 0..a.len() {
        for u in 0..R {
            sums[u] = simd.mul_add_e_f32s(a[j], rows[u][j], sums[u]);
        }
    }
    for u in 0..R {
        y[u * step] = sums[u];
    }
}

/// y = Σ c[n · step]·x_n over `count` rows of x, which lie `apart`.
#[inline(always)]
fn mix<S: Simd>(
    simd: S,
    c: &[S::f32s],
    step: usize,
    x: &[S::f32s],
    apart: usize,
    count: usize,
    y: &mut [S::f32s],
) {
    let whole = y.len() / 4 * 4;
    for at in (0..whole).step_by(4) {
        some_mixed::<S, 4>(simd, c, step, &x[at..], apart, count, &mut y[at..]);
    }
    for at in whole..y.len() {
        some_mixed::<S, 1>(simd, c, step, &x[at..], apart, count, &mut y[at..]);
    }
}

#[inline(always)]
fn some_mixed<S: Simd, const C: usize>(
    simd: S,
    c: &[S::f32s],
    step: usize,
    x: &[S::f32s],
    apart: usize,
    count: usize,
    y: &mut [S::f32s],
) {
    let mut sums = [simd.splat_f32s(0.0); C];
    for n in 0..count {
        let (c, x) = (c[n * step], &x[n * apart..][..C]);
        for j in 0..C {
            sums[j] = simd.mul_add_e_f32s(c, x[j], sums[j]);
        }
    }
    y[..C].copy_from_slice(&sums);
}

/// p[n · step] = softmax of scale·p over `count` numbers, without those for which the query or the
/// key is not there; zeros if none is left.
#[inline(always)]
fn softmax<S: Simd>(
    simd: S,
    scale: f32,
    count: usize,
    there: Option<(S::f32s, &[S::f32s])>,
    p: &mut [S::f32s],
    step: usize,
) {
    let (zero, none) = (simd.splat_f32s(0.0), simd.splat_f32s(f32::NEG_INFINITY));
    let scale = simd.splat_f32s(scale);
    let mut max = none;
    for n in 0..count {
        let mut scaled = simd.mul_f32s(p[n * step], scale);
        if let Some((query, keys)) = there {
            let both = simd.mul_f32s(query, keys[n]);
            scaled = simd.select_f32s(simd.equal_f32s(both, zero), none, scaled);
        }
        p[n * step] = scaled;
        max = simd.max_f32s(max, scaled);
    }
    max = simd.select_f32s(simd.equal_f32s(max, none), zero, max);
    let mut sum = zero;
    for n in 0..count {
        let e = math::exp(simd, simd.sub_f32s(p[n * step], max));
        p[n * step] = e;
        sum = simd.add_f32s(sum, e);
    }
    let inverse = simd.div_f32s(simd.splat_f32s(1.0), sum);
    let inverse = simd.select_f32s(simd.equal_f32s(sum, zero), zero, inverse);
    for n in 0..count {
        p[n * step] = simd.mul_f32s(p[n * step], inverse);
    }
}

/// slopes = scale·p∘(slopes − Σ p∘slopes).
#[inline(always)]
fn softmax_slopes<S: Simd>(
    simd: S,
    scale: f32,
    count: usize,
    p: &[S::f32s],
    slopes: &mut [S::f32s],
    step: usize,
) {
    let scale = simd.splat_f32s(scale);
    let mut sum = simd.splat_f32s(0.0);
    for n in 0..count {
        sum = simd.mul_add_e_f32s(p[n * step], slopes[n * step], sum);
    }
    for n in 0..count {
        let centred = simd.sub_f32s(slopes[n * step], sum);
        slopes[n * step] = simd.mul_f32s(simd.mul_f32s(scale, p[n * step]), centred);
    }
}
