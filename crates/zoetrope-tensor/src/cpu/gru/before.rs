//! The element-wise part of a GRU step for a block of vertices, reset before the product.
//!
//! Saved planes are r, z, n. The products are in `gru`.

use super::cell::{keep_masked, mix, mix_slopes, three, three_mut};
use crate::cpu::math;
use crate::cpu::recurrent::{Bias, logistic_slope, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// The gates r and z from their sums, and r∘h.
pub(super) struct BeforeGates<'a> {
    pub(super) plane: usize,
    pub(super) bias: Bias<'a>,
    pub(super) state: &'a [f32],
    pub(super) saved: &'a mut [f32],
    pub(super) reset: &'a mut [f32],
}

impl WithSimd for BeforeGates<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, bias, state, saved, reset } = self;
        let state = vectors::<S>(state);
        let count = state.len();
        let [r, z, _] = three_mut::<S>(saved, plane, count);
        let reset = &mut vectors_mut::<S>(reset)[..count];
        let len = bias.run_len::<S>();
        for run in 0..count / len {
            for vector in 0..len {
                let at = run * len + vector;
                let [b_r, b_z] = bias.at::<S, 2>(simd, 0, run, vector);
                r[at] = math::sigmoid(simd, simd.add_f32s(r[at], b_r));
                z[at] = math::sigmoid(simd, simd.add_f32s(z[at], b_z));
                reset[at] = simd.mul_f32s(r[at], state[at]);
            }
        }
    }
}

/// The candidate n from its sum, and the new state.
pub(super) struct BeforeState<'a> {
    pub(super) plane: usize,
    pub(super) bias: Bias<'a>,
    pub(super) mask: Option<&'a [f32]>,
    pub(super) state: &'a [f32],
    pub(super) new: &'a mut [f32],
    pub(super) saved: &'a mut [f32],
}

impl WithSimd for BeforeState<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, bias, mask, state, new, saved } = self;
        let new = vectors_mut::<S>(new);
        let count = new.len();
        let state = &vectors::<S>(state)[..count];
        let [_, z, n] = three_mut::<S>(saved, plane, count);
        let len = bias.run_len::<S>();
        for run in 0..count / len {
            for vector in 0..len {
                let at = run * len + vector;
                let [b_n] = bias.at::<S, 1>(simd, 2, run, vector);
                n[at] = math::tanh(simd, simd.add_f32s(n[at], b_n));
                new[at] = mix(simd, z[at], n[at], state[at]);
            }
        }
        keep_masked(simd, mask, state, new);
    }
}

/// A step back, first half: the gradients of z and n before their activation, r∘h again, and
/// z∘d.
pub(super) struct BeforeBackGates<'a> {
    pub(super) plane: usize,
    pub(super) saved: &'a [f32],
    pub(super) state: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry: &'a mut [f32],
    pub(super) gates: &'a mut [f32],
    pub(super) reset: &'a mut [f32],
}

impl WithSimd for BeforeBackGates<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, saved, state, d_out, mask, carry, gates, reset } = self;
        let d_out = vectors::<S>(d_out);
        let count = d_out.len();
        let [r, z, n] = three::<S>(saved, plane, count);
        let state = &vectors::<S>(state)[..count];
        let [_, d_z, d_n] = three_mut::<S>(gates, plane, count);
        let carry = &mut vectors_mut::<S>(carry)[..count];
        let reset = &mut vectors_mut::<S>(reset)[..count];
        let mask = mask.map(|mask| &vectors::<S>(mask)[..count]);
        let zero = simd.splat_f32s(0.0);
        for at in 0..count {
            let d = simd.add_f32s(carry[at], d_out[at]);
            let [mut to_z, mut to_n] = mix_slopes(simd, d, z[at], n[at], state[at]);
            let mut again = simd.mul_f32s(r[at], state[at]);
            let mut passes = simd.mul_f32s(d, z[at]);
            if let Some(mask) = mask {
                let absent = simd.equal_f32s(mask[at], zero);
                to_z = simd.select_f32s(absent, zero, to_z);
                to_n = simd.select_f32s(absent, zero, to_n);
                again = simd.select_f32s(absent, zero, again);
                passes = simd.select_f32s(absent, d, passes);
            }
            d_z[at] = to_z;
            d_n[at] = to_n;
            carry[at] = passes;
            reset[at] = again;
        }
    }
}

/// A step back, second half: with the gradient of r∘h, the gradient of r and the second part of
/// the gradient of the state.
pub(super) struct BeforeBackState<'a> {
    pub(super) saved: &'a [f32],
    pub(super) state: &'a [f32],
    pub(super) d_reset: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry: &'a mut [f32],
    pub(super) gates: &'a mut [f32],
}

impl WithSimd for BeforeBackState<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { saved, state, d_reset, mask, carry, gates } = self;
        let state = vectors::<S>(state);
        let count = state.len();
        let (r, d_reset) = (&vectors::<S>(saved)[..count], &vectors::<S>(d_reset)[..count]);
        let d_r = &mut vectors_mut::<S>(gates)[..count];
        let carry = &mut vectors_mut::<S>(carry)[..count];
        let mask = mask.map(|mask| &vectors::<S>(mask)[..count]);
        let zero = simd.splat_f32s(0.0);
        for at in 0..count {
            let mut to_r = logistic_slope(simd, simd.mul_f32s(d_reset[at], state[at]), r[at]);
            let mut sum = simd.mul_add_e_f32s(d_reset[at], r[at], carry[at]);
            // What an absent cell saved may not be numbers.
            if let Some(mask) = mask {
                let absent = simd.equal_f32s(mask[at], zero);
                to_r = simd.select_f32s(absent, zero, to_r);
                sum = simd.select_f32s(absent, carry[at], sum);
            }
            carry[at] = sum;
            d_r[at] = to_r;
        }
    }
}
