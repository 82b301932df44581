//! Gradients of a range of queries, with all their targets, on one thread.

use pulp::{Simd, WithSimd};

use super::NeighbourCall;
use super::dense::{dots, sums};
use super::tile::Tile;
use crate::cpu::dropout::Mask;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;
use crate::cpu::time_encoding::Turns;

pub(super) struct Queries<'a> {
    pub(super) call: &'a NeighbourCall<'a>,
    pub(super) turns: Option<&'a Turns>,
    pub(super) mask: Option<Mask>,
    pub(super) alpha: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) from: usize,
    pub(super) to: usize,
    /// Of the range, where wanted.
    pub(super) d_queries: Option<&'a mut [f32]>,
    /// For each slot ᾱ of all heads, then the slopes of the scores of all heads.
    pub(super) terms: Scattered<'a>,
    /// Sums of sin·Δt·dx and of sin·dx of the range; empty where not wanted.
    pub(super) part: &'a mut [f32],
}

impl WithSimd for Queries<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let call = self.call;
        let (heads, width) = (call.heads, call.width());
        let (mut tile, mut dy) = (Tile::new(width), Tile::new(width));
        let (mut slopes, mut factors) = (scratch::take(0), scratch::take(0));
        for query in self.from..self.to {
            let place = query * heads * width;
            let own = call.layout.targets_of_query_offsets[query] as usize
                ..call.layout.targets_of_query_offsets[query + 1] as usize;
            for &target in &call.layout.targets_of_query[own] {
                let target = target as usize;
                let slots = call.slots(target);
                if slots.is_empty() {
                    continue;
                }
                let d_out = &self.d_out[target * heads * width..][..heads * width];
                dy.copy(d_out);
                if self.part.is_empty() {
                    tile.gather::<S, false>(simd, call, self.turns, slots.clone());
                } else {
                    tile.gather::<S, true>(simd, call, self.turns, slots.clone());
                }
                let alpha = &self.alpha[slots.start * heads..slots.end * heads];
                slopes.resize(alpha.len());
                dots(simd, tile.values(), tile.stride, dy.values(), &mut slopes);
                factors.resize(alpha.len());
                match self.mask {
                    Some(mask) => mask.fill(simd, (slots.start * heads) as u64, &mut factors),
                    None => factors.fill(1.0),
                }
                through_softmax(call, alpha, &mut factors, &mut slopes);
                // SAFETY: a target belongs to one query, which one block has; slots belong to one
                // target, because offsets ascend (both are checked before).
                #[allow(unsafe_code)]
                let terms = unsafe { self.terms.piece(2 * slots.start * heads, 2 * alpha.len()) };
                interleave(heads, &factors, &slopes, terms);
                if let Some(d_queries) = &mut self.d_queries {
                    let d = &mut d_queries[place - self.from * heads * width..][..heads * width];
                    let stride = tile.stride;
                    sums(simd, tile.values(), stride, &slopes, d, width, Accumulate::Add);
                }
                if !self.part.is_empty() {
                    let vectors = [d_out, &call.queries[place..][..heads * width]];
                    time(call, tile.sines(), &call.deltas[slots], terms, vectors, self.part);
                }
            }
        }
    }
}

/// From the derivatives of the weights after dropout to those of q·x; `factors` becomes ᾱ.
#[inline(always)]
fn through_softmax(call: &NeighbourCall, alpha: &[f32], factors: &mut [f32], slopes: &mut [f32]) {
    let heads = call.heads;
    let leak = call.slope.unwrap_or(1.0) * call.scale;
    for head in 0..heads {
        let mut sum = 0.0;
        for at in (head..alpha.len()).step_by(heads) {
            let size = alpha[at].abs();
            slopes[at] *= factors[at];
            factors[at] *= size;
            sum += size * slopes[at];
        }
        for at in (head..alpha.len()).step_by(heads) {
            let slope = if alpha[at].is_sign_negative() { leak } else { call.scale };
            slopes[at] = alpha[at].abs() * (slopes[at] - sum) * slope;
        }
    }
}

#[inline(always)]
fn interleave(heads: usize, weights: &[f32], slopes: &[f32], terms: &mut [f32]) {
    let rows = weights.chunks_exact(heads).zip(slopes.chunks_exact(heads));
    for (terms, (weights, slopes)) in terms.chunks_exact_mut(2 * heads).zip(rows) {
        terms[..heads].copy_from_slice(weights);
        terms[heads..].copy_from_slice(slopes);
    }
}

/// Adds the gradients of the time encoder of one target.
#[inline(always)]
fn time(
    call: &NeighbourCall,
    sines: &[f32],
    deltas: &[f64],
    terms: &[f32],
    [d_out, query]: [&[f32]; 2],
    part: &mut [f32],
) {
    let (heads, width, time_width) = (call.heads, call.width(), call.time_width());
    let start = call.rows.1 + call.features.1;
    let (weights, biases) = part.split_at_mut(time_width);
    let mut dx = scratch::take(time_width);
    let rows = sines.chunks_exact(time_width).zip(terms.chunks_exact(2 * heads));
    for ((sines, terms), delta) in rows.zip(deltas) {
        dx.fill(0.0);
        for head in 0..heads {
            let place = head * width + start;
            let (d_out, query) = (&d_out[place..][..time_width], &query[place..][..time_width]);
            for ((dx, d_out), query) in dx.iter_mut().zip(d_out).zip(query) {
                *dx += terms[head] * d_out + terms[heads + head] * query;
            }
        }
        let delta = *delta as f32;
        let sums = weights.iter_mut().zip(biases.iter_mut());
        for (((w, b), dx), sine) in sums.zip(dx.iter()).zip(sines) {
            let slope = dx * sine;
            *b += slope;
            *w += slope * delta;
        }
    }
}
