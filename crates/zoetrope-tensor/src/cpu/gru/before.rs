//! The element-wise part of a GRU step for a block of vertices, reset before the product.
//!
//! Saved rows are r, z, n. The products are in `gru`.

use super::cell::{is_masked, logistic, pass, row, row_mut, thirds, thirds_mut};
use crate::cpu::math;
use crate::cpu::simd::{Access, Cells, along, load_all};
use pulp::{Simd, WithSimd};

/// Reset before: the gates r and z, and r∘h.
pub(super) struct BeforeGates<'a> {
    pub(super) h: usize,
    pub(super) gi: &'a [f32],
    pub(super) gh: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) state: &'a [f32],
    pub(super) saved: &'a mut [f32],
    pub(super) reset: &'a mut [f32],
}

impl WithSimd for BeforeGates<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let h = self.h;
        let bias = thirds(self.bias, h);
        for i in 0..self.state.len() / h.max(1) {
            let [r, z, _] = thirds_mut(row_mut(self.saved, i, 3 * h), h);
            let mut cells = BeforeGatesRow {
                gi: thirds(row(self.gi, i, 3 * h), h),
                gh: thirds(row(self.gh, i, 3 * h), h),
                bias,
                state: row(self.state, i, h),
                saved: [r, z],
                reset: row_mut(self.reset, i, h),
            };
            along(simd, h, &mut cells);
        }
    }
}

struct BeforeGatesRow<'a> {
    gi: [&'a [f32]; 3],
    gh: [&'a [f32]; 3],
    bias: [&'a [f32]; 3],
    state: &'a [f32],
    saved: [&'a mut [f32]; 2],
    reset: &'a mut [f32],
}

impl Cells for BeforeGatesRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let r = logistic::<S, A>(simd, at, self.gi[0], self.gh[0], self.bias[0]);
        let z = logistic::<S, A>(simd, at, self.gi[1], self.gh[1], self.bias[1]);
        A::store(simd, self.saved[0], at, r);
        A::store(simd, self.saved[1], at, z);
        A::store(simd, self.reset, at, simd.mul_f32s(r, A::load(simd, self.state, at)));
    }
}

/// Reset before: the candidate n and the new state.
pub(super) struct BeforeState<'a> {
    pub(super) h: usize,
    pub(super) gi: &'a [f32],
    pub(super) gh: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) state: &'a [f32],
    pub(super) new: &'a mut [f32],
    pub(super) saved: &'a mut [f32],
}

impl WithSimd for BeforeState<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let h = self.h;
        for i in 0..self.state.len() / h.max(1) {
            let [_, z, n] = thirds_mut(row_mut(self.saved, i, 3 * h), h);
            let mut cells = BeforeStateRow {
                gi: thirds(row(self.gi, i, 3 * h), h)[2],
                gh: thirds(row(self.gh, i, 3 * h), h)[2],
                bias: &self.bias[2 * h..3 * h],
                state: row(self.state, i, h),
                new: row_mut(self.new, i, h),
                z,
                n,
            };
            along(simd, h, &mut cells);
            if is_masked(self.mask, i) {
                cells.new.copy_from_slice(cells.state);
            }
        }
    }
}

struct BeforeStateRow<'a> {
    gi: &'a [f32],
    gh: &'a [f32],
    bias: &'a [f32],
    state: &'a [f32],
    new: &'a mut [f32],
    z: &'a [f32],
    n: &'a mut [f32],
}

impl Cells for BeforeStateRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let gh = simd.add_f32s(A::load(simd, self.gh, at), A::load(simd, self.bias, at));
        let n = math::tanh(simd, simd.add_f32s(A::load(simd, self.gi, at), gh));
        let state = A::load(simd, self.state, at);
        let z = A::load(simd, self.z, at);
        A::store(simd, self.new, at, simd.mul_add_e_f32s(z, simd.sub_f32s(state, n), n));
        A::store(simd, self.n, at, n);
    }
}

