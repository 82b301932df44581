//! Gradients of graph attention for a range of rows or of sources on one thread.

use super::Gat;
use super::heads::{EdgeTerms, multiply, per_head, sum_heads};
use crate::cpu::dropout::Mask;
use crate::cpu::matmul::Accumulate;
use crate::cpu::spmm::CsrRef;
use pulp::{Simd, WithSimd};

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
    /// Gets alpha after dropout, if there is dropout.
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
