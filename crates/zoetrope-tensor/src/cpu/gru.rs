//! Gated recurrent units over a whole sequence, forward and backward, each as one kernel.
//!
//! With gate inputs `gi = x·Wᵀ + b` computed before (gates in the order r, z, n) and h the state:
//!
//! ```text
//! r = σ(gi_r + h·U_rᵀ + b_r)       z = σ(gi_z + h·U_zᵀ + b_z)
//! n = tanh(gi_n + r∘(h·U_nᵀ + b_n))   reset after (PyTorch), or
//! n = tanh(gi_n + (r∘h)·U_nᵀ + b_n)   reset before (T-GCN)
//! h' = (1 − z)∘n + z∘h
//! ```
//!
//! Where the mask is 0 the state passes unchanged. A block of vertices runs through all steps on
//! one thread (`recurrent`); the weight gradients of blocks are added in order.
//! The forward pass saves the gates of every cell ([`gru_saved_len`]): writing and reading them
//! takes 35 µs for the shape below even from main memory, computing them again 100 µs.
//!
//! Floor and measurement (15 November 2026, one core of a busy two-core AMD EPYC virtual machine
//! with AVX-512, shortest of many runs), T = 8, N = 129, H = 32: the products alone take 63 µs at
//! the 100 GFLOP/s of `gemm-f32` and the gates 36 µs at the speed of the activation kernels;
//! measured 145 µs forward (68 % of the floor) and 166 µs backward (products alone 127 µs, 76 %).
//! With H = 64 they reach 65 and 93 GFLOP/s. Two threads: 1.84 and 1.83 times as fast (T = 12,
//! N = 512, H = 32).

mod after;
mod before;
mod cell;

use super::matmul::{Accumulate, MatMut, MatRef, matmul_on_this_thread};
use super::recurrent::{Block, Sequence, add_rows_gradient, times_weight_t};
use super::reduce::add_rows;
use super::scattered::Scattered;
use super::scratch;
use super::simd::{Cpu, current};
use after::{After, AfterBack};
use before::{BeforeBackGates, BeforeBackState, BeforeGates, BeforeState};

/// Where the reset gate acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GruKind {
    /// On the product with the state, as in PyTorch.
    ResetAfter,
    /// On the state before the product, as in T-GCN and the original paper.
    ResetBefore,
}

/// Time steps, vertices and width of the state.
pub type GruShape = Sequence;

impl GruKind {
    /// Values saved per cell, in units of the state's width: r, z, n and, reset after, h·U_nᵀ + b.
    fn saved(self) -> usize {
        match self {
            Self::ResetAfter => 4,
            Self::ResetBefore => 3,
        }
    }
}

/// Floats that [`gru_forward`] saves for [`gru_backward`].
pub fn gru_saved_len(kind: GruKind, shape: GruShape) -> usize {
    shape.cells() * shape.hidden * kind.saved()
}

