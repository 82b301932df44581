//! The element-wise part of an LSTM step for a block of vertices; the products are in `lstm`.
//!
//! Rows of gates are `4·h` wide: i, f, g, o.

use crate::cpu::math;
use crate::cpu::simd::{Access, Cells, along, load_all};
use pulp::{Simd, WithSimd};

#[inline(always)]
fn quarters(x: &[f32], i: usize, h: usize) -> [&[f32]; 4] {
    let x = &x[4 * i * h..4 * (i + 1) * h];
    [&x[..h], &x[h..2 * h], &x[2 * h..3 * h], &x[3 * h..]]
}

#[inline(always)]
fn quarters_mut(x: &mut [f32], i: usize, h: usize) -> [&mut [f32]; 4] {
    let x = &mut x[4 * i * h..4 * (i + 1) * h];
    let (ab, cd) = x.split_at_mut(2 * h);
    let (a, b) = ab.split_at_mut(h);
    let (c, d) = cd.split_at_mut(h);
    [a, b, c, d]
}

/// A step forward.
pub(super) struct Forward<'a> {
    pub(super) h: usize,
    pub(super) gi: &'a [f32],
    pub(super) gh: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) state: &'a [f32],
    pub(super) memory: &'a [f32],
    pub(super) new_state: &'a mut [f32],
    pub(super) new_memory: &'a mut [f32],
    pub(super) saved: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let h = self.h;
        for i in 0..self.memory.len() / h.max(1) {
            let own = i * h..(i + 1) * h;
            let mut cells = ForwardRow {
                gi: quarters(self.gi, i, h),
                gh: quarters(self.gh, i, h),
                bias: quarters(self.bias, 0, h),
                memory: &self.memory[own.clone()],
                new_state: &mut self.new_state[own.clone()],
                new_memory: &mut self.new_memory[own.clone()],
                saved: quarters_mut(self.saved, i, h),
            };
            along(simd, h, &mut cells);
            if self.mask.is_some_and(|mask| mask[i] == 0.0) {
                cells.new_state.copy_from_slice(&self.state[own]);
                cells.new_memory.copy_from_slice(cells.memory);
            }
        }
    }
}

struct ForwardRow<'a> {
    gi: [&'a [f32]; 4],
    gh: [&'a [f32]; 4],
    bias: [&'a [f32]; 4],
    memory: &'a [f32],
    new_state: &'a mut [f32],
    new_memory: &'a mut [f32],
    saved: [&'a mut [f32]; 4],
}

impl ForwardRow<'_> {
    /// A gate before its activation.
    #[inline(always)]
    fn sum<S: Simd, A: Access>(&self, simd: S, at: usize, gate: usize) -> S::f32s {
        let gh = A::load(simd, self.gh[gate], at);
        let product = simd.add_f32s(gh, A::load(simd, self.bias[gate], at));
        simd.add_f32s(A::load(simd, self.gi[gate], at), product)
    }
}

impl Cells for ForwardRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let i = math::sigmoid(simd, self.sum::<S, A>(simd, at, 0));
        let f = math::sigmoid(simd, self.sum::<S, A>(simd, at, 1));
        let g = math::tanh(simd, self.sum::<S, A>(simd, at, 2));
        let o = math::sigmoid(simd, self.sum::<S, A>(simd, at, 3));
        let memory = simd.mul_f32s(f, A::load(simd, self.memory, at));
        let memory = simd.mul_add_e_f32s(i, g, memory);
        A::store(simd, self.new_memory, at, memory);
        A::store(simd, self.new_state, at, simd.mul_f32s(o, math::tanh(simd, memory)));
        for (saved, value) in self.saved.iter_mut().zip([i, f, g, o]) {
            A::store(simd, saved, at, value);
        }
    }
}

/// A step back: the gradients of the gates before their activation, of `gi` and of the memory
/// before the step.
pub(super) struct StepBack<'a> {
    pub(super) h: usize,
    pub(super) saved: &'a [f32],
    pub(super) memory: &'a [f32],
    pub(super) new_memory: &'a [f32],
    pub(super) d_h: &'a [f32],
    pub(super) d_c: Option<&'a [f32]>,
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry_h: &'a mut [f32],
    pub(super) carry_c: &'a mut [f32],
    pub(super) gates: &'a mut [f32],
    pub(super) d_gi: Option<&'a mut [f32]>,
}

