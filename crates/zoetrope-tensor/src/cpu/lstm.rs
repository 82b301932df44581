//! Long short-term memory over a whole sequence, forward and backward, each as one kernel.
//!
//! With gate inputs `gi` computed before (gates in the order i, f, g, o), state h and memory c:
//!
//! ```text
//! i, f, o = σ(gi + h·Uᵀ + b)    g = tanh(gi_g + h·U_gᵀ + b_g)
//! c' = f∘c + i∘g                h' = o∘tanh(c')
//! ```
//!
//! Without `u` there is no recurrent product: the point-wise part for models that convolve the
//! state themselves. Where the mask is 0 state and memory pass unchanged. A block of vertices
//! runs through all steps on one thread (`recurrent`); the weight gradients of blocks are added
//! in order. The forward pass saves the four gates of every cell; tanh(c') is computed again,
//! which costs less than moving it.
//!
//! Floor and measurement (15 November 2026, one core of a busy two-core AMD EPYC virtual machine
//! with AVX-512, shortest of many runs), T = 8, N = 129, H = 32: products 85 µs at the 100 GFLOP/s
//! of `gemm-f32`, gates 61 µs; measured 210 µs forward (70 % of the floor) and 218 µs backward
//! (products alone 169 µs, 78 %).

mod cell;

use super::matmul::{Accumulate, MatMut, MatRef, matmul_on_this_thread};
use super::recurrent::{Block, Sequence, add_weight_gradient, times_weight_t};
use super::reduce::add_rows;
use super::scattered::Scattered;
use super::scratch;
use super::simd::{Cpu, current};
use cell::{Forward, StepBack};

/// Time steps, vertices and width of the state.
pub type LstmShape = Sequence;

/// Floats that [`lstm_forward`] saves for [`lstm_backward`].
pub fn lstm_saved_len(shape: LstmShape) -> usize {
    shape.cells() * shape.hidden * 4
}

/// Runs the sequence: `gi` is [T·N, 4H], `h0` and `c0` [N, H], `u` [4H, H] (rows i, f, g, o),
/// `bias` `[4H]`, `mask` [T·N]; writes states and memories [T·N, H] and `saved`.
///
/// # Panics
///
/// When a length does not fit.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn lstm_forward(
    shape: LstmShape,
    gi: &[f32],
    h0: &[f32],
    c0: &[f32],
    u: Option<&[f32]>,
    bias: Option<&[f32]>,
    mask: Option<&[f32]>,
    out_h: &mut [f32],
    out_c: &mut [f32],
    saved: &mut [f32],
) {
    let h = shape.hidden;
    check(shape, h0, c0, u, mask, out_h, out_c);
    assert_eq!(gi.len(), shape.cells() * 4 * h, "gate inputs");
    assert_eq!(saved.len(), lstm_saved_len(shape), "saved gates");
    assert!(bias.is_none_or(|bias| bias.len() == 4 * h), "one bias per gate");
    let cpu = current().for_width(h);
    let (out_h, out_c, saved) =
        (Scattered::new(out_h), Scattered::new(out_c), Scattered::new(saved));
    shape.for_each_block(|block| {
        // Without a product its place holds zeros, and so does the bias without a bias.
        let mut gh = scratch::take(block.count * 4 * h);
        if u.is_none() {
            gh.fill(0.0);
        }
        let zeros = scratch::zeroed(if bias.is_none() { 4 * h } else { 0 });
        let bias = bias.unwrap_or(&zeros);
        let (mut state, mut memory) = (block.of(h0, 0, h), block.of(c0, 0, h));
        for t in 0..shape.steps {
            let (at, len) = block.at(t, h);
            // SAFETY: rows of this block's vertices, which no other block touches; each step's
            // rows are taken once.
            let (new_state, new_memory) = unsafe { (out_h.piece(at, len), out_c.piece(at, len)) };
            // SAFETY: as above.
            let saved = unsafe { saved.piece(4 * at, 4 * len) };
            if let Some(u) = u {
                let c = MatMut::new(&mut gh, block.count, 4 * h);
                times_weight_t(state, u, 4 * h, h, c);
            }
            cpu.run(Forward {
                h,
                gi: block.of(gi, t, 4 * h),
                gh: &gh,
                bias,
                mask: block.mask(mask, t),
                state,
                memory,
                new_state,
                new_memory,
                saved,
            });
            (state, memory) = (new_state, new_memory);
        }
    });
}

fn check(
    shape: LstmShape,
    h0: &[f32],
    c0: &[f32],
    u: Option<&[f32]>,
    mask: Option<&[f32]>,
    out_h: &[f32],
    out_c: &[f32],
) {
    let h = shape.hidden;
    assert_eq!((h0.len(), c0.len()), (shape.vertices * h, shape.vertices * h), "first state");
    assert_eq!((out_h.len(), out_c.len()), (shape.cells() * h, shape.cells() * h), "states");
    assert!(u.is_none_or(|u| u.len() == 4 * h * h), "recurrent weights");
    assert!(mask.is_none_or(|mask| mask.len() == shape.cells()), "one mask value per cell");
}