/// Runs the sequence: `gi` is [T·N, 3H], `h0` [N, H], `u` [3H, H] (rows r, z, n), `bias` `[3H]`,
/// `mask` [T·N]; writes the states `out` [T·N, H] and `saved`.
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn gru_forward(
    kind: GruKind,
    shape: GruShape,
    gi: &[f32],
    h0: &[f32],
    u: &[f32],
    bias: Option<&[f32]>,
    mask: Option<&[f32]>,
    out: &mut [f32],
    saved: &mut [f32],
) {
    let h = shape.hidden;
    check(shape, h0, u, mask, out);
    assert_eq!(gi.len(), shape.cells() * 3 * h, "gate inputs");
    assert_eq!(saved.len(), gru_saved_len(kind, shape), "saved gates");
    if let Some(bias) = bias {
        assert_eq!(bias.len(), 3 * h, "one bias per gate");
    }
    let cpu = current().for_width(h);
    let (out, saved) = (Scattered::new(out), Scattered::new(saved));
    shape.for_each_block(|block| {
        let mut gh = scratch::take(block.count * 3 * h);
        let mut reset = scratch::take(block.count * h);
        let zeros = scratch::zeroed(if bias.is_none() { 3 * h } else { 0 });
        let bias = bias.unwrap_or(&zeros);
        let mut state = block.of(h0, 0, h);
        for t in 0..shape.steps {
            let (at, len) = block.at(t, h);
            // SAFETY: rows of this block's vertices, which no other block touches; each step's
            // rows are taken once.
            let new = unsafe { out.piece(at, len) };
            let width = kind.saved();
            // SAFETY: as above.
            let saved = unsafe { saved.piece(at * width, len * width) };
            let gi = block.of(gi, t, 3 * h);
            let mask = block.mask(mask, t);
            match kind {
                GruKind::ResetAfter => {
                    let c = MatMut::new(&mut gh, block.count, 3 * h);
                    times_weight_t(state, u, 3 * h, h, c);
                    cpu.run(After { h, gi, gh: &gh, bias, mask, state, new, saved });
                }
                GruKind::ResetBefore => {
                    let c = MatMut { data: &mut gh, rows: block.count, cols: 2 * h, stride: 3 * h };
                    times_weight_t(state, &u[..2 * h * h], 2 * h, h, c);
                    let reset = &mut reset[..];
                    cpu.run(BeforeGates { h, gi, gh: &gh, bias, state, saved, reset });
                    let c = MatMut {
                        data: &mut gh[2 * h..],
                        rows: block.count,
                        cols: h,
                        stride: 3 * h,
                    };
                    times_weight_t(reset, &u[2 * h * h..], h, h, c);
                    cpu.run(BeforeState { h, gi, gh: &gh, bias, mask, state, new, saved });
                }
            }
            state = new;
        }
    });
}

fn check(shape: GruShape, h0: &[f32], u: &[f32], mask: Option<&[f32]>, out: &[f32]) {
    let h = shape.hidden;
    assert_eq!(h0.len(), shape.vertices * h, "first state");
    assert_eq!(u.len(), 3 * h * h, "recurrent weights");
    assert_eq!(out.len(), shape.cells() * h, "states");
    if let Some(mask) = mask {
        assert_eq!(mask.len(), shape.cells(), "one mask value per cell");
    }
}

/// Adds the gradients of [`gru_forward`]: `d_out` is [T·N, H], `out` and `saved` as written there.
/// Neither `gi` nor the bias is needed again.
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn gru_backward(
    kind: GruKind,
    shape: GruShape,
    h0: &[f32],
    u: &[f32],
    mask: Option<&[f32]>,
    out: &[f32],
    saved: &[f32],
    d_out: &[f32],
    d_gi: Option<&mut [f32]>,
    d_h0: Option<&mut [f32]>,
    d_u: Option<&mut [f32]>,
    d_bias: Option<&mut [f32]>,
) {
    let h = shape.hidden;
    check(shape, h0, u, mask, out);
    assert_eq!(d_out.len(), out.len(), "gradient of the states");
    assert_eq!(saved.len(), gru_saved_len(kind, shape), "saved gates");
    assert!(d_gi.as_ref().is_none_or(|d| d.len() == 3 * out.len()), "gradient of gate inputs");
    assert!(d_h0.as_ref().is_none_or(|d| d.len() == h0.len()), "gradient of the first state");
    assert!(d_u.as_ref().is_none_or(|d| d.len() == u.len()), "gradient of the weights");
    assert!(d_bias.as_ref().is_none_or(|d| d.len() == 3 * h), "gradient of the bias");
    let back = Back {
        kind,
        shape,
        h0,
        u,
        mask,
        out,
        saved,
        d_out,
        weights: d_u.is_some(),
        cpu: current().for_width(h),
    };
    let (d_gi, d_h0) = (d_gi.map(Scattered::new), d_h0.map(Scattered::new));
    let mut sums = scratch::zeroed(if d_u.is_some() { u.len() } else { 0 } + 3 * h);
    shape.sum_over_blocks(&mut sums, |block, sums| {
        let mut carry = scratch::zeroed(block.count * h);
        let mut spare = scratch::take(block.count * 3 * h);
        for t in (0..shape.steps).rev() {
            let (at, len) = block.at(t, 3 * h);
            // SAFETY: rows of this block's vertices, which no other block touches.
            let d_gi = d_gi.map(|d| unsafe { d.piece(at, len) });
            back.step(block, t, &mut carry, &mut spare, d_gi, sums);
        }
        if let Some(d_h0) = d_h0 {
            let (at, len) = block.at(0, h);
            // SAFETY: as above.
            let d_h0 = unsafe { d_h0.piece(at, len) };
            for (d, carry) in d_h0.iter_mut().zip(&carry[..]) {
                *d += carry;
            }
        }
    });
    let (bias_sums, u_sums) = sums.split_at(3 * h);
    for (d, sums) in [(d_bias, bias_sums), (d_u, u_sums)] {
        for (d, sum) in d.into_iter().flatten().zip(sums) {
            *d += sum;
        }
    }
}

