//! The gates of a message cell, row by row, forward and backward.
//!
//! Loops over vectors are written out, whole vectors first and then the rest of a row: iterators
//! over them may end up outside the function that is compiled for the vector instructions.

#![allow(clippy::needless_range_loop)]

use pulp::{Simd, WithSimd};

use crate::cpu::gru::{mix, mix_slopes};
use crate::cpu::math;
use crate::cpu::recurrent::logistic_slope;

/// A row as whole vectors and what is left.
type Split<'a, S> = (&'a [<S as Simd>::f32s], &'a [f32]);
type SplitMut<'a, S> = (&'a mut [<S as Simd>::f32s], &'a mut [f32]);

/// `N` rows of `h` elements that lie one after another.
#[inline(always)]
fn rows<S: Simd, const N: usize>(x: &[f32], h: usize) -> [Split<'_, S>; N] {
    std::array::from_fn(|at| S::as_simd_f32s(&x[at * h..(at + 1) * h]))
}

#[inline(always)]
fn rows_mut<S: Simd>(x: &mut [f32], h: usize) -> [SplitMut<'_, S>; 4] {
    let (r, rest) = x.split_at_mut(h);
    let (z, rest) = rest.split_at_mut(h);
    let (n, p) = rest.split_at_mut(h);
    [r, z, n, &mut p[..h]].map(|row| S::as_mut_simd_f32s(row))
}

/// The features' share of the sums of a vertex: the row that `own` names, else the last one.
#[inline(always)]
fn share_of<'a>(share: &'a [f32], own: &[u32], at: usize, width: usize) -> &'a [f32] {
    let row = own.get(at).map_or(share.len() / width - 1, |&row| row as usize);
    &share[row * width..][..width]
}

/// Sums to gates and new states of a GRU.
pub(super) struct GruRows<'a> {
    pub(super) h: usize,
    /// The stride of `x`, whose rows begin with the state.
    pub(super) inner: usize,
    /// Of r, z, n and U_n·s.
    pub(super) bias: &'a [f32],
    /// The features' share of r, z, n: rows that `own` names, the last one for who has none.
    pub(super) share: &'a [f32],
    pub(super) own: &'a [u32],
    pub(super) x: &'a [f32],
    pub(super) gates: &'a mut [f32],
    pub(super) new: &'a mut [f32],
}

/// r, z, n, the product with its bias, and the new state.
#[inline(always)]
fn gru<S: Simd>(
    simd: S,
    sums: [S::f32s; 4],
    share: [S::f32s; 3],
    bias: [S::f32s; 4],
    state: S::f32s,
) -> [S::f32s; 5] {
    let add = |a, b| simd.add_f32s(a, b);
    let r = math::sigmoid(simd, add(add(sums[0], share[0]), bias[0]));
    let z = math::sigmoid(simd, add(add(sums[1], share[1]), bias[1]));
    let product = add(sums[3], bias[3]);
    let sum = add(add(sums[2], share[2]), bias[2]);
    let n = math::tanh(simd, simd.mul_add_e_f32s(r, product, sum));
    [r, z, n, product, mix(simd, z, n, state)]
}

impl WithSimd for GruRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { h, inner, bias, share, own, x, gates, new } = self;
        let bias = rows::<S, 4>(bias, h);
        let load = |x: &[f32]| simd.partial_load_f32s(x);
        for (at, (new, gates)) in
            new.chunks_exact_mut(h).zip(gates.chunks_exact_mut(4 * h)).enumerate()
        {
            let state = S::as_simd_f32s(&x[at * inner..at * inner + h]);
            let share = rows::<S, 3>(share_of(share, own, at, 3 * h), h);
            let [r, z, n, p] = rows_mut::<S>(gates, h);
            let new = S::as_mut_simd_f32s(new);
            for v in 0..state.0.len() {
                let sums = [r.0[v], z.0[v], n.0[v], p.0[v]];
                let share = [share[0].0[v], share[1].0[v], share[2].0[v]];
                let bias = [bias[0].0[v], bias[1].0[v], bias[2].0[v], bias[3].0[v]];
                [r.0[v], z.0[v], n.0[v], p.0[v], new.0[v]] =
                    gru(simd, sums, share, bias, state.0[v]);
            }
            if !state.1.is_empty() {
                let sums = [load(r.1), load(z.1), load(n.1), load(p.1)];
                let share = [load(share[0].1), load(share[1].1), load(share[2].1)];
                let bias = [load(bias[0].1), load(bias[1].1), load(bias[2].1), load(bias[3].1)];
                let after = gru(simd, sums, share, bias, load(state.1));
                simd.partial_store_f32s(r.1, after[0]);
                simd.partial_store_f32s(z.1, after[1]);
                simd.partial_store_f32s(n.1, after[2]);
                simd.partial_store_f32s(p.1, after[3]);
                simd.partial_store_f32s(new.1, after[4]);
            }
        }
    }
}

