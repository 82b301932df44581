//! Graph attention of a range of rows on one thread.
//!
//! The coefficients of a range lie side by side ([entries, heads]), so that their exponentials
//! fill whole vectors however short the rows are.

use super::Gat;
use crate::cpu::dropout::Mask;
use crate::cpu::math;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scratch::{self, Scratch};
use crate::cpu::sparse_sum::{Terms, sum_rows};
use crate::cpu::spmm::CsrRef;
use pulp::{Simd, WithSimd};

impl Gat {
    /// The number of heads, known to the compiler where `H` is not 0: loops over a few heads are
    /// unrolled.
    #[inline(always)]
    fn heads_known<const H: usize>(&self) -> usize {
        if H > 0 { H } else { self.heads }
    }

    /// The score of an entry before the leaky relu.
    #[inline(always)]
    fn score(&self, value: f32, source: f32, destination: f32) -> f32 {
        let sum = source + destination;
        if self.weighted { value * sum } else { sum }
    }
}

/// Room for one value per head: registers where their number is known, else scratch.
#[inline(always)]
fn per_head<const H: usize>(heads: usize) -> ([f32; H], Scratch) {
    ([0.0; H], scratch::take(if H > 0 { 0 } else { heads }))
}

pub(super) struct Forward<'a> {
    pub(super) gat: Gat,
    pub(super) m: CsrRef<'a>,
    pub(super) xw: &'a [f32],
    pub(super) a_src: &'a [f32],
    pub(super) a_dst: &'a [f32],
    pub(super) drop: Option<Mask>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) out: &'a mut [f32],
    pub(super) alpha: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Gat { heads, width: d, .. } = self.gat;
        let first = self.m.offsets[self.from] as usize;
        match heads {
            1 => self.scores::<1>(),
            2 => self.scores::<2>(),
            4 => self.scores::<4>(),
            8 => self.scores::<8>(),
            16 => self.scores::<16>(),
            _ => self.scores::<0>(),
        }
        exponentials(simd, self.alpha);
        match heads {
            1 => self.normalise::<1>(),
            2 => self.normalise::<2>(),
            4 => self.normalise::<4>(),
            8 => self.normalise::<8>(),
            16 => self.normalise::<16>(),
            _ => self.normalise::<0>(),
        }
        let mut dropped = scratch::take(if self.drop.is_some() { self.alpha.len() } else { 0 });
        let alpha = match self.drop {
            None => &*self.alpha,
            Some(drop) => {
                drop.fill(simd, (first * heads) as u64, &mut dropped);
                multiply(self.alpha, &mut dropped);
                &dropped
            }
        };
        let rows = (self.from..self.to).zip(self.out.chunks_exact_mut(heads * d));
        for (row, out) in rows {
            let entries = self.m.entries(row);
            let columns = &self.m.columns[entries.clone()];
            let alpha = &alpha[(entries.start - first) * heads..(entries.end - first) * heads];
            let terms = HeadTerms { columns, alpha, head: 0, heads, width: d };
            sum_heads(simd, terms, self.xw, out, Accumulate::Overwrite);
        }
    }
}

