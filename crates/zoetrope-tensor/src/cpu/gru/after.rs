//! The element-wise part of a GRU step for a block of vertices, reset after the product.
//!
//! Saved rows are r, z, n and the product h·U_nᵀ + b_n. The products are in `gru`.

use super::cell::{is_masked, logistic, pass, row, row_mut, thirds, thirds_mut};
use crate::cpu::math;
use crate::cpu::simd::{Access, Cells, along, load_all};
use pulp::{Simd, WithSimd};

/// A whole step, reset after.
pub(super) struct After<'a> {
    pub(super) h: usize,
    pub(super) gi: &'a [f32],
    pub(super) gh: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) state: &'a [f32],
    pub(super) new: &'a mut [f32],
    pub(super) saved: &'a mut [f32],
}

impl WithSimd for After<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let h = self.h;
        let bias = thirds(self.bias, h);
        for i in 0..self.state.len() / h.max(1) {
            let [r, z, rest] = thirds_mut_wide(row_mut(self.saved, i, 4 * h), h);
            let (n, product) = rest.split_at_mut(h);
            let mut cells = AfterRow {
                gi: thirds(row(self.gi, i, 3 * h), h),
                gh: thirds(row(self.gh, i, 3 * h), h),
                bias,
                state: row(self.state, i, h),
                new: row_mut(self.new, i, h),
                saved: [r, z, n, product],
            };
            along(simd, h, &mut cells);
            if is_masked(self.mask, i) {
                cells.new.copy_from_slice(cells.state);
            }
        }
    }
}

/// The first two parts of `h` elements, and everything after them.
#[inline(always)]
fn thirds_mut_wide(x: &mut [f32], h: usize) -> [&mut [f32]; 3] {
    let (a, rest) = x.split_at_mut(h);
    let (b, c) = rest.split_at_mut(h);
    [a, b, c]
}

struct AfterRow<'a> {
    gi: [&'a [f32]; 3],
    gh: [&'a [f32]; 3],
    bias: [&'a [f32]; 3],
    state: &'a [f32],
    new: &'a mut [f32],
    saved: [&'a mut [f32]; 4],
}

impl Cells for AfterRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let r = logistic::<S, A>(simd, at, self.gi[0], self.gh[0], self.bias[0]);
        let z = logistic::<S, A>(simd, at, self.gi[1], self.gh[1], self.bias[1]);
        let gi = A::load(simd, self.gi[2], at);
        let product = simd.add_f32s(A::load(simd, self.gh[2], at), A::load(simd, self.bias[2], at));
        let n = math::tanh(simd, simd.mul_add_e_f32s(r, product, gi));
        let state = A::load(simd, self.state, at);
        let new = simd.mul_add_e_f32s(z, simd.sub_f32s(state, n), n);
        A::store(simd, self.new, at, new);
        for (saved, value) in self.saved.iter_mut().zip([r, z, n, product]) {
            A::store(simd, saved, at, value);
        }
    }
}

/// A step back, reset after: the gradients of the products, of `gi`, and z∘dh as the first part
/// of the gradient of the state.
pub(super) struct AfterBack<'a> {
    pub(super) h: usize,
    pub(super) saved: &'a [f32],
    pub(super) state: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry: &'a mut [f32],
    pub(super) d_gh: &'a mut [f32],
    pub(super) d_gi: Option<&'a mut [f32]>,
}

impl WithSimd for AfterBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let h = self.h;
        for i in 0..self.state.len() / h.max(1) {
            let carry = row_mut(self.carry, i, h);
            let d_out = row(self.d_out, i, h);
            if is_masked(self.mask, i) {
                pass(carry, d_out);
                row_mut(self.d_gh, i, 3 * h).fill(0.0);
                continue;
            }
            let mut cells = AfterBackRow {
                saved: [0, 1, 2, 3].map(|part| row(self.saved, 4 * i + part, h)),
                state: row(self.state, i, h),
                d_out,
                carry,
                d_gh: thirds_mut(row_mut(self.d_gh, i, 3 * h), h),
                d_gi: self.d_gi.as_mut().map(|d| thirds_mut(row_mut(d, i, 3 * h), h)),
            };
            along(simd, h, &mut cells);
        }
    }
}

struct AfterBackRow<'a> {
    saved: [&'a [f32]; 4],
    state: &'a [f32],
    d_out: &'a [f32],
    carry: &'a mut [f32],
    d_gh: [&'a mut [f32]; 3],
    d_gi: Option<[&'a mut [f32]; 3]>,
}

impl Cells for AfterBackRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let one = simd.splat_f32s(1.0);
        let [r, z, n, product] = load_all::<S, A, 4>(simd, &self.saved, at);
        let d = simd.add_f32s(A::load(simd, self.carry, at), A::load(simd, self.d_out, at));
        let d_z = simd.mul_f32s(d, simd.sub_f32s(A::load(simd, self.state, at), n));
        let d_z = simd.mul_f32s(d_z, simd.mul_f32s(z, simd.sub_f32s(one, z)));
        let d_n = simd.mul_f32s(d, simd.sub_f32s(one, z));
        let d_n = simd.mul_f32s(d_n, simd.sub_f32s(one, simd.mul_f32s(n, n)));
        let d_r = simd.mul_f32s(d_n, product);
        let d_r = simd.mul_f32s(d_r, simd.mul_f32s(r, simd.sub_f32s(one, r)));
        A::store(simd, self.carry, at, simd.mul_f32s(d, z));
        for (out, value) in self.d_gh.iter_mut().zip([d_r, d_z, simd.mul_f32s(d_n, r)]) {
            A::store(simd, out, at, value);
        }
        for (out, value) in self.d_gi.iter_mut().flatten().zip([d_r, d_z, d_n]) {
            let sum = simd.add_f32s(A::load(simd, out, at), value);
            A::store(simd, out, at, sum);
        }
    }
}
