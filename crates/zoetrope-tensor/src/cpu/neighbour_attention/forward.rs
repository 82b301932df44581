//! Attention of a range of targets on one thread.

use pulp::{Simd, WithSimd};

use super::NeighbourCall;
use super::dense::{dots, sums};
use super::tile::Tile;
use crate::cpu::dropout::Mask;
use crate::cpu::math;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scratch;
use crate::cpu::time_encoding::Turns;

pub(super) struct Forward<'a> {
    pub(super) call: &'a NeighbourCall<'a>,
    pub(super) turns: Option<&'a Turns>,
    pub(super) mask: Option<Mask>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) out: &'a mut [f32],
    pub(super) alpha: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, turns, mask, from, to, out, alpha } = self;
        let (heads, width) = (call.heads, call.width());
        let first = call.slots(from).start;
        let (mut tile, mut query) = (Tile::new(width), Tile::new(width));
        let mut weights = scratch::take(0);
        for (target, out) in (from..to).zip(out.chunks_exact_mut(heads * width)) {
            let slots = call.slots(target);
            if slots.is_empty() {
                out.fill(0.0);
                continue;
            }
            let alpha = &mut alpha[(slots.start - first) * heads..(slots.end - first) * heads];
            let place = call.layout.query[target] as usize * heads * width;
            query.copy(&call.queries[place..][..heads * width]);
            tile.gather::<S, false>(simd, call, turns, slots.clone());
            dots(simd, tile.values(), tile.stride, query.values(), alpha);
            weights.resize(alpha.len());
            match call.slope {
                None => scores::<false>(call.scale, 1.0, alpha, &mut weights),
                Some(slope) => scores::<true>(call.scale, slope, alpha, &mut weights),
            }
            softmax(simd, heads, &mut weights);
            keep(&weights, alpha);
            if let Some(mask) = mask {
                mask.fill(simd, (slots.start * heads) as u64, &mut weights);
                weights.iter_mut().zip(&*alpha).for_each(|(w, alpha)| *w *= alpha.abs());
            }
            sums(simd, tile.values(), tile.stride, &weights, out, width, Accumulate::Overwrite);
        }
    }
}

/// The scores after scale and leaky relu; `signs` keeps whether they were negative.
#[inline(always)]
fn scores<const LEAKY: bool>(scale: f32, slope: f32, signs: &mut [f32], scores: &mut [f32]) {
    for (sign, score) in signs.iter_mut().zip(scores) {
        let s = *sign * scale;
        *score = if LEAKY && s < 0.0 { slope * s } else { s };
        *sign = if LEAKY { s } else { 1.0 };
    }
}

/// α with the sign that is there.
#[inline(always)]
fn keep(weights: &[f32], alpha: &mut [f32]) {
    for (alpha, weight) in alpha.iter_mut().zip(weights) {
        *alpha = weight.copysign(*alpha);
    }
}

/// Softmax over rows for each of the columns.
#[inline(always)]
fn softmax<S: Simd>(simd: S, heads: usize, x: &mut [f32]) {
    for head in 0..heads {
        let own = || (head..x.len()).step_by(heads);
        let max = own().fold(f32::NEG_INFINITY, |max, at| if x[at] > max { x[at] } else { max });
        for at in (head..x.len()).step_by(heads) {
            x[at] -= max;
        }
    }
    exponentials(simd, x);
    for head in 0..heads {
        let sum: f32 = x[head..].iter().step_by(heads).sum();
        let factor = 1.0 / sum;
        x[head..].iter_mut().step_by(heads).for_each(|x| *x *= factor);
    }
}

#[inline(always)]
fn exponentials<S: Simd>(simd: S, x: &mut [f32]) {
    let (whole, tail) = S::as_mut_simd_f32s(x);
    for x in whole {
        *x = math::exp(simd, *x);
    }
    if !tail.is_empty() {
        simd.partial_store_f32s(tail, math::exp(simd, simd.partial_load_f32s(tail)));
    }
}
