//! A whole layer of attention over time on a block of vertices: nothing but its input and its
//! result leaves the cache.
//!
//! ```text
//! x' = x + p_t    q, k, v = x'·W    o = attention(q, k, v)    y = relu(o·Wᵀ + b) + o + x'
//! ```
//!
//! The backward pass computes all of it again: 8·D multiply-adds an element against reading and
//! writing seven matrices.

use pulp::{Simd, WithSimd};

use super::attending::{Attending, Room};
use super::lanes::VertexBlock;
use super::product::{Packed, add_gradient, add_sums};
use super::{AttentionLayer, AttentionShape};
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch::{self, Scratch};

/// The weights of a layer as the products want them.
pub(super) struct Weights<'a> {
    positions: &'a [f32],
    bias: &'a [f32],
    projections: Packed,
    linear: Packed,
}

impl<'a> Weights<'a> {
    pub(super) fn new(shape: AttentionShape, layer: &AttentionLayer<'a>) -> Self {
        let (d, weight) = (shape.width, layer.weight);
        let projections = Packed::new(d, 3 * d, |i, j| layer.projections[j / d][i * d + j % d]);
        let linear = Packed::new(d, d, |i, j| weight[j * d + i]);
        Self { positions: layer.positions, bias: layer.bias, projections, linear }
    }
}

/// The transposed weights, for the backward pass.
pub(super) struct Turned {
    projections: Packed,
    linear: Packed,
}

impl Turned {
    pub(super) fn new(shape: AttentionShape, layer: &AttentionLayer) -> Self {
        let (d, weight) = (shape.width, layer.weight);
        let projections = Packed::new(3 * d, d, |i, j| layer.projections[i / d][j * d + i % d]);
        let linear = Packed::new(d, d, |i, j| weight[i * d + j]);
        Self { projections, linear }
    }
}

/// The intermediate results of a block, in lanes.
struct Passing {
    x: Scratch,
    qkv: Scratch,
    out: Scratch,
    /// Before the relu.
    fed: Scratch,
    room: Room,
}

/// One block forward.
#[derive(Clone, Copy)]
pub(super) struct Forward<'a> {
    pub(super) block: VertexBlock,
    pub(super) how: Attending<'a>,
    pub(super) weights: &'a Weights<'a>,
    pub(super) x: &'a [f32],
    pub(super) y: Option<Scattered<'a>>,
}

impl Forward<'_> {
    #[inline(always)]
    fn pass<S: Simd>(&self, simd: S, keeps: bool) -> Passing {
        let (block, lanes) = (self.block, S::F32_LANES);
        let AttentionShape { steps, width, .. } = block.shape;
        let len = block.rows(lanes) * width * lanes;
        let mut x = scratch::take(len);
        let mut qkv = scratch::take(3 * len);
        let mut out = scratch::take(len);
        let mut fed = scratch::take(len);
        let mut room = Room::new(&self.how, block, lanes, keeps);
        block.turn_in(lanes, self.x, 0, width, &mut x);
        let rows = S::as_mut_simd_f32s(&mut x).0;
        for row in 0..block.rows(lanes) {
            add_splats(simd, &self.weights.positions[row % steps * width..][..width], rows, row);
        }
        let in_lanes = S::as_mut_simd_f32s(&mut qkv).0;
        self.weights.projections.multiply(simd, rows, in_lanes, false);
        let attended = S::as_mut_simd_f32s(&mut out).0;
        self.how.forward(simd, block, in_lanes, attended, &mut room);
        let fed_lanes = S::as_mut_simd_f32s(&mut fed).0;
        self.weights.linear.multiply(simd, attended, fed_lanes, false);
        for row in 0..block.rows(lanes) {
            add_splats(simd, self.weights.bias, fed_lanes, row);
        }
        Passing { x, qkv, out, fed, room }
    }
}

