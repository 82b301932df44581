//! The element-wise part of a GRU step for a block of vertices, reset after the product.
//!
//! Saved planes are r, z, n and the product h·U_nᵀ + b_n. The products are in `gru`.

use super::cell::{keep_masked, mix, mix_slopes, three, three_mut};
use crate::cpu::math;
use crate::cpu::recurrent::{Bias, logistic_slope, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// A whole step: turns the sums in the first three saved planes into gates; they and the product
/// come without their bias.
pub(super) struct After<'a> {
    pub(super) plane: usize,
    pub(super) bias: Bias<'a>,
    pub(super) mask: Option<&'a [f32]>,
    pub(super) state: &'a [f32],
    pub(super) new: &'a mut [f32],
    pub(super) saved: &'a mut [f32],
}

impl WithSimd for After<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, bias, mask, state, new, saved } = self;
        let new = vectors_mut::<S>(new);
        let count = new.len();
        let state = &vectors::<S>(state)[..count];
        let (gates, product) = saved.split_at_mut(3 * plane);
        let [r, z, n] = three_mut::<S>(gates, plane, count);
        let product = &mut vectors_mut::<S>(product)[..count];
        let len = bias.run_len::<S>();
        for run in 0..count / len {
            for vector in 0..len {
                let at = run * len + vector;
                let [b_r, b_z, b_n, b_product] = bias.at::<S, 4>(simd, 0, run, vector);
                r[at] = math::sigmoid(simd, simd.add_f32s(r[at], b_r));
                z[at] = math::sigmoid(simd, simd.add_f32s(z[at], b_z));
                product[at] = simd.add_f32s(product[at], b_product);
                let sum = simd.add_f32s(n[at], b_n);
                n[at] = math::tanh(simd, simd.mul_add_e_f32s(r[at], product[at], sum));
                new[at] = mix(simd, z[at], n[at], state[at]);
            }
        }
        keep_masked(simd, mask, state, new);
    }
}

/// A step back: the gradients of r, z, n before their activation and of the product; `carry`
/// becomes z∘d as the first part of the gradient of the state before.
pub(super) struct AfterBack<'a> {
    pub(super) plane: usize,
    pub(super) saved: &'a [f32],
    pub(super) state: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry: &'a mut [f32],
    pub(super) gates: &'a mut [f32],
}

impl WithSimd for AfterBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, saved, state, d_out, mask, carry, gates } = self;
        let d_out = vectors::<S>(d_out);
        let count = d_out.len();
        let (saved, product) = saved.split_at(3 * plane);
        let [r, z, n] = three::<S>(saved, plane, count);
        let product = &vectors::<S>(product)[..count];
        let state = &vectors::<S>(state)[..count];
        let (gates, d_product) = gates.split_at_mut(3 * plane);
        let [d_r, d_z, d_n] = three_mut::<S>(gates, plane, count);
        let d_product = &mut vectors_mut::<S>(d_product)[..count];
        let carry = &mut vectors_mut::<S>(carry)[..count];
        let mask = mask.map(|mask| &vectors::<S>(mask)[..count]);
        let zero = simd.splat_f32s(0.0);
        for at in 0..count {
            let d = simd.add_f32s(carry[at], d_out[at]);
            let [mut to_z, mut to_n] = mix_slopes(simd, d, z[at], n[at], state[at]);
            let mut to_r = logistic_slope(simd, simd.mul_f32s(to_n, product[at]), r[at]);
            let mut to_product = simd.mul_f32s(to_n, r[at]);
            let mut passes = simd.mul_f32s(d, z[at]);
            if let Some(mask) = mask {
                let absent = simd.equal_f32s(mask[at], zero);
                to_r = simd.select_f32s(absent, zero, to_r);
                to_z = simd.select_f32s(absent, zero, to_z);
                to_n = simd.select_f32s(absent, zero, to_n);
                to_product = simd.select_f32s(absent, zero, to_product);
                passes = simd.select_f32s(absent, d, passes);
            }
            carry[at] = passes;
            d_r[at] = to_r;
            d_z[at] = to_z;
            d_n[at] = to_n;
            d_product[at] = to_product;
        }
    }
}