impl Forward<'_> {
    /// alpha = leaky relu of the scores, less the largest of the row and head.
    #[inline(always)]
    fn scores<const H: usize>(&mut self) {
        let heads = self.gat.heads_known::<H>();
        let first = self.m.offsets[self.from] as usize;
        let (mut known, mut unknown) = per_head::<H>(heads);
        let max = if H > 0 { &mut known[..] } else { &mut unknown[..] };
        for row in self.from..self.to {
            let entries = self.m.entries(row);
            let alpha = &mut self.alpha[(entries.start - first) * heads..][..entries.len() * heads];
            let destination = &self.a_dst[row * heads..][..heads];
            max.fill(f32::NEG_INFINITY);
            for (e, alpha) in entries.zip(alpha.chunks_exact_mut(heads)) {
                let source = &self.a_src[self.m.columns[e] as usize * heads..][..heads];
                for h in 0..heads {
                    let s = self.gat.score(self.m.values[e], source[h], destination[h]);
                    alpha[h] = if s > 0.0 { s } else { self.gat.slope * s };
                    max[h] = if alpha[h] > max[h] { alpha[h] } else { max[h] };
                }
            }
            for alpha in alpha.chunks_exact_mut(heads) {
                for h in 0..heads {
                    alpha[h] -= max[h];
                }
            }
        }
    }

    /// Divides by the sum of the row and head.
    #[inline(always)]
    fn normalise<const H: usize>(&mut self) {
        let heads = self.gat.heads_known::<H>();
        let first = self.m.offsets[self.from] as usize;
        let (mut known, mut unknown) = per_head::<H>(heads);
        let sums = if H > 0 { &mut known[..] } else { &mut unknown[..] };
        for row in self.from..self.to {
            let entries = self.m.entries(row);
            let alpha = &mut self.alpha[(entries.start - first) * heads..][..entries.len() * heads];
            sums.fill(0.0);
            for alpha in alpha.chunks_exact(heads) {
                for h in 0..heads {
                    sums[h] += alpha[h];
                }
            }
            sums.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
            for alpha in alpha.chunks_exact_mut(heads) {
                for h in 0..heads {
                    alpha[h] *= sums[h];
                }
            }
        }
    }
}

#[inline(always)]
fn exponentials<S: Simd>(simd: S, x: &mut [f32]) {
    let (heads, tail) = S::as_mut_simd_f32s(x);
    for x in heads {
        *x = math::exp(simd, *x);
    }
    if !tail.is_empty() {
        simd.partial_store_f32s(tail, math::exp(simd, simd.partial_load_f32s(tail)));
    }
}

#[inline(always)]
fn multiply(x: &[f32], y: &mut [f32]) {
    for (x, y) in x.iter().zip(y) {
        *y *= x;
    }
}

/// Entries as seen by one head.
trait Heads: Terms {
    /// The same entries as seen by another head.
    fn at_head(self, head: usize) -> Self;

    /// Number of heads and columns of a head.
    fn heads(&self) -> (usize, usize);

    /// Factors of the entry for this head and the following ones.
    fn factors(&self, i: usize) -> &[f32];
}

/// y (+)= Σ factor·x for all heads; heads as wide as a vector go eight or four at a time, so that
/// an entry is looked up once for all of them.
#[inline(always)]
fn sum_heads<S: Simd, T: Heads>(
    simd: S,
    terms: T,
    x: &[f32],
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let (heads, d) = terms.heads();
    let mut head = 0;
    if d == S::F32_LANES {
        while heads - head >= 8 {
            vector_heads::<S, T, 8>(simd, terms.at_head(head), x, &mut y[head * d..], accumulate);
            head += 8;
        }
        if heads - head >= 4 {
            vector_heads::<S, T, 4>(simd, terms.at_head(head), x, &mut y[head * d..], accumulate);
            head += 4;
        }
    }
    for head in head..heads {
        sum_rows(simd, terms.at_head(head), x, &mut y[head * d..(head + 1) * d], accumulate);
    }
}

/// `G` heads of one vector each.
#[inline(always)]
fn vector_heads<S: Simd, T: Heads, const G: usize>(
    simd: S,
    terms: T,
    x: &[f32],
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let y = S::as_mut_simd_f32s(&mut y[..G * S::F32_LANES]).0;
    let mut sums = [simd.splat_f32s(0.0); G];
    if accumulate == Accumulate::Add {
        sums.copy_from_slice(y);
    }
    for i in 0..terms.len() {
        let (_, place) = terms.term(i);
        let x = S::as_simd_f32s(&x[place..][..G * S::F32_LANES]).0;
        let factors = &terms.factors(i)[..G];
        for g in 0..G {
            sums[g] = simd.mul_add_e_f32s(simd.splat_f32s(factors[g]), x[g], sums[g]);
        }
    }
    y.copy_from_slice(&sums);
}

