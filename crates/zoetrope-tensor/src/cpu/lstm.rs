//! Long short-term memory over a whole sequence, forward and backward, each as one kernel.
//!
//! With gates in the order i, f, g, o, the input's share `s` of the gates (given, or `x·Wᵀ + b_x`
//! computed on the way), state h and memory c:
//!
//! ```text
//! i, f, o = σ(s + h·Uᵀ + b)     g = tanh(s_g + h·U_gᵀ + b_g)
//! c' = f∘c + i∘g                h' = o∘tanh(c')
//! ```
//!
//! Without `u` there is no recurrent product: the point-wise part for models that convolve the
//! state themselves. If the mask is 0 state and memory pass unchanged. A block of vertices
//! runs through all steps on one thread (`recurrent`); neither the input's share nor the gradients
//! of the gates exist for more than one step of one block. The weight gradients of blocks are
//! added in order. The forward pass saves the gates of every cell; the memories of a block and their
//! tanh are computed again in the backward pass, which costs less than moving them.
//!
//! Floor and measurement (15 November 2026, one core of a busy two-core AMD EPYC virtual machine
//! with AVX-512, shortest of many runs), T = 8, N = 129, H = 32, rows of 32 features: the products
//! take 169 µs at the 100 GFLOP/s of `gemm-f32`, the gates 61 µs; measured 240 µs forward (70
//! GFLOP/s) and 374 µs backward (90 GFLOP/s, products alone 338 µs). With the input's share given:
//! 172 µs and 220 µs. With H = 64 they reach 78 and 94 GFLOP/s.

mod cell;

use super::matmul::Accumulate;
use super::recurrent::{
    BackInput, ForwardInput, Input, InputGradient, Layout, RowsAt, Sequence, SequenceBlock, Weight,
    add_weight_gradient, sum_features, to_planes, to_rows,
};
use super::scattered::Scattered;
use super::scratch::{self, Scratch};
use super::simd::{Cpu, current};
use cell::{Forward, Masked, Memory, StepBack};

/// Time steps, vertices and width of the state.
pub type LstmShape = Sequence;

/// Planes that are saved: the gates.
const SAVED: usize = 4;

/// Floats that [`lstm_forward`] saves for [`lstm_backward`].
pub fn lstm_saved_len(shape: LstmShape) -> usize {
    shape.planes_len(SAVED)
}

/// What both passes read, in matrices `S` of this or of another device.
#[derive(Clone, Copy)]
pub struct LstmCall<S> {
    /// The extent of the sequence.
    pub shape: LstmShape,
    /// What enters the four gates besides the state.
    pub input: Input<S>,
    /// The first state, [N, H].
    pub h0: S,
    /// The first memory, [N, H].
    pub c0: S,
    /// The recurrent weight, [4H, H], rows i, f, g, o.
    pub u: Option<S>,
    /// A bias for each gate, `[4H]`.
    pub bias: Option<S>,
    /// [T·N], 0 if a vertex is absent.
    pub mask: Option<S>,
}

/// Where the gradients go, each added to what is there; those that are not wanted are absent.
pub struct LstmGradients<M> {
    /// Of the input.
    pub input: InputGradient<M>,
    /// Of the first state.
    pub h0: Option<M>,
    /// Of the first memory.
    pub c0: Option<M>,
    /// Of the recurrent weight.
    pub u: Option<M>,
    /// Of the bias.
    pub bias: Option<M>,
}

impl LstmCall<&[f32]> {
    fn check(&self, out_h: &[f32], out_c: &[f32], saved: &[f32]) {
        let (shape, h) = (self.shape, self.shape.hidden);
        let state = shape.vertices * h;
        assert_eq!((self.h0.len(), self.c0.len()), (state, state), "first state and memory");
        assert_eq!((out_h.len(), out_c.len()), (shape.cells() * h, state), "states");
        assert!(self.u.is_none_or(|u| u.len() == 4 * h * h), "recurrent weights");
        assert!(self.bias.is_none_or(|bias| bias.len() == 4 * h), "one bias per gate");
        assert!(self.mask.is_none_or(|mask| mask.len() == shape.cells()), "a mask value a cell");
        assert_eq!(saved.len(), lstm_saved_len(shape), "saved gates");
    }

