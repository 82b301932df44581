//! Parts of rows and the gates that both kinds of GRU share.
//!
//! Rows of gates are `3·h` wide (r, z, n).

use crate::cpu::math;
use crate::cpu::simd::Access;
use pulp::Simd;

#[inline(always)]
pub(super) fn thirds(x: &[f32], h: usize) -> [&[f32]; 3] {
    [&x[..h], &x[h..2 * h], &x[2 * h..3 * h]]
}

#[inline(always)]
pub(super) fn thirds_mut(x: &mut [f32], h: usize) -> [&mut [f32]; 3] {
    let (a, rest) = x.split_at_mut(h);
    let (b, c) = rest.split_at_mut(h);
    [a, b, &mut c[..h]]
}

#[inline(always)]
pub(super) fn row(x: &[f32], i: usize, width: usize) -> &[f32] {
    &x[i * width..(i + 1) * width]
}

#[inline(always)]
pub(super) fn row_mut(x: &mut [f32], i: usize, width: usize) -> &mut [f32] {
    &mut x[i * width..(i + 1) * width]
}

#[inline(always)]
pub(super) fn is_masked(mask: Option<&[f32]>, i: usize) -> bool {
    mask.is_some_and(|mask| mask[i] == 0.0)
}

/// σ(gi + gh + bias).
#[inline(always)]
pub(super) fn logistic<S: Simd, A: Access>(
    simd: S,
    at: usize,
    gi: &[f32],
    gh: &[f32],
    bias: &[f32],
) -> S::f32s {
    let product = simd.add_f32s(A::load(simd, gh, at), A::load(simd, bias, at));
    math::sigmoid(simd, simd.add_f32s(A::load(simd, gi, at), product))
}

/// The gradient of a state that passes unchanged.
#[inline(always)]
pub(super) fn pass(carry: &mut [f32], d_out: &[f32]) {
    for (carry, d) in carry.iter_mut().zip(d_out) {
        *carry += d;
    }
}