/// A step back through a GRU: the gradients of the sums of r, z, n and U_n·s, and their sums over
/// vertices.
pub(super) struct GruBack<'a> {
    pub(super) h: usize,
    pub(super) inner: usize,
    pub(super) x: &'a [f32],
    pub(super) gates: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) d: &'a mut [f32],
    pub(super) sums: &'a mut [f32],
}

#[inline(always)]
fn gru_back<S: Simd>(
    simd: S,
    [r, z, n, product]: [S::f32s; 4],
    state: S::f32s,
    d: S::f32s,
) -> [S::f32s; 4] {
    let [to_z, to_n] = mix_slopes(simd, d, z, n, state);
    let to_r = logistic_slope(simd, simd.mul_f32s(to_n, product), r);
    [to_r, to_z, to_n, simd.mul_f32s(to_n, r)]
}

impl WithSimd for GruBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { h, inner, x, gates, d_out, d, sums } = self;
        let load = |x: &[f32]| simd.partial_load_f32s(x);
        for (at, (d_out, d)) in d_out.chunks_exact(h).zip(d.chunks_exact_mut(4 * h)).enumerate() {
            let state = S::as_simd_f32s(&x[at * inner..at * inner + h]);
            let gates = rows::<S, 4>(&gates[at * 4 * h..], h);
            let d_out = S::as_simd_f32s(d_out);
            let [r, z, n, p] = rows_mut::<S>(d, h);
            for v in 0..state.0.len() {
                let gates = [gates[0].0[v], gates[1].0[v], gates[2].0[v], gates[3].0[v]];
                [r.0[v], z.0[v], n.0[v], p.0[v]] = gru_back(simd, gates, state.0[v], d_out.0[v]);
            }
            if !state.1.is_empty() {
                let gates =
                    [load(gates[0].1), load(gates[1].1), load(gates[2].1), load(gates[3].1)];
                let back = gru_back(simd, gates, load(state.1), load(d_out.1));
                simd.partial_store_f32s(r.1, back[0]);
                simd.partial_store_f32s(z.1, back[1]);
                simd.partial_store_f32s(n.1, back[2]);
                simd.partial_store_f32s(p.1, back[3]);
            }
            add_row(simd, d, sums);
        }
    }
}

/// Adds a row to sums.
#[inline(always)]
fn add_row<S: Simd>(simd: S, row: &[f32], sums: &mut [f32]) {
    let (x, x_tail) = S::as_simd_f32s(row);
    let (y, y_tail) = S::as_mut_simd_f32s(sums);
    for v in 0..x.len() {
        y[v] = simd.add_f32s(y[v], x[v]);
    }
    for (y, x) in y_tail.iter_mut().zip(x_tail) {
        *y += x;
    }
}

/// Sums to new states of an RNN.
pub(super) struct RnnRows<'a> {
    pub(super) h: usize,
    pub(super) bias: &'a [f32],
    pub(super) share: &'a [f32],
    pub(super) own: &'a [u32],
    pub(super) new: &'a mut [f32],
}

impl WithSimd for RnnRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { h, bias, share, own, new } = self;
        let bias = S::as_simd_f32s(bias);
        let cell =
            |sum, share, bias| math::tanh(simd, simd.add_f32s(simd.add_f32s(sum, share), bias));
        for (at, new) in new.chunks_exact_mut(h).enumerate() {
            let share = S::as_simd_f32s(share_of(share, own, at, h));
            let new = S::as_mut_simd_f32s(new);
            for v in 0..new.0.len() {
                new.0[v] = cell(new.0[v], share.0[v], bias.0[v]);
            }
            if !new.1.is_empty() {
                let load = |x: &[f32]| simd.partial_load_f32s(x);
                let tail = cell(load(new.1), load(share.1), load(bias.1));
                simd.partial_store_f32s(new.1, tail);
            }
        }
    }
}

/// A step back through an RNN: the gradients of the sums, and their sums over vertices.
pub(super) struct RnnBack<'a> {
    pub(super) h: usize,
    pub(super) new: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) d: &'a mut [f32],
    pub(super) sums: &'a mut [f32],
}

impl WithSimd for RnnBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { h, new, d_out, d, sums } = self;
        let one = simd.splat_f32s(1.0);
        {
            let (y, y_tail) = S::as_simd_f32s(new);
            let (d_out, d_out_tail) = S::as_simd_f32s(d_out);
            let (d, d_tail) = S::as_mut_simd_f32s(d);
            for v in 0..y.len() {
                let slope = simd.sub_f32s(one, simd.mul_f32s(y[v], y[v]));
                d[v] = simd.mul_f32s(d_out[v], slope);
            }
            for ((d, d_out), y) in d_tail.iter_mut().zip(d_out_tail).zip(y_tail) {
                *d = d_out * (1.0 - y * y);
            }
        }
        for row in d.chunks_exact(h) {
            add_row(simd, row, sums);
        }
    }
}