impl WithSimd for StepBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let h = self.h;
        for i in 0..self.memory.len() / h.max(1) {
            let own = i * h..(i + 1) * h;
            let (d_h, d_c) = (&self.d_h[own.clone()], self.d_c.map(|d| &d[own.clone()]));
            let carry_h = &mut self.carry_h[own.clone()];
            let carry_c = &mut self.carry_c[own.clone()];
            if self.mask.is_some_and(|mask| mask[i] == 0.0) {
                pass(carry_h, Some(d_h));
                pass(carry_c, d_c);
                self.gates[4 * i * h..4 * (i + 1) * h].fill(0.0);
                continue;
            }
            let mut cells = StepBackRow {
                saved: quarters(self.saved, i, h),
                memory: &self.memory[own.clone()],
                new_memory: &self.new_memory[own],
                d_h,
                d_c,
                carry_h,
                carry_c,
                gates: quarters_mut(self.gates, i, h),
                d_gi: self.d_gi.as_mut().map(|d| quarters_mut(d, i, h)),
            };
            along(simd, h, &mut cells);
            // With a product the state's gradient starts from 0 and the product adds to it;
            // without one nothing reaches the state before.
            cells.carry_h.fill(0.0);
        }
    }
}

/// The gradient of what passes unchanged.
#[inline(always)]
fn pass(carry: &mut [f32], d: Option<&[f32]>) {
    for (carry, d) in carry.iter_mut().zip(d.into_iter().flatten()) {
        *carry += d;
    }
}

/// d·y·(1 − y).
#[inline(always)]
fn logistic_slope<S: Simd>(simd: S, d: S::f32s, y: S::f32s) -> S::f32s {
    simd.mul_f32s(d, simd.mul_f32s(y, simd.sub_f32s(simd.splat_f32s(1.0), y)))
}

struct StepBackRow<'a> {
    saved: [&'a [f32]; 4],
    memory: &'a [f32],
    new_memory: &'a [f32],
    d_h: &'a [f32],
    d_c: Option<&'a [f32]>,
    carry_h: &'a mut [f32],
    carry_c: &'a mut [f32],
    gates: [&'a mut [f32]; 4],
    d_gi: Option<[&'a mut [f32]; 4]>,
}

impl Cells for StepBackRow<'_> {
    #[inline(always)]
    fn cell<S: Simd, A: Access>(&mut self, simd: S, at: usize) {
        let one = simd.splat_f32s(1.0);
        let [i, f, g, o] = load_all::<S, A, 4>(simd, &self.saved, at);
        let through = math::tanh(simd, A::load(simd, self.new_memory, at));
        let d_h = simd.add_f32s(A::load(simd, self.carry_h, at), A::load(simd, self.d_h, at));
        let mut d_c = A::load(simd, self.carry_c, at);
        if let Some(d) = self.d_c {
            d_c = simd.add_f32s(d_c, A::load(simd, d, at));
        }
        let slope = simd.sub_f32s(one, simd.mul_f32s(through, through));
        let d_c = simd.mul_add_e_f32s(simd.mul_f32s(d_h, o), slope, d_c);
        let d_i = logistic_slope(simd, simd.mul_f32s(d_c, g), i);
        let d_f = logistic_slope(simd, simd.mul_f32s(d_c, A::load(simd, self.memory, at)), f);
        let d_g = simd.mul_f32s(d_c, i);
        let d_g = simd.mul_f32s(d_g, simd.sub_f32s(one, simd.mul_f32s(g, g)));
        let d_o = logistic_slope(simd, simd.mul_f32s(d_h, through), o);
        A::store(simd, self.carry_c, at, simd.mul_f32s(d_c, f));
        for (out, value) in self.gates.iter_mut().zip([d_i, d_f, d_g, d_o]) {
            A::store(simd, out, at, value);
        }
        for (out, value) in self.d_gi.iter_mut().flatten().zip([d_i, d_f, d_g, d_o]) {
            let sum = simd.add_f32s(A::load(simd, out, at), value);
            A::store(simd, out, at, sum);
        }
    }
}