    /// The bias of input and state together, zeros without any.
    fn joint_bias(&self) -> Scratch {
        let mut sum = scratch::zeroed(4 * self.shape.hidden);
        for bias in [self.input.bias(), self.bias].into_iter().flatten() {
            for (sum, bias) in sum.iter_mut().zip(bias) {
                *sum += bias;
            }
        }
        sum
    }
}

/// Runs the sequence; writes the states `out_h` [T·N, H], the last memory `out_c` [N, H] and
/// `saved`.
///
/// # Panics
///
/// When a length does not fit.
#[allow(unsafe_code)]
pub fn lstm_forward(
    call: &LstmCall<&[f32]>,
    out_h: &mut [f32],
    out_c: &mut [f32],
    saved: &mut [f32],
) {
    let LstmCall { shape, h0, c0, u, mask, .. } = *call;
    call.check(out_h, out_c, saved);
    let h = shape.hidden;
    let input = ForwardInput::new(call.input, shape, 4);
    if shape.cells() == 0 {
        out_c.copy_from_slice(c0);
    }
    if h == 0 {
        return;
    }
    let u = u.map(|u| Weight::forward(shape.layout(), u, h, h));
    let bias = call.joint_bias();
    let cpu = current();
    let out_c = Scattered::new(out_c);
    let (out_h, saved) = (Scattered::new(out_h), Scattered::new(saved));
    shape.for_each_block(|block| {
        let plane = block.plane();
        let lanes = if block.layout == Layout::Lanes { plane } else { 0 };
        let (mut first, mut spare) = (scratch::take(lanes), scratch::take(input.spare(block)));
        let (mut old, mut new) = (scratch::take(lanes), scratch::take(lanes));
        let mut memories = [scratch::take(plane), scratch::take(plane)];
        let mut spread = scratch::take(if mask.is_some() { plane } else { 0 });
        let bias = block.bias(&bias);
        let mut before = block.of(h0, 0, h);
        block.operand(before, h, &mut old);
        let memory = block.operand(block.of(c0, 0, h), h, &mut first);
        memories[0][..memory.len()].copy_from_slice(memory);
        for t in 0..shape.steps {
            let (at, len) = block.at(t, h);
            // SAFETY: rows of this block's vertices, which no other block touches; each step's
            // rows are taken once.
            let rows = unsafe { out_h.piece(at, len) };
            let (at, len) = block.planes_at(t, SAVED);
            // SAFETY: the planes of this block and step, taken once.
            let saved = unsafe { saved.piece(at, len) };
            let (state, new_state) = match block.layout {
                Layout::Rows => (before, &mut *rows),
                Layout::Lanes => (&old[..], &mut new[..]),
            };
            input.share(block, t, &mut spare, saved);
            if let Some(u) = &u {
                u.gates(block, 0..4, 0..h, state, saved, Accumulate::Add);
            }
            let masked = block.mask(mask, t).map(|mask| {
                block.spread_mask(mask, &mut spread);
                Masked { mask: &spread, state }
            });
            let [memory, new_memory] = &mut memories;
            cpu.run(Forward { plane, bias, memory, new_memory, new_state, saved, masked });
            memories.swap(0, 1);
            if block.layout == Layout::Lanes {
                to_rows(block, &new, rows, Accumulate::Overwrite);
                std::mem::swap(&mut old, &mut new);
            }
            before = rows;
        }
        let (at, len) = block.at(0, h);
        // SAFETY: rows of this block's vertices, as above.
        to_rows(block, &memories[0], unsafe { out_c.piece(at, len) }, Accumulate::Overwrite);
    });
}

/// Where the sums of the pieces of a sequence meet: parts in the order of the whole, added up when the piece that
/// begins it is done, which is the last one on the way back.
pub struct PieceSums<'a> {
    /// The first vertex of the piece.
    pub from: usize,
    /// [`lstm_piece_sums_len`] values, zeros before the first piece.
    pub parts: &'a mut [f32],
}