/// The entries of a row as seen by one head.
#[derive(Clone, Copy)]
struct HeadTerms<'a> {
    columns: &'a [u32],
    alpha: &'a [f32],
    head: usize,
    heads: usize,
    width: usize,
}

impl Terms for HeadTerms<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.columns.len()
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        let place = (self.columns[i] as usize * self.heads + self.head) * self.width;
        (self.alpha[i * self.heads + self.head], place)
    }
}

impl Heads for HeadTerms<'_> {
    #[inline(always)]
    fn at_head(self, head: usize) -> Self {
        Self { head, ..self }
    }

    #[inline(always)]
    fn heads(&self) -> (usize, usize) {
        (self.heads, self.width)
    }

    #[inline(always)]
    fn factors(&self, i: usize) -> &[f32] {
        &self.alpha[i * self.heads + self.head..]
    }
}

/// Backward over rows: the derivatives of the scores, and their sums per destination.
pub(super) struct Scores<'a> {
    pub(super) gat: Gat,
    pub(super) m: CsrRef<'a>,
    pub(super) xw: &'a [f32],
    pub(super) a_src: &'a [f32],
    pub(super) a_dst: &'a [f32],
    pub(super) drop: Option<Mask>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) alpha: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) d_a_dst: Option<&'a mut [f32]>,
    pub(super) slopes: &'a mut [f32],
    /// Gets alpha after dropout, where there is dropout.
    pub(super) dropped: &'a mut [f32],
}

impl WithSimd for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Gat { heads, width: d, .. } = self.gat;
        let first = self.m.offsets[self.from] as usize;
        for row in self.from..self.to {
            let d_out = &self.d_out[row * heads * d..][..heads * d];
            let entries = self.m.entries(row);
            let slopes = &mut self.slopes[(entries.start - first) * heads..];
            for (e, slopes) in entries.zip(slopes.chunks_exact_mut(heads)) {
                let xw = &self.xw[self.m.columns[e] as usize * heads * d..][..heads * d];
                for (h, slope) in slopes.iter_mut().enumerate() {
                    *slope = dot(simd, &d_out[h * d..(h + 1) * d], &xw[h * d..(h + 1) * d]);
                }
            }
        }
        let alpha = &self.alpha[first * heads..][..self.slopes.len()];
        if let Some(drop) = self.drop {
            drop.fill(simd, (first * heads) as u64, self.dropped);
            multiply(self.dropped, self.slopes);
            multiply(alpha, self.dropped);
        }
        match heads {
            1 => self.through_softmax::<1>(first),
            2 => self.through_softmax::<2>(first),
            4 => self.through_softmax::<4>(first),
            8 => self.through_softmax::<8>(first),
            16 => self.through_softmax::<16>(first),
            _ => self.through_softmax::<0>(first),
        }
    }
}