/// A step back, reset before, first half: the gradients of z and n before their activation, r∘h
/// again, and z∘dh.
pub(super) struct BeforeBackGates<'a> {
    pub(super) h: usize,
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
        let h = self.h;
        for i in 0..self.state.len() / h.max(1) {
            let carry = row_mut(self.carry, i, h);
            let d_out = row(self.d_out, i, h);
            let reset = row_mut(self.reset, i, h);
            if is_masked(self.mask, i) {
                pass(carry, d_out);
                row_mut(self.gates, i, 3 * h).fill(0.0);
                reset.fill(0.0);
                continue;
            }
            let [_, d_z, d_n] = thirds_mut(row_mut(self.gates, i, 3 * h), h);
            let mut cells = BeforeBackGatesRow {
                saved: thirds(row(self.saved, i, 3 * h), h),
                state: row(self.state, i, h),
                d_out,
                carry,
                d_z,
                d_n,
                reset,
            };
            along(simd, h, &mut cells);
        }
    }
}

struct BeforeBackGatesRow<'a> {
    saved: [&'a [f32]; 3],
    state: &'a [f32],
    d_out: &'a [f32],
    carry: &'a mut [f32],
    d_z: &'a mut [f32],
    d_n: &'a mut [f32],
    reset: &'a mut [f32],
}

impl Cells for BeforeBackGatesRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let one = simd.splat_f32s(1.0);
        let [r, z, n] = load_all::<S, A, 3>(simd, &self.saved, at);
        let state = A::load(simd, self.state, at);
        let d = simd.add_f32s(A::load(simd, self.carry, at), A::load(simd, self.d_out, at));
        let d_z = simd.mul_f32s(d, simd.sub_f32s(state, n));
        let d_z = simd.mul_f32s(d_z, simd.mul_f32s(z, simd.sub_f32s(one, z)));
        let d_n = simd.mul_f32s(d, simd.sub_f32s(one, z));
        let d_n = simd.mul_f32s(d_n, simd.sub_f32s(one, simd.mul_f32s(n, n)));
        A::store(simd, self.d_z, at, d_z);
        A::store(simd, self.d_n, at, d_n);
        A::store(simd, self.carry, at, simd.mul_f32s(d, z));
        A::store(simd, self.reset, at, simd.mul_f32s(r, state));
    }
}

/// A step back, reset before, second half: with the gradient of r∘h, the gradient of r and the
/// second part of the gradient of the state.
pub(super) struct BeforeBackState<'a> {
    pub(super) h: usize,
    pub(super) saved: &'a [f32],
    pub(super) state: &'a [f32],
    pub(super) d_reset: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry: &'a mut [f32],
    pub(super) gates: &'a mut [f32],
    pub(super) d_gi: Option<&'a mut [f32]>,
}

impl WithSimd for BeforeBackState<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let h = self.h;
        for i in 0..self.state.len() / h.max(1) {
            // Its gradients are 0 already; what it saved may not be numbers.
            if is_masked(self.mask, i) {
                continue;
            }
            let [d_r, d_z, d_n] = thirds_mut(row_mut(self.gates, i, 3 * h), h);
            let mut cells = BeforeBackStateRow {
                r: row(self.saved, 3 * i, h),
                state: row(self.state, i, h),
                d_reset: row(self.d_reset, i, h),
                carry: row_mut(self.carry, i, h),
                d_r,
                rest: [d_z, d_n],
                d_gi: self.d_gi.as_mut().map(|d| thirds_mut(row_mut(d, i, 3 * h), h)),
            };
            along(simd, h, &mut cells);
        }
    }
}

struct BeforeBackStateRow<'a> {
    r: &'a [f32],
    state: &'a [f32],
    d_reset: &'a [f32],
    carry: &'a mut [f32],
    d_r: &'a mut [f32],
    rest: [&'a [f32]; 2],
    d_gi: Option<[&'a mut [f32]; 3]>,
}

impl Cells for BeforeBackStateRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let one = simd.splat_f32s(1.0);
        let r = A::load(simd, self.r, at);
        let d_reset = A::load(simd, self.d_reset, at);
        let d_r = simd.mul_f32s(d_reset, A::load(simd, self.state, at));
        let d_r = simd.mul_f32s(d_r, simd.mul_f32s(r, simd.sub_f32s(one, r)));
        let carry = simd.mul_add_e_f32s(d_reset, r, A::load(simd, self.carry, at));
        A::store(simd, self.carry, at, carry);
        A::store(simd, self.d_r, at, d_r);
        if let Some(d_gi) = &mut self.d_gi {
            let [d_z, d_n] = load_all::<S, A, 2>(simd, &self.rest, at);
            for (out, value) in d_gi.iter_mut().zip([d_r, d_z, d_n]) {
                let sum = simd.add_f32s(A::load(simd, out, at), value);
                A::store(simd, out, at, sum);
            }
        }
    }
}