/// The sums of a part of a sequence: for the biases, the input's weight and the recurrent weight.
fn sum_lens(call: &LstmCall<&[f32]>, of_input: bool, of_state: bool) -> [usize; 3] {
    let h = call.shape.hidden;
    let w_len = if of_input { call.input.weight_len() } else { 0 };
    [4 * h, w_len, if of_state { 4 * h * h } else { 0 }]
}

/// The values that the pieces of a sequence leave for its sums, given which weights want a gradient.
pub fn lstm_piece_sums_len(call: &LstmCall<&[f32]>, of_input: bool, of_state: bool) -> usize {
    call.shape.parts() * sum_lens(call, of_input, of_state).iter().sum::<usize>()
}

/// Adds the gradients of [`lstm_forward`]: `d_h` [T·N, H] and, if there is one, `d_c` [N, H];
/// `out_h` and `saved` as written there.
///
/// # Panics
///
/// When a length does not fit, or the gradient of a weight is asked for without that weight.
#[allow(unsafe_code)]
pub fn lstm_backward(
    call: &LstmCall<&[f32]>,
    out_h: &[f32],
    saved: &[f32],
    d_h: &[f32],
    d_c: Option<&[f32]>,
    piece: Option<PieceSums<'_>>,
    gradients: LstmGradients<&mut [f32]>,
) {
    let LstmCall { shape, h0, c0, u, .. } = *call;
    let h = shape.hidden;
    call.check(out_h, c0, saved);
    let LstmGradients { input, h0: d_h0, c0: d_c0, u: d_u, bias: d_bias } = gradients;
    assert_eq!(d_h.len(), out_h.len(), "gradient of the states");
    assert!(d_c.is_none_or(|d| d.len() == c0.len()), "gradient of the last memory");
    assert!(d_h0.as_ref().is_none_or(|d| d.len() == h0.len()), "gradient of the first state");
    assert!(d_c0.as_ref().is_none_or(|d| d.len() == c0.len()), "gradient of the first memory");
    assert!(d_u.as_ref().is_none_or(|d| u.is_some() && d.len() == 4 * h * h), "of the weight");
    let biases = [&d_bias, &input.bias];
    assert!(biases.iter().all(|d| d.as_ref().is_none_or(|d| d.len() == 4 * h)), "of the bias");
    let lens = sum_lens(call, input.weight.is_some(), d_u.is_some());
    let [_, w_len, u_len] = lens;
    assert!(input.weight.as_ref().is_none_or(|d| d.len() == w_len), "of the input's weight");
    if h == 0 {
        return input.of_nothing();
    }
    let back = Back {
        call,
        entry: BackInput::new(call.input, shape, 4, [input.x, input.beside], w_len > 0),
        u: u.map(|u| Weight::back(shape.layout(), u, h, h)),
        out_h,
        saved,
        d_h,
        lens,
        cpu: current(),
    };
    let firsts = [d_h0.map(Scattered::new), d_c0.map(Scattered::new)];
    let mut sums = scratch::zeroed(4 * h + w_len + u_len);
    let one = |block: SequenceBlock, sums: &mut [f32]| {
        let mut carries = [scratch::zeroed(block.plane()), scratch::zeroed(block.plane())];
        if let Some(d_c) = d_c {
            to_planes(block, block.of(d_c, 0, h), &mut carries[1], Accumulate::Overwrite);
        }
        // SAFETY: each block belongs to one thread.
        unsafe { back.block(block, &mut carries, sums) };
        for (first, carry) in firsts.iter().zip(&carries) {
            let (at, len) = block.at(0, h);
            // SAFETY: rows of this block's vertices, which no other block touches.
            if let Some(first) = first.map(|first| unsafe { first.piece(at, len) }) {
                to_rows(block, carry, first, Accumulate::Add);
            }
        }
    };
    match piece {
        None => shape.sum_over_blocks(&mut sums, one),
        Some(PieceSums { from, parts }) => {
            let width = sums.len();
            shape.parts_over_blocks(from, width, parts, one);
            if from > 0 {
                return;
            }
            for part in parts.chunks_exact(width) {
                sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
        }
    }
    let (bias_sums, rest) = sums.split_at(4 * h);
    let (w_sums, u_sums) = rest.split_at(w_len);
    let targets =
        [(d_bias, bias_sums), (input.bias, bias_sums), (input.weight, w_sums), (d_u, u_sums)];
    for (d, sums) in targets {
        for (d, sum) in d.into_iter().flatten().zip(sums) {
            *d += sum;
        }
    }
}

/// What the backward pass of a block reads.
struct Back<'a> {
    call: &'a LstmCall<&'a [f32]>,
    entry: BackInput<'a>,
    u: Option<Weight<'a>>,
    out_h: &'a [f32],
    saved: &'a [f32],
    d_h: &'a [f32],
    /// Elements of the sums for the biases, the input's weight and the recurrent weight.
    lens: [usize; 3],
    cpu: Cpu,
}

