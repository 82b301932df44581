//! What the element-wise parts of both kinds of GRU share.
//!
//! They work on planes (`recurrent`), all of one length, a whole number of vectors.

use crate::cpu::recurrent::{logistic_slope, vectors, vectors_mut};
use pulp::Simd;

/// The vectors of three planes, `count` of each.
#[inline(always)]
pub(super) fn three<S: Simd>(x: &[f32], plane: usize, count: usize) -> [&[S::f32s]; 3] {
    let (a, rest) = x.split_at(plane);
    let (b, c) = rest.split_at(plane);
    [&vectors::<S>(a)[..count], &vectors::<S>(b)[..count], &vectors::<S>(c)[..count]]
}

#[inline(always)]
pub(super) fn three_mut<S: Simd>(x: &mut [f32], plane: usize, count: usize) -> [&mut [S::f32s]; 3] {
    let (a, rest) = x.split_at_mut(plane);
    let (b, c) = rest.split_at_mut(plane);
    [
        &mut vectors_mut::<S>(a)[..count],
        &mut vectors_mut::<S>(b)[..count],
        &mut vectors_mut::<S>(c)[..count],
    ]
}

/// (1 − z)∘n + z∘h.
#[inline(always)]
pub(crate) fn mix<S: Simd>(simd: S, z: S::f32s, n: S::f32s, state: S::f32s) -> S::f32s {
    simd.mul_add_e_f32s(z, simd.sub_f32s(state, n), n)
}

/// The gradients of z and n before their activation, from that of the new state.
#[inline(always)]
pub(crate) fn mix_slopes<S: Simd>(
    simd: S,
    d: S::f32s,
    z: S::f32s,
    n: S::f32s,
    state: S::f32s,
) -> [S::f32s; 2] {
    let one = simd.splat_f32s(1.0);
    let d_z = logistic_slope(simd, simd.mul_f32s(d, simd.sub_f32s(state, n)), z);
    let d_n = simd.mul_f32s(d, simd.sub_f32s(one, z));
    [d_z, simd.mul_f32s(d_n, simd.sub_f32s(one, simd.mul_f32s(n, n)))]
}

/// If the mask is 0 the state passes unchanged.
#[inline(always)]
pub(super) fn keep_masked<S: Simd>(
    simd: S,
    mask: Option<&[f32]>,
    state: &[S::f32s],
    new: &mut [S::f32s],
) {
    let Some(mask) = mask else { return };
    let zero = simd.splat_f32s(0.0);
    for ((new, state), mask) in new.iter_mut().zip(state).zip(vectors::<S>(mask)) {
        *new = simd.select_f32s(simd.equal_f32s(*mask, zero), *state, *new);
    }
}
