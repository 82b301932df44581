//! Gradients of a range of queries, with all their targets, on one thread.

use pulp::{Simd, WithSimd};

use super::NeighbourCall;
use super::dense::{dots, sums};
use super::tile::{Columns, Tile};
use super::time::{TimeTerms, time_gradient};
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;
use crate::cpu::time_encoding::Turns;

pub(super) struct Queries<'a> {
    pub(super) call: &'a NeighbourCall<'a>,
    pub(super) turns: Option<&'a Turns>,
    /// The factors of dropout for all slots and heads.
    pub(super) factors: Option<&'a [f32]>,
    pub(super) alpha: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) from: usize,
    pub(super) to: usize,
    /// Of the range, if wanted.
    pub(super) d_queries: Option<&'a mut [f32]>,
    /// Whether those are replaced or added to.
    pub(super) mode: Accumulate,
    /// For each slot ᾱ of all heads, then the slopes of the scores of all heads.
    pub(super) terms: Scattered<'a>,
    /// Sums of sin·Δt·dx and of sin·dx of the range; empty if not wanted.
    pub(super) part: &'a mut [f32],
}

impl WithSimd for Queries<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let call = self.call;
        let (heads, columns) = (call.heads, call.columns());
        let wide = heads * columns.width;
        let (mut tile, mut dy) = (Tile::new(columns), Tile::new(columns));
        let mut asked = Tile::new(columns);
        let mut slopes = scratch::take(0);
        for query in self.from..self.to {
            let targets = call.targets_of(query);
            let following: &[u32] =
                if query + 1 < self.to { call.targets_of(query + 1) } else { &[] };
            let mut mode = self.mode;
            asked.copy(simd, &call.queries[query * wide..][..wide]);
            for (i, &target) in targets.iter().enumerate() {
                let target = target as usize;
                let slots = call.slots(target);
                if slots.is_empty() {
                    continue;
                }
                // The next target of this query, or of the next one.
                let next = targets.get(i + 1).or(following.first());
                if let Some(&next) = next {
                    call.ask_for(next as usize, self.d_out, next as usize);
                }
                dy.copy(simd, &self.d_out[target * wide..][..wide]);
                if self.part.is_empty() {
                    tile.gather::<S, false>(simd, call, self.turns, slots.clone());
                } else {
                    tile.gather::<S, true>(simd, call, self.turns, slots.clone());
                }
                let entries = slots.start * heads..slots.end * heads;
                slopes.resize(entries.len());
                dots(simd, tile.values(), columns.stride, dy.values(), &mut slopes);
                // SAFETY: a target belongs to one query, which one block has; slots belong to one
                // target, because offsets ascend (both are checked before).
                #[allow(unsafe_code)]
                let terms = unsafe { self.terms.piece(2 * entries.start, 2 * entries.len()) };
                let factors = self.factors.map(|factors| &factors[entries.clone()]);
                through_softmax(call, &self.alpha[entries], factors, &mut slopes, terms);
                if let Some(d_queries) = &mut self.d_queries {
                    let d = &mut d_queries[(query - self.from) * wide..][..wide];
                    sums(simd, tile.values(), &columns, &slopes, d, mode);
                    mode = Accumulate::Add;
                }
                if !self.part.is_empty() {
                    let Columns { places, stride, .. } = columns;
                    let (d_out, query) = (&dy.values()[places[2]..], &asked.values()[places[2]..]);
                    let (sines, deltas) = (tile.sines(), &call.deltas[slots]);
                    let terms = TimeTerms { sines, deltas, terms, d_out, query, stride, heads };
                    time_gradient(simd, terms, self.part);
                }
            }
            if let Some(d_queries) = &mut self.d_queries
                && mode == Accumulate::Overwrite
            {
                d_queries[(query - self.from) * wide..][..wide].fill(0.0);
            }
        }
    }
}

/// From the derivatives of the weights after dropout to those of q·x, which are left in `terms`
/// as well, behind ᾱ.
#[inline(always)]
fn through_softmax(
    call: &NeighbourCall,
    alpha: &[f32],
    factors: Option<&[f32]>,
    slopes: &mut [f32],
    terms: &mut [f32],
) {
    let heads = call.heads;
    let leak = call.slope.unwrap_or(1.0) * call.scale;
    for head in 0..heads {
        let (mut sum, mut at, mut to) = (0.0, head, head);
        while at < alpha.len() {
            let size = alpha[at].abs();
            let factor = factors.map_or(1.0, |factors| factors[at]);
            slopes[at] *= factor;
            terms[to] = size * factor;
            sum += size * slopes[at];
            at += heads;
            to += 2 * heads;
        }
        (at, to) = (head, head + heads);
        while at < alpha.len() {
            let slope = if alpha[at].is_sign_negative() { leak } else { call.scale };
            slopes[at] = alpha[at].abs() * (slopes[at] - sum) * slope;
            terms[to] = slopes[at];
            at += heads;
            to += 2 * heads;
        }
    }
}