impl Back<'_> {
    /// All steps back: `carries` hold the gradients of state and memory after the last step and
    /// get those before the first.
    ///
    /// # Safety
    ///
    /// No other thread runs the backward pass of this block.
    #[allow(unsafe_code)]
    unsafe fn block(&self, block: SequenceBlock, carries: &mut [Scratch; 2], sums: &mut [f32]) {
        let [carry_h, carry_c] = carries;
        let LstmCall { shape, h0, c0, mask, .. } = *self.call;
        let (h, plane) = (shape.hidden, block.plane());
        let lanes = if block.layout == Layout::Lanes { plane } else { 0 };
        let (mut spare, mut first) = (scratch::take(lanes), scratch::take(lanes));
        let mut spread = scratch::take(if mask.is_some() { plane } else { 0 });
        let mut gates = scratch::take(4 * plane);
        let saved = |t: usize| {
            let (at, len) = block.planes_at(t, SAVED);
            &self.saved[at..at + len]
        };
        let (d_bias, rest) = sums.split_at_mut(self.lens[0]);
        let (d_w, d_u) = rest.split_at_mut(self.lens[1]);
        // The memories before the first step and after each one.
        let mut memories = scratch::take((shape.steps + 1) * plane);
        let before = block.operand(block.of(c0, 0, h), h, &mut first);
        memories[..before.len()].copy_from_slice(before);
        for t in 0..shape.steps {
            let mask = block.mask(mask, t).map(|mask| block.spread_mask(mask, &mut spread));
            let (memory, new_memory) = memories[t * plane..].split_at_mut(plane);
            let mask = mask.map(|()| &spread[..]);
            self.cpu.run(Memory { plane, saved: saved(t), mask, memory, new_memory });
        }
        for t in (0..shape.steps).rev() {
            let mask = block.mask(mask, t);
            if let Some(mask) = mask {
                block.spread_mask(mask, &mut spread);
            }
            self.cpu.run(StepBack {
                plane,
                saved: saved(t),
                memory: &memories[t * plane..(t + 1) * plane],
                new_memory: &memories[(t + 1) * plane..(t + 2) * plane],
                d_h: block.operand(block.of(self.d_h, t, h), h, &mut spare),
                mask: mask.map(|_| &spread[..]),
                carry_h: &mut *carry_h,
                carry_c: &mut *carry_c,
                gates: &mut gates,
            });
            sum_features(self.cpu, block, &gates, d_bias);
            // SAFETY: the caller's promise.
            unsafe { self.entry.send(block, t, &gates, d_w) };
            let Some(u) = &self.u else { continue };
            if !d_u.is_empty() {
                let state = if t == 0 { h0 } else { self.out_h };
                let at = block.at(t.saturating_sub(1), h).0;
                let rows = RowsAt { x: state, at, width: h };
                add_weight_gradient(block, 4, &gates, rows, d_u, h);
            }
            let mode = if mask.is_some() { Accumulate::Add } else { Accumulate::Overwrite };
            u.input_gradient(block, 0..4, 0..h, &gates, carry_h, mode);
        }
    }
}

#[cfg(test)]
mod tests;