/// What the backward pass of a block reads.
struct Back<'a> {
    kind: GruKind,
    shape: GruShape,
    h0: &'a [f32],
    u: &'a [f32],
    mask: Option<&'a [f32]>,
    out: &'a [f32],
    saved: &'a [f32],
    d_out: &'a [f32],
    weights: bool,
    cpu: Cpu,
}

impl Back<'_> {
    /// One step back: `carry` holds the gradient of the state after the step (without `d_out`)
    /// and gets that of the state before it; `spare` is [block, 3H].
    fn step(
        &self,
        block: Block,
        t: usize,
        carry: &mut [f32],
        spare: &mut [f32],
        d_gi: Option<&mut [f32]>,
        sums: &mut [f32],
    ) {
        let h = self.shape.hidden;
        let cpu = self.cpu;
        let state = if t == 0 { block.of(self.h0, 0, h) } else { block.of(self.out, t - 1, h) };
        let saved = block.of(self.saved, t, self.kind.saved() * h);
        let d_out = block.of(self.d_out, t, h);
        let mask = block.mask(self.mask, t);
        let (d_bias, d_u) = sums.split_at_mut(3 * h);
        match self.kind {
            GruKind::ResetAfter => {
                cpu.run(AfterBack { h, saved, state, d_out, mask, carry, d_gh: spare, d_gi });
                if self.weights {
                    add_rows_gradient(gates(spare, block, 3 * h, h), state, h, d_u);
                }
                let u = MatRef::new(self.u, 3 * h, h);
                let c = MatMut::new(carry, block.count, h);
                matmul_on_this_thread(gates(spare, block, 3 * h, h), u, c, Accumulate::Add);
            }
            GruKind::ResetBefore => {
                let mut d_reset = scratch::take(block.count * h);
                let mut reset = scratch::take(block.count * h);
                let d_gates = &mut *spare;
                cpu.run(BeforeBackGates {
                    h,
                    saved,
                    state,
                    d_out,
                    mask,
                    carry,
                    gates: d_gates,
                    reset: &mut reset,
                });
                let u_n = MatRef::new(&self.u[2 * h * h..], h, h);
                let c = MatMut::new(&mut d_reset, block.count, h);
                matmul_on_this_thread(
                    gates(&spare[2 * h..], block, h, h),
                    u_n,
                    c,
                    Accumulate::Overwrite,
                );
                if self.weights {
                    add_rows_gradient(
                        gates(&spare[2 * h..], block, h, h),
                        &reset,
                        h,
                        &mut d_u[2 * h * h..],
                    );
                }
                let d_gates = &mut *spare;
                cpu.run(BeforeBackState {
                    h,
                    saved,
                    state,
                    d_reset: &d_reset,
                    mask,
                    carry,
                    gates: d_gates,
                    d_gi,
                });
                if self.weights {
                    add_rows_gradient(
                        gates(spare, block, 2 * h, h),
                        state,
                        h,
                        &mut d_u[..2 * h * h],
                    );
                }
                let u = MatRef::new(&self.u[..2 * h * h], 2 * h, h);
                let c = MatMut::new(carry, block.count, h);
                matmul_on_this_thread(gates(spare, block, 2 * h, h), u, c, Accumulate::Add);
            }
        }
        cpu.run(|| add_rows(spare, d_bias));
    }
}

/// The first `cols` columns of rows of gates, which are 3·h wide.
fn gates(x: &[f32], block: Block, cols: usize, h: usize) -> MatRef<'_> {
    MatRef { data: x, rows: block.count, cols, stride: 3 * h, transposed: false }
}

#[cfg(test)]
mod tests;
