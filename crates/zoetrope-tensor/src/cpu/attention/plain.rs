//! Attention of a block of vertices from given queries, keys and values.

use pulp::{Simd, WithSimd};

use super::attending::{Attending, Room};
use super::lanes::VertexBlock;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch::{self, Scratch};

/// One block forward.
#[derive(Clone, Copy)]
pub(super) struct Forward<'a> {
    pub(super) block: VertexBlock,
    pub(super) how: Attending<'a>,
    pub(super) inputs: [&'a [f32]; 3],
    pub(super) out: Option<Scattered<'a>>,
}

impl Forward<'_> {
    /// Queries, keys and values side by side, the result, and the probabilities.
    #[inline(always)]
    fn pass<S: Simd>(&self, simd: S, keeps: bool) -> (Scratch, Scratch, Room) {
        let (block, width, lanes) = (self.block, self.block.shape.width, S::F32_LANES);
        let len = block.rows(lanes) * width * lanes;
        let mut qkv = scratch::take(3 * len);
        let mut out = scratch::take(len);
        let mut room = Room::new(&self.how, block, lanes, keeps);
        for (which, input) in self.inputs.iter().enumerate() {
            block.turn_in(lanes, input, which * width, 3 * width, &mut qkv);
        }
        let attended = S::as_mut_simd_f32s(&mut out).0;
        self.how.forward(simd, block, S::as_simd_f32s(&qkv).0, attended, &mut room);
        (qkv, out, room)
    }
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (_, out, _) = self.pass(simd, false);
        if let Some(place) = self.out {
            let width = self.block.shape.width;
            self.block.turn_out(S::F32_LANES, &out, 0, width, place, Accumulate::Overwrite);
        }
    }
}

/// One block backward.
pub(super) struct Backward<'a> {
    pub(super) forward: Forward<'a>,
    pub(super) d_out: &'a [f32],
    pub(super) gradients: [Scattered<'a>; 3],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { forward, d_out, gradients } = self;
        let (block, width, lanes) = (forward.block, forward.block.shape.width, S::F32_LANES);
        let (qkv, mut d_lanes, room) = forward.pass(simd, true);
        block.turn_in(lanes, d_out, 0, width, &mut d_lanes);
        let mut d_qkv = scratch::take(qkv.len());
        let d_out = S::as_simd_f32s(&d_lanes).0;
        let slopes = S::as_mut_simd_f32s(&mut d_qkv).0;
        forward.how.backward(simd, block, S::as_simd_f32s(&qkv).0, d_out, slopes, &room);
        for (which, gradient) in gradients.into_iter().enumerate() {
            let at = which * width;
            block.turn_out(lanes, &d_qkv, at, 3 * width, gradient, Accumulate::Add);
        }
    }
}
