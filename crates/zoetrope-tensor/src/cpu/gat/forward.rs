//! Graph attention of a range of rows on one thread.
//!
//! The coefficients of a range lie side by side ([entries, heads]), so that their exponentials
//! fill whole vectors however short the rows are.

use super::Gat;
use super::heads::{HeadTerms, multiply, per_head, sum_heads};
use crate::cpu::dropout::Mask;
use crate::cpu::math;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scratch;
use crate::cpu::spmm::CsrRef;
use pulp::{Simd, WithSimd};

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