/// Adds the gradients of [`lstm_forward`]: `d_h` and, where there is one, `d_c` are [T·N, H];
/// `out_h`, `out_c` and `saved` as written there. `gi` and the bias are not needed again.
///
/// # Panics
///
/// When a length does not fit, or the weight gradient is asked for without weights.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn lstm_backward(
    shape: LstmShape,
    h0: &[f32],
    c0: &[f32],
    u: Option<&[f32]>,
    mask: Option<&[f32]>,
    out_h: &[f32],
    out_c: &[f32],
    saved: &[f32],
    d_h: &[f32],
    d_c: Option<&[f32]>,
    d_gi: Option<&mut [f32]>,
    d_h0: Option<&mut [f32]>,
    d_c0: Option<&mut [f32]>,
    d_u: Option<&mut [f32]>,
    d_bias: Option<&mut [f32]>,
) {
    let h = shape.hidden;
    check(shape, h0, c0, u, mask, out_h, out_c);
    assert_eq!(saved.len(), lstm_saved_len(shape), "saved gates");
    assert_eq!(d_h.len(), out_h.len(), "gradient of the states");
    assert!(d_c.is_none_or(|d| d.len() == out_h.len()), "gradient of the memories");
    assert!(d_gi.as_ref().is_none_or(|d| d.len() == 4 * out_h.len()), "gradient of gate inputs");
    assert!(d_h0.as_ref().is_none_or(|d| d.len() == h0.len()), "gradient of the first state");
    assert!(d_c0.as_ref().is_none_or(|d| d.len() == c0.len()), "gradient of the first memory");
    assert!(d_u.as_ref().is_none_or(|d| u.is_some() && d.len() == 4 * h * h), "of the weights");
    assert!(d_bias.as_ref().is_none_or(|d| d.len() == 4 * h), "gradient of the bias");
    let weights = d_u.is_some();
    let cpu = current().for_width(h);
    let back = Back { shape, h0, c0, u, mask, out_h, out_c, saved, d_h, d_c, weights, cpu };
    let firsts = [d_h0.map(Scattered::new), d_c0.map(Scattered::new)];
    let d_gi = d_gi.map(Scattered::new);
    let mut sums = scratch::zeroed(4 * h + if weights { 4 * h * h } else { 0 });
    shape.sum_over_blocks(&mut sums, |block, sums| {
        let mut carry_h = scratch::zeroed(block.count * h);
        let mut carry_c = scratch::zeroed(block.count * h);
        let mut gates = scratch::take(block.count * 4 * h);
        for t in (0..shape.steps).rev() {
            let (at, len) = block.at(t, 4 * h);
            // SAFETY: rows of this block's vertices, which no other block touches.
            let d_gi = d_gi.map(|d| unsafe { d.piece(at, len) });
            back.step(block, t, [&mut carry_h, &mut carry_c], &mut gates, d_gi, sums);
        }
        for (first, carry) in firsts.iter().zip([carry_h, carry_c]) {
            let (at, len) = block.at(0, h);
            // SAFETY: as above.
            let first = first.map(|first| unsafe { first.piece(at, len) });
            for (d, carry) in first.into_iter().flatten().zip(&carry[..]) {
                *d += carry;
            }
        }
    });
    let (bias_sums, u_sums) = sums.split_at(4 * h);
    for (d, sums) in [(d_bias, bias_sums), (d_u, u_sums)] {
        for (d, sum) in d.into_iter().flatten().zip(sums) {
            *d += sum;
        }
    }
}

/// What the backward pass of a block reads.
struct Back<'a> {
    shape: LstmShape,
    h0: &'a [f32],
    c0: &'a [f32],
    u: Option<&'a [f32]>,
    mask: Option<&'a [f32]>,
    out_h: &'a [f32],
    out_c: &'a [f32],
    saved: &'a [f32],
    d_h: &'a [f32],
    d_c: Option<&'a [f32]>,
    weights: bool,
    cpu: Cpu,
}

impl Back<'_> {
    /// One step back: the carries hold the gradients of state and memory after the step (without
    /// `d_h` and `d_c`) and get those before it; `gates` is [block, 4H].
    fn step(
        &self,
        block: Block,
        t: usize,
        [carry_h, carry_c]: [&mut [f32]; 2],
        gates: &mut [f32],
        d_gi: Option<&mut [f32]>,
        sums: &mut [f32],
    ) {
        let h = self.shape.hidden;
        let before = |first, states| {
            if t == 0 { block.of(first, 0, h) } else { block.of(states, t - 1, h) }
        };
        self.cpu.run(StepBack {
            h,
            saved: block.of(self.saved, t, 4 * h),
            memory: before(self.c0, self.out_c),
            new_memory: block.of(self.out_c, t, h),
            d_h: block.of(self.d_h, t, h),
            d_c: self.d_c.map(|d| block.of(d, t, h)),
            mask: block.mask(self.mask, t),
            carry_h,
            carry_c,
            gates,
            d_gi,
        });
        let (d_bias, d_u) = sums.split_at_mut(4 * h);
        if let Some(u) = self.u {
            let d_gates = MatRef::new(gates, block.count, 4 * h);
            if self.weights {
                add_weight_gradient(d_gates, before(self.h0, self.out_h), h, d_u);
            }
            let c = MatMut::new(carry_h, block.count, h);
            matmul_on_this_thread(d_gates, MatRef::new(u, 4 * h, h), c, Accumulate::Add);
        }
        self.cpu.run(|| add_rows(gates, d_bias));
    }
}

#[cfg(test)]
mod tests;
