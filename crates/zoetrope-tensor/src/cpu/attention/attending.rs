//! Attention of a block of vertices whose queries, keys and values are in lanes.

use pulp::Simd;

use super::core::Head;
use super::lanes::VertexBlock;
use crate::cpu::dropout::Mask;
use crate::cpu::scratch::{self, Scratch};

/// Who attends to whom, and how.
#[derive(Clone, Copy)]
pub(super) struct Attending<'a> {
    pub(super) causal: bool,
    pub(super) scale: f32,
    pub(super) mask: Option<&'a [f32]>,
    pub(super) drop: Option<Mask>,
    /// The bits of the numbers of vertices that dropout depends on; their places if None.
    pub(super) numbers: Option<&'a [f32]>,
}

/// The probabilities of a block and what dropout makes of them.
pub(super) struct Room {
    /// Vectors of one head of one group.
    square: usize,
    /// Whether all heads of all groups are kept, for the backward pass; else each takes the place
    /// of the one before.
    keeps: bool,
    p: Scratch,
    /// Factors of dropout, and the probabilities times them.
    factors: Scratch,
    dropped: Scratch,
    /// 1 or 0 for each row in lanes, if there is a mask.
    there: Scratch,
}

impl Room {
    pub(super) fn new(how: &Attending, block: VertexBlock, lanes: usize, keeps: bool) -> Self {
        let square = block.shape.steps * block.shape.steps;
        let places = if keeps { block.groups(lanes) * block.shape.heads } else { 1 };
        let dropped = if how.drop.is_some() { places * square * lanes } else { 0 };
        Self {
            square,
            keeps,
            p: scratch::take(places * square * lanes),
            factors: scratch::take(dropped),
            dropped: scratch::take(dropped),
            there: scratch::take(how.mask.map_or(0, |_| block.rows(lanes) * lanes)),
        }
    }
}

impl Attending<'_> {
    /// out = softmax(scale · q·kᵀ)·v for all groups and heads of a block.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(
        &self,
        simd: S,
        block: VertexBlock,
        qkv: &[S::f32s],
        out: &mut [S::f32s],
        room: &mut Room,
    ) {
        let (shape, lanes) = (block.shape, S::F32_LANES);
        self.look_who_is_there(block, lanes, &mut room.there);
        let square = room.square;
        for group in 0..block.groups(lanes) {
            let rows = group * shape.steps..(group + 1) * shape.steps;
            let qkv = &qkv[rows.start * 3 * shape.width..rows.end * 3 * shape.width];
            let out = &mut out[rows.start * shape.width..rows.end * shape.width];
            let there = self.mask.map(|_| &S::as_simd_f32s(&room.there).0[rows.clone()]);
            for head in 0..shape.heads {
                let place = if room.keeps { group * shape.heads + head } else { 0 } * square;
                let kernel = Head::new(shape, self.causal, self.scale, head);
                let p = &mut S::as_mut_simd_f32s(&mut room.p).0[place..place + square];
                kernel.probabilities(simd, qkv, there, p);
                let Some(drop) = self.drop else {
                    kernel.attend(simd, qkv, p, out);
                    continue;
                };
                let span = place * lanes..(place + square) * lanes;
                let factors = &mut room.factors[span.clone()];
                fill_factors(simd, drop, self.numbers, block, group, head, factors);
                let dropped = &mut room.dropped[span];
                dropped.copy_from_slice(bytemuck::cast_slice(p));
                for (dropped, factor) in dropped.iter_mut().zip(factors) {
                    *dropped *= *factor;
                }
                kernel.attend(simd, qkv, S::as_simd_f32s(dropped).0, out);
            }
        }
    }

    /// Writes the derivatives of queries, keys and values; `room` is as [`Attending::forward`]
    /// left it, keeping.
    #[inline(always)]
    pub(super) fn backward<S: Simd>(
        &self,
        simd: S,
        block: VertexBlock,
        qkv: &[S::f32s],
        d_out: &[S::f32s],
        d_qkv: &mut [S::f32s],
        room: &Room,
    ) {
        let (shape, lanes) = (block.shape, S::F32_LANES);
        let square = room.square;
        let mut slopes = scratch::take(square * lanes);
        let slopes = S::as_mut_simd_f32s(&mut slopes).0;
        for group in 0..block.groups(lanes) {
            let rows = group * shape.steps..(group + 1) * shape.steps;
            let threefold = rows.start * 3 * shape.width..rows.end * 3 * shape.width;
            let (qkv, d_qkv) = (&qkv[threefold.clone()], &mut d_qkv[threefold]);
            let d_out = &d_out[rows.start * shape.width..rows.end * shape.width];
            for head in 0..shape.heads {
                let place = (group * shape.heads + head) * square;
                let p = &S::as_simd_f32s(&room.p).0[place..place + square];
                let (mut dropped, mut factors) = (p, None);
                if self.drop.is_some() {
                    dropped = &S::as_simd_f32s(&room.dropped).0[place..place + square];
                    factors = Some(&S::as_simd_f32s(&room.factors).0[place..place + square]);
                }
                let kernel = Head::new(shape, self.causal, self.scale, head);
                kernel.backward(simd, qkv, p, dropped, factors, d_out, slopes, d_qkv);
            }
        }
    }

    fn look_who_is_there(&self, block: VertexBlock, lanes: usize, there: &mut [f32]) {
        let Some(mask) = self.mask else { return };
        let steps = block.shape.steps;
        for (row, there) in there.chunks_exact_mut(lanes).enumerate() {
            let (first, count) = block.members(row / steps, lanes);
            let mask = &mask[(row % steps) * block.shape.vertices + first..][..count];
            there.fill(0.0);
            for (there, mask) in there.iter_mut().zip(mask) {
                *there = f32::from(*mask != 0.0);
            }
        }
    }
}

/// The factors of one head of one group: counters go by (vertex, head, key, query).
#[inline(always)]
fn fill_factors<S: Simd>(
    simd: S,
    drop: Mask,
    numbers: Option<&[f32]>,
    block: VertexBlock,
    group: usize,
    head: usize,
    factors: &mut [f32],
) {
    let square = block.shape.steps * block.shape.steps;
    let mut drawn = scratch::take(square);
    let (first, count) = block.members(group, S::F32_LANES);
    factors.fill(0.0);
    for lane in 0..count {
        let place = first + lane;
        let vertex = numbers.map_or(place, |numbers| numbers[place].to_bits() as usize);
        let at = (vertex * block.shape.heads + head) * square;
        drop.fill(simd, at as u64, &mut drawn);
        for (factor, drawn) in factors[lane..].iter_mut().step_by(S::F32_LANES).zip(&drawn[..]) {
            *factor = *drawn;
        }
    }
}
