//! Attention of a range of targets on one thread.

use pulp::{Simd, WithSimd};

use super::NeighbourCall;
use super::dense::{dots, sums};
use super::tile::Tile;
use crate::cpu::math;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scratch;
use crate::cpu::time_encoding::Turns;

pub(super) struct Forward<'a> {
    pub(super) call: &'a NeighbourCall<'a>,
    pub(super) turns: Option<&'a Turns>,
    /// The factors of dropout for all slots and heads.
    pub(super) factors: Option<&'a [f32]>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) out: &'a mut [f32],
    pub(super) alpha: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, turns, factors, from, to, out, alpha } = self;
        let (heads, columns) = (call.heads, call.columns());
        let wide = heads * columns.width;
        let first = call.slots(from).start;
        let (mut tile, mut query) = (Tile::new(columns), Tile::new(columns));
        let mut room = scratch::take(0);
        for (target, out) in (from..to).zip(out.chunks_exact_mut(wide)) {
            let slots = call.slots(target);
            if slots.is_empty() {
                out.fill(0.0);
                continue;
            }
            if target + 1 < to {
                let row = call.layout.query[target + 1] as usize;
                call.ask_for(target + 1, call.queries, row);
            }
            let alpha = &mut alpha[(slots.start - first) * heads..(slots.end - first) * heads];
            query.copy(simd, &call.queries[call.layout.query[target] as usize * wide..][..wide]);
            tile.gather::<S, false>(simd, call, turns, slots.clone());
            dots(simd, tile.values(), columns.stride, query.values(), alpha);
            // Whole vectors for the exponentials.
            room.resize(alpha.len().next_multiple_of(16));
            room[alpha.len()..].fill(0.0);
            let weights = &mut room[..alpha.len()];
            match call.slope {
                None => scores::<false>(call.scale, 1.0, alpha, weights),
                Some(slope) => scores::<true>(call.scale, slope, alpha, weights),
            }
            subtract_largest(heads, weights);
            for x in S::as_mut_simd_f32s(&mut room).0 {
                *x = math::exp(simd, *x);
            }
            let weights = &mut room[..alpha.len()];
            normalise(heads, weights);
            keep(weights, alpha);
            if let Some(factors) = factors {
                let factors = &factors[slots.start * heads..slots.end * heads];
                weights.iter_mut().zip(factors).for_each(|(w, factor)| *w *= factor);
            }
            sums(simd, tile.values(), &columns, weights, out, Accumulate::Overwrite);
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

/// Takes the largest of each head away, so that no exponential is infinite.
#[inline(always)]
fn subtract_largest(heads: usize, x: &mut [f32]) {
    for head in 0..heads {
        let mut max = f32::NEG_INFINITY;
        let mut at = head;
        while at < x.len() {
            max = if x[at] > max { x[at] } else { max };
            at += heads;
        }
        at = head;
        while at < x.len() {
            x[at] -= max;
            at += heads;
        }
    }
}

/// Divides by the sum of each head.
#[inline(always)]
fn normalise(heads: usize, x: &mut [f32]) {
    for head in 0..heads {
        let mut sum = 0.0;
        let mut at = head;
        while at < x.len() {
            sum += x[at];
            at += heads;
        }
        let factor = 1.0 / sum;
        at = head;
        while at < x.len() {
            x[at] *= factor;
            at += heads;
        }
    }
}