impl Scores<'_> {
    /// From derivatives of alpha to those of the sums of source and destination terms.
    #[inline(always)]
    fn through_softmax<const H: usize>(&mut self, first: usize) {
        let heads = self.gat.heads_known::<H>();
        let (mut known, mut unknown) = per_head::<H>(heads);
        let sums = if H > 0 { &mut known[..] } else { &mut unknown[..] };
        for row in self.from..self.to {
            let entries = self.m.entries(row);
            let alpha = &self.alpha[entries.start * heads..entries.end * heads];
            let slopes = &mut self.slopes[(entries.start - first) * heads..][..alpha.len()];
            sums.fill(0.0);
            for (alpha, slopes) in alpha.chunks_exact(heads).zip(slopes.chunks_exact(heads)) {
                for h in 0..heads {
                    sums[h] += alpha[h] * slopes[h];
                }
            }
            let destination = &self.a_dst[row * heads..][..heads];
            let cells = alpha.chunks_exact(heads).zip(slopes.chunks_exact_mut(heads));
            for (e, (alpha, slopes)) in entries.zip(cells) {
                let source = &self.a_src[self.m.columns[e] as usize * heads..][..heads];
                let value = if self.gat.weighted { self.m.values[e] } else { 1.0 };
                for h in 0..heads {
                    let s = self.gat.score(self.m.values[e], source[h], destination[h]);
                    let leak = if s > 0.0 { value } else { self.gat.slope * value };
                    slopes[h] = alpha[h] * (slopes[h] - sums[h]) * leak;
                }
            }
            if let Some(d_a_dst) = &mut self.d_a_dst {
                let d = &mut d_a_dst[(row - self.from) * heads..][..heads];
                for slopes in slopes.chunks_exact(heads) {
                    for h in 0..heads {
                        d[h] += slopes[h];
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_tail), (b, b_tail)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    let mut sum = simd.splat_f32s(0.0);
    for (a, b) in a.iter().zip(b) {
        sum = simd.mul_add_e_f32s(*a, *b, sum);
    }
    if !a_tail.is_empty() {
        let (a, b) = (simd.partial_load_f32s(a_tail), simd.partial_load_f32s(b_tail));
        sum = simd.mul_add_e_f32s(a, b, sum);
    }
    simd.reduce_sum_f32s(sum)
}

/// Backward over sources: the gradients of `xw` and of the source terms.
pub(super) struct Sources<'a> {
    pub(super) gat: Gat,
    pub(super) transposed: CsrRef<'a>,
    pub(super) edge_of: &'a [u32],
    pub(super) from: usize,
    pub(super) to: usize,
    /// After dropout.
    pub(super) alpha: &'a [f32],
    pub(super) slopes: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) d_xw: Option<&'a mut [f32]>,
    pub(super) d_a_src: Option<&'a mut [f32]>,
}

impl WithSimd for Sources<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Gat { heads, width: d, .. } = self.gat;
        for row in self.from..self.to {
            let entries = self.transposed.entries(row);
            let edges = &self.edge_of[entries.clone()];
            if let Some(d_xw) = &mut self.d_xw {
                let d_xw = &mut d_xw[(row - self.from) * heads * d..][..heads * d];
                let destinations = &self.transposed.columns[entries.clone()];
                let alpha = self.alpha;
                let terms = EdgeTerms { destinations, edges, alpha, head: 0, heads, width: d };
                sum_heads(simd, terms, self.d_out, d_xw, Accumulate::Add);
            }
            if let Some(d_a_src) = &mut self.d_a_src {
                let d = &mut d_a_src[(row - self.from) * heads..][..heads];
                for &e in edges {
                    for (d, slope) in d.iter_mut().zip(&self.slopes[e as usize * heads..]) {
                        *d += slope;
                    }
                }
            }
        }
    }
}

/// The entries of a transposed row as seen by one head; coefficients lie in the order of the
/// matrix itself.
#[derive(Clone, Copy)]
struct EdgeTerms<'a> {
    destinations: &'a [u32],
    edges: &'a [u32],
    alpha: &'a [f32],
    head: usize,
    heads: usize,
    width: usize,
}

impl Terms for EdgeTerms<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.edges.len()
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        let place = (self.destinations[i] as usize * self.heads + self.head) * self.width;
        (self.alpha[self.edges[i] as usize * self.heads + self.head], place)
    }
}

impl Heads for EdgeTerms<'_> {
    #[inline(always)]
    fn at_head(self, head: usize) -> Self {
        Self { head, ..self }
    }

    #[inline(always)]
    fn heads(&self) -> (usize, usize) {
        (self.heads, self.width)
    }

    #[inline(always)]
    fn factors(&self, i: usize) -> &[f32] {
        &self.alpha[self.edges[i] as usize * self.heads + self.head..]
    }
}
