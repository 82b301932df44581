//! The element-wise part of an LSTM step for a block of vertices; the products are in `lstm`.
//!
//! Works on planes (`recurrent`), all of one length, a whole number of vectors. Saved planes are
//! the gates i, f, g, o.

use crate::cpu::math;
use crate::cpu::recurrent::{Bias, logistic_slope, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// The first `used` elements of four planes.
#[inline(always)]
fn planes(x: &[f32], plane: usize, used: usize) -> [&[f32]; 4] {
    [0, 1, 2, 3].map(|at| &x[at * plane..at * plane + used])
}

/// A mask says for each element whether its cell is there (not 0); without one all are.
#[derive(Clone, Copy)]
pub(super) struct Masked<'a> {
    pub(super) mask: &'a [f32],
    pub(super) state: &'a [f32],
}

/// A step forward: turns the sums in the saved planes, still without their bias, into gates.
pub(super) struct Forward<'a> {
    pub(super) plane: usize,
    pub(super) bias: Bias<'a>,
    pub(super) memory: &'a [f32],
    pub(super) new_memory: &'a mut [f32],
    pub(super) new_state: &'a mut [f32],
    pub(super) saved: &'a mut [f32],
    pub(super) masked: Option<Masked<'a>>,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, bias, memory, new_memory, new_state, saved, masked } = self;
        let used = new_state.len();
        let (i, rest) = saved.split_at_mut(plane);
        let (f, rest) = rest.split_at_mut(plane);
        let (g, o) = rest.split_at_mut(plane);
        let new_memory = vectors_mut::<S>(&mut new_memory[..used]);
        let new_state = vectors_mut::<S>(new_state);
        let count = new_state.len();
        let memory = &vectors::<S>(memory)[..count];
        let (i, f) = (&mut vectors_mut::<S>(i)[..count], &mut vectors_mut::<S>(f)[..count]);
        let (g, o) = (&mut vectors_mut::<S>(g)[..count], &mut vectors_mut::<S>(o)[..count]);
        let len = bias.run_len::<S>();
        for run in 0..count / len {
            for vector in 0..len {
                let at = run * len + vector;
                let [b_i, b_f, b_g, b_o] = bias.at::<S, 4>(simd, 0, run, vector);
                i[at] = math::sigmoid(simd, simd.add_f32s(i[at], b_i));
                f[at] = math::sigmoid(simd, simd.add_f32s(f[at], b_f));
                g[at] = math::tanh(simd, simd.add_f32s(g[at], b_g));
                o[at] = math::sigmoid(simd, simd.add_f32s(o[at], b_o));
                let kept = simd.mul_f32s(f[at], memory[at]);
                let new = simd.mul_add_e_f32s(i[at], g[at], kept);
                new_memory[at] = new;
                new_state[at] = simd.mul_f32s(o[at], math::tanh(simd, new));
            }
        }
        let Some(Masked { mask, state }) = masked else { return };
        let (mask, state) = (&vectors::<S>(mask)[..count], &vectors::<S>(state)[..count]);
        let zero = simd.splat_f32s(0.0);
        for at in 0..count {
            let absent = simd.equal_f32s(mask[at], zero);
            new_state[at] = simd.select_f32s(absent, state[at], new_state[at]);
            new_memory[at] = simd.select_f32s(absent, memory[at], new_memory[at]);
        }
    }
}

/// The memory after a step from the one before it and the saved gates, as [`Forward`] computes it.
pub(super) struct Memory<'a> {
    pub(super) plane: usize,
    pub(super) saved: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) memory: &'a [f32],
    pub(super) new_memory: &'a mut [f32],
}

impl WithSimd for Memory<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, saved, mask, memory, new_memory } = self;
        let [i, f, g, _] = planes(saved, plane, memory.len());
        let memory = vectors::<S>(memory);
        let count = memory.len();
        let (i, f) = (&vectors::<S>(i)[..count], &vectors::<S>(f)[..count]);
        let g = &vectors::<S>(g)[..count];
        let new_memory = &mut vectors_mut::<S>(new_memory)[..count];
        for at in 0..count {
            let kept = simd.mul_f32s(f[at], memory[at]);
            new_memory[at] = simd.mul_add_e_f32s(i[at], g[at], kept);
        }
        let Some(mask) = mask else { return };
        let (mask, zero) = (&vectors::<S>(mask)[..count], simd.splat_f32s(0.0));
        for at in 0..count {
            let absent = simd.equal_f32s(mask[at], zero);
            new_memory[at] = simd.select_f32s(absent, memory[at], new_memory[at]);
        }
    }
}