/// Adds one number a column to a row in lanes.
#[inline(always)]
fn add_splats<S: Simd>(simd: S, x: &[f32], y: &mut [S::f32s], row: usize) {
    let y = &mut y[row * x.len()..][..x.len()];
    for j in 0..x.len() {
        y[j] = simd.add_f32s(y[j], simd.splat_f32s(x[j]));
    }
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Passing { x, out, mut fed, .. } = self.pass(simd, false);
        let zero = simd.splat_f32s(0.0);
        let (x, out) = (S::as_simd_f32s(&x).0, S::as_simd_f32s(&out).0);
        let sum = S::as_mut_simd_f32s(&mut fed).0;
        for i in 0..sum.len() {
            let relu = simd.select_f32s(simd.greater_than_f32s(sum[i], zero), sum[i], zero);
            sum[i] = simd.add_f32s(simd.add_f32s(relu, out[i]), x[i]);
        }
        if let Some(y) = self.y {
            let width = self.block.shape.width;
            self.block.turn_out(S::F32_LANES, &fed, 0, width, y, Accumulate::Overwrite);
        }
    }
}

/// The sums of a layer's gradients, one after another.
pub(super) struct Sums<'a> {
    /// `D × 3D`.
    pub(super) projections: &'a mut [f32],
    /// `D × D`, `out × in`.
    pub(super) weight: &'a mut [f32],
    pub(super) bias: &'a mut [f32],
    /// `T × D`.
    pub(super) positions: &'a mut [f32],
}

impl<'a> Sums<'a> {
    pub(super) fn len(shape: AttentionShape) -> usize {
        let d = shape.width;
        4 * d * d + d + shape.steps * d
    }

    pub(super) fn of(shape: AttentionShape, sums: &'a mut [f32]) -> Self {
        let d = shape.width;
        let (projections, rest) = sums.split_at_mut(3 * d * d);
        let (weight, rest) = rest.split_at_mut(d * d);
        let (bias, positions) = rest.split_at_mut(d);
        Self { projections, weight, bias, positions }
    }
}

/// One block backward; adds to `sums`.
pub(super) struct Backward<'a> {
    pub(super) forward: Forward<'a>,
    pub(super) turned: &'a Turned,
    pub(super) dy: &'a [f32],
    pub(super) dx: Option<(Scattered<'a>, Accumulate)>,
    pub(super) sums: Sums<'a>,
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (block, lanes) = (self.forward.block, S::F32_LANES);
        let AttentionShape { steps, width, .. } = block.shape;
        let Passing { x, qkv, out, mut fed, room } = self.forward.pass(simd, true);
        let sums = self.sums;
        let mut dy = scratch::take(x.len());
        block.turn_in(lanes, self.dy, 0, width, &mut dy);
        let dy = S::as_mut_simd_f32s(&mut dy).0;
        let (x, qkv) = (S::as_simd_f32s(&x).0, S::as_simd_f32s(&qkv).0);
        let (out, d_fed) = (S::as_simd_f32s(&out).0, S::as_mut_simd_f32s(&mut fed).0);
        let zero = simd.splat_f32s(0.0);
        for i in 0..d_fed.len() {
            d_fed[i] = simd.select_f32s(simd.greater_than_f32s(d_fed[i], zero), dy[i], zero);
        }
        add_gradient(simd, (d_fed, width), (out, width), sums.weight);
        add_sums(simd, d_fed, sums.bias);
        let mut d_out = scratch::take(x.len() * lanes);
        let d_out = S::as_mut_simd_f32s(&mut d_out).0;
        d_out.copy_from_slice(dy);
        self.turned.linear.multiply(simd, d_fed, d_out, true);
        let mut d_qkv = scratch::take(3 * x.len() * lanes);
        let d_qkv = S::as_mut_simd_f32s(&mut d_qkv).0;
        self.forward.how.backward(simd, block, qkv, d_out, d_qkv, &room);
        add_gradient(simd, (x, width), (d_qkv, 3 * width), sums.projections);
        // The gradient of x' takes the place of that of y, which is its first summand.
        self.turned.projections.multiply(simd, d_qkv, dy, true);
        for step in 0..steps {
            for j in 0..width {
                let mut sum = zero;
                for group in 0..block.groups(lanes) {
                    sum = simd.add_f32s(sum, dy[(group * steps + step) * width + j]);
                }
                sums.positions[step * width + j] += simd.reduce_sum_f32s(sum);
            }
        }
        if let Some((dx, accumulate)) = self.dx {
            block.turn_out(lanes, bytemuck::cast_slice(dy), 0, width, dx, accumulate);
        }
    }
}