/// A step back: the gradients of the gates before their activation and of the memory before the
/// step. `carry_h` becomes the gradient of a state that passes unchanged, zeros if it does not.
pub(super) struct StepBack<'a> {
    pub(super) plane: usize,
    pub(super) saved: &'a [f32],
    pub(super) memory: &'a [f32],
    pub(super) new_memory: &'a [f32],
    pub(super) d_h: &'a [f32],
    pub(super) mask: Option<&'a [f32]>,
    pub(super) carry_h: &'a mut [f32],
    pub(super) carry_c: &'a mut [f32],
    pub(super) gates: &'a mut [f32],
}

impl WithSimd for StepBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plane, saved, memory, new_memory, d_h, mask, carry_h, carry_c, gates } = self;
        let used = d_h.len();
        let [i, f, g, o] = planes(saved, plane, used);
        let d_h = vectors::<S>(d_h);
        let count = d_h.len();
        let (i, f) = (&vectors::<S>(i)[..count], &vectors::<S>(f)[..count]);
        let (g, o) = (&vectors::<S>(g)[..count], &vectors::<S>(o)[..count]);
        let memory = &vectors::<S>(memory)[..count];
        let new_memory = &vectors::<S>(new_memory)[..count];
        let (d_i, rest) = gates.split_at_mut(plane);
        let (d_f, rest) = rest.split_at_mut(plane);
        let (d_g, d_o) = rest.split_at_mut(plane);
        let (d_i, d_f) = (&mut vectors_mut::<S>(d_i)[..count], &mut vectors_mut::<S>(d_f)[..count]);
        let (d_g, d_o) = (&mut vectors_mut::<S>(d_g)[..count], &mut vectors_mut::<S>(d_o)[..count]);
        let carry_h = &mut vectors_mut::<S>(carry_h)[..count];
        let carry_c = &mut vectors_mut::<S>(carry_c)[..count];
        let mask = mask.map(|mask| &vectors::<S>(mask)[..count]);
        let (one, zero) = (simd.splat_f32s(1.0), simd.splat_f32s(0.0));
        for at in 0..count {
            let through = math::tanh(simd, new_memory[at]);
            let d_state = simd.add_f32s(carry_h[at], d_h[at]);
            let d_memory = carry_c[at];
            let slope = simd.sub_f32s(one, simd.mul_f32s(through, through));
            let d_c = simd.mul_add_e_f32s(simd.mul_f32s(d_state, o[at]), slope, d_memory);
            let mut to_i = logistic_slope(simd, simd.mul_f32s(d_c, g[at]), i[at]);
            let mut to_f = logistic_slope(simd, simd.mul_f32s(d_c, memory[at]), f[at]);
            let to_g = simd.mul_f32s(d_c, i[at]);
            let mut to_g = simd.mul_f32s(to_g, simd.sub_f32s(one, simd.mul_f32s(g[at], g[at])));
            let mut to_o = logistic_slope(simd, simd.mul_f32s(d_state, through), o[at]);
            let mut to_memory = simd.mul_f32s(d_c, f[at]);
            let mut passes = zero;
            if let Some(mask) = mask {
                let absent = simd.equal_f32s(mask[at], zero);
                to_i = simd.select_f32s(absent, zero, to_i);
                to_f = simd.select_f32s(absent, zero, to_f);
                to_g = simd.select_f32s(absent, zero, to_g);
                to_o = simd.select_f32s(absent, zero, to_o);
                to_memory = simd.select_f32s(absent, d_memory, to_memory);
                passes = simd.select_f32s(absent, d_state, zero);
            }
            carry_h[at] = passes;
            carry_c[at] = to_memory;
            d_i[at] = to_i;
            d_f[at] = to_f;
            d_g[at] = to_g;
            d_o[at] = to_o;
        }
    }
}
