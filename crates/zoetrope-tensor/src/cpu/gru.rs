//! Gated recurrent units over a whole sequence, forward and backward, each as one kernel.
//!
//! With gates in the order r, z, n, the input's share `s` of the gates (given, or `x·Wᵀ + b_x`
//! computed on the way) and h the state:
//!
//! ```text
//! r = σ(s_r + h·U_rᵀ + b_r)          z = σ(s_z + h·U_zᵀ + b_z)
//! n = tanh(s_n + r∘(h·U_nᵀ + b_n))   reset after (PyTorch), or
//! n = tanh(s_n + (r∘h)·U_nᵀ + b_n)   reset before (T-GCN)
//! h' = (1 − z)∘n + z∘h
//! ```
//!
//! If the mask is 0 the state passes unchanged. A block of vertices runs through all steps on
//! one thread (`recurrent`); neither the input's share nor the gradients of the gates exist for
//! more than one step of one block. The weight gradients of blocks are added in order. The backward pass
//! through a single step of many vertices is another one (`one_step`). The forward pass saves the gates of every cell ([`gru_saved_len`]).
//!
//! Floor and measurement (15 November 2026, one core of a busy two-core AMD EPYC virtual machine
//! with AVX-512, shortest of many runs), T = 8, N = 129, H = 32, rows of 32 features: the products
//! take 127 µs at the 100 GFLOP/s of `gemm-f32`, the gates 36 µs; measured 197 µs forward (64
//! GFLOP/s; reset before 167 µs, 76 GFLOP/s) and 277 µs backward (92 GFLOP/s, products alone
//! 254 µs). With H = 64 they reach 79 and 89 GFLOP/s (reset before 84 and 97).

mod after;
mod before;
mod cell;
mod one_step;

use super::matmul::{Accumulate, WHOLE_VECTOR};
use super::recurrent::{
    Alike, BackInput, Bias, ForwardInput, Input, InputGradient, Layout, RowsAt, Sequence,
    SequenceBlock, Weight, add_weight_gradient, sum_features, to_rows,
};
use super::scattered::Scattered;
use super::scratch::{self, Scratch};
use super::simd::{Cpu, current};
use after::{After, AfterBack};
use before::{BeforeBackGates, BeforeBackState, BeforeGates, BeforeState};
pub(crate) use cell::{mix, mix_slopes};

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
    /// Planes that are saved: r, z, n and, reset after, h·U_nᵀ + b_n.
    fn planes(self) -> usize {
        match self {
            Self::ResetAfter => 4,
            Self::ResetBefore => 3,
        }
    }
}

/// Floats that [`gru_forward`] saves for [`gru_backward`].
pub fn gru_saved_len(kind: GruKind, shape: GruShape) -> usize {
    shape.planes_len(kind.planes())
}

/// What both passes read, in matrices `S` of this or of another device.
#[derive(Clone, Copy)]
pub struct GruCall<S> {
    /// Where the reset gate acts.
    pub kind: GruKind,
    /// The extent of the sequence.
    pub shape: GruShape,
    /// What enters the three gates besides the state.
    pub input: Input<S>,
    /// The first state, [N, H].
    pub h0: S,
    /// The recurrent weight, [3H, H], rows r, z, n.
    pub u: S,
    /// A bias for each gate, `[3H]`.
    pub bias: Option<S>,
    /// [T·N], 0 if a vertex is absent.
    pub mask: Option<S>,
}

/// Where the gradients go, each added to what is there; those that are not wanted are absent.
pub struct GruGradients<M> {
    /// Of the input.
    pub input: InputGradient<M>,
    /// Of the first state.
    pub h0: Option<M>,
    /// Of the recurrent weight.
    pub u: Option<M>,
    /// Of the bias.
    pub bias: Option<M>,
}

impl GruCall<&[f32]> {
    fn check(&self, out: &[f32], saved: &[f32]) {
        let (shape, h) = (self.shape, self.shape.hidden);
        assert_eq!(self.h0.len(), shape.vertices * h, "first state");
        assert_eq!(self.u.len(), 3 * h * h, "recurrent weights");
        assert_eq!(out.len(), shape.cells() * h, "states");
        assert!(self.bias.is_none_or(|bias| bias.len() == 3 * h), "one bias per gate");
        assert!(self.mask.is_none_or(|mask| mask.len() == shape.cells()), "a mask value a cell");
        let gates = gru_saved_len(self.kind, shape);
        assert!(saved.is_empty() || saved.len() == gates, "saved gates");
    }

    /// What is added to the sums of each saved plane, zeros without any bias.
    fn joint_bias(&self) -> Scratch {
        let h = self.shape.hidden;
        let mut sum = scratch::zeroed(self.kind.planes() * h);
        if let Some(bias) = self.input.bias() {
            sum[..3 * h].copy_from_slice(bias);
        }
        if let Some(bias) = self.bias {
            let (gates, candidate) = bias.split_at(2 * h);
            let last = (self.kind.planes() - 1) * h;
            let parts = [(0, gates), (last, candidate)];
            for (at, part) in parts {
                for (sum, bias) in sum[at..].iter_mut().zip(part) {
                    *sum += bias;
                }
            }
        }
        sum
    }
}

/// Runs the sequence; writes the states `out` [T·N, H] and `saved`, unless that is empty because there is no backward
/// pass: three quarters of what is written are gates.
///
/// # Panics
///
/// When a length does not fit.
#[allow(unsafe_code)]
pub fn gru_forward(call: &GruCall<&[f32]>, out: &mut [f32], saved: &mut [f32]) {
    let GruCall { kind, shape, h0, mask, .. } = *call;
    call.check(out, saved);
    let h = shape.hidden;
    let step = Step {
        kind,
        input: ForwardInput::new(call.input, shape, 3),
        u: Weight::forward(shape.layout(), call.u, h, h),
        cpu: current(),
    };
    if h == 0 {
        return;
    }
    let bias = call.joint_bias();
    let keeps = !saved.is_empty();
    let inputs = [0, 1].map(|at| step.input.columns(at));
    let may_be_alike = !keeps && mask.is_none();
    let alike = if may_be_alike { Alike::find(shape, 3, inputs, h0) } else { None };
    let (out, saved) = (Scattered::new(out), Scattered::new(saved));
    alike.as_ref().map_or(shape, |alike| alike.shape(shape)).for_each_block(|block| {
        let mut gates = scratch::take(if keeps { 0 } else { kind.planes() * block.plane() });
        let (plane, planes) = (block.plane(), kind.planes());
        let lanes = if block.layout == Layout::Lanes { plane } else { 0 };
        let (mut old, mut new) = (scratch::take(lanes), scratch::take(lanes));
        let mut spare = scratch::take(step.input.spare(block).max(plane));
        let mut spread = scratch::take(if mask.is_some() { plane } else { 0 });
        let bias = block.bias(&bias);
        // Of vertices that are alike the first ones are gathered: states before and after a step, and inputs.
        let gathered = if alike.is_some() { block.count } else { 0 };
        let mut own_states = [0, 1].map(|_| scratch::take(gathered * h));
        let widths = inputs.map(|input| input.map_or(0, |(_, width)| width));
        let mut own_inputs = widths.map(|width| scratch::take(gathered * width));
        let mut before: &[f32] = &[];
        match &alike {
            Some(alike) => {
                alike.gather(block, (h0, h), 0, &mut own_states[0]);
                block.operand(&own_states[0], h, &mut old);
            }
            None => {
                before = block.of(h0, 0, h);
                block.operand(before, h, &mut old);
            }
        }
        for t in 0..shape.steps {
            let (at, len) = block.at(t, h);
            // SAFETY: rows of this block's vertices, which no other block touches; each step's
            // rows are taken once.
            let mut piece = alike.is_none().then(|| unsafe { out.piece(at, len) });
            let [own_before, own_rows] = &mut own_states;
            let (before_rows, rows) = match &mut piece {
                Some(rows) => (before, &mut **rows),
                None => (&own_before[..], &mut own_rows[..]),
            };
            let saved = if keeps {
                let (at, len) = block.planes_at(t, planes);
                // SAFETY: the planes of this block and step, taken once.
                unsafe { saved.piece(at, len) }
            } else {
                &mut gates[..]
            };
            let (state, new_state) = match block.layout {
                Layout::Rows => (before_rows, &mut *rows),
                Layout::Lanes => (&old[..], &mut new[..]),
            };
            let mask = block.mask(mask, t);
            if let Some(mask) = mask {
                block.spread_mask(mask, &mut spread);
            }
            let mask = mask.map(|_| &spread[..]);
            let mut x = [None; 2];
            for ((x, input), own) in x.iter_mut().zip(inputs).zip(&mut own_inputs) {
                *x = match (input, &alike) {
                    (Some(input), Some(alike)) => {
                        alike.gather(block, input, t * shape.vertices, own);
                        Some(&own[..])
                    }
                    (input, _) => input.map(|(x, width)| block.of(x, t, width)),
                };
            }
            step.run(block, x, bias, mask, state, new_state, saved, &mut spare);
            if block.layout == Layout::Lanes {
                to_rows(block, &new, rows, Accumulate::Overwrite);
                std::mem::swap(&mut old, &mut new);
            }
            if let Some(alike) = &alike {
                for (row, members) in rows.chunks_exact(h).zip(alike.members(block)) {
                    for &vertex in members {
                        let at = (t * shape.vertices + vertex as usize) * h;
                        // SAFETY: the row of a vertex, which belongs to one class of one block.
                        unsafe { out.piece(at, h) }.copy_from_slice(row);
                    }
                }
                own_states.swap(0, 1);
            }
            if let Some(rows) = piece {
                before = rows;
            }
        }
    });
    if let Some(alike) = alike {
        alike.give_back();
    }
}

/// What the steps forward of all blocks read.
struct Step<'a> {
    kind: GruKind,
    input: ForwardInput<'a>,
    u: Weight<'a>,
    cpu: Cpu,
}

impl Step<'_> {
    /// One step of a block from rows of its inputs; `spare` has room for the turned input and for a plane.
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        block: SequenceBlock,
        x: [Option<&[f32]>; 2],
        bias: Bias,
        mask: Option<&[f32]>,
        state: &[f32],
        new: &mut [f32],
        saved: &mut [f32],
        spare: &mut [f32],
    ) {
        let plane = block.plane();
        self.input.share_of(block, x, spare, &mut saved[..3 * plane]);
        let h = self.u.inner;
        self.u.gates(block, 0..2, 0..h, state, &mut saved[..2 * plane], Accumulate::Add);
        match self.kind {
            GruKind::ResetAfter => {
                let fresh = Accumulate::Overwrite;
                self.u.gates(block, 2..3, 0..h, state, &mut saved[3 * plane..], fresh);
                self.cpu.run(After { plane, bias, mask, state, new, saved });
            }
            GruKind::ResetBefore => {
                let reset = &mut spare[..plane];
                self.cpu.run(BeforeGates { plane, bias, state, saved, reset });
                self.u.gates(block, 2..3, 0..h, reset, &mut saved[2 * plane..], Accumulate::Add);
                self.cpu.run(BeforeState { plane, bias, mask, state, new, saved });
            }
        }
    }
}

/// Adds the gradients of [`gru_forward`]: `d_out` is [T·N, H], `out` and `saved` as written there.
///
/// # Panics
///
/// When a length does not fit, or the gradient of the input's weight is asked for without one.
pub fn gru_backward(
    call: &GruCall<&[f32]>,
    out: &[f32],
    saved: &[f32],
    d_out: &[f32],
    gradients: GruGradients<&mut [f32]>,
) {
    let GruCall { shape, h0, u, .. } = *call;
    let h = shape.hidden;
    call.check(out, saved);
    assert_eq!(saved.len(), gru_saved_len(call.kind, shape), "saved gates");
    let GruGradients { input, h0: d_h0, u: d_u, bias: d_bias } = gradients;
    assert_eq!(d_out.len(), out.len(), "gradient of the states");
    assert!(d_h0.as_ref().is_none_or(|d| d.len() == h0.len()), "gradient of the first state");
    assert!(d_u.as_ref().is_none_or(|d| d.len() == u.len()), "gradient of the weights");
    let biases = [&d_bias, &input.bias];
    assert!(biases.iter().all(|d| d.as_ref().is_none_or(|d| d.len() == 3 * h)), "of the bias");
    let w_len = if input.weight.is_some() { call.input.weight_len() } else { 0 };
    assert!(input.weight.as_ref().is_none_or(|d| d.len() == w_len), "of the input's weight");
    if h == 0 {
        return input.of_nothing();
    }
    let gradients = GruGradients { input, h0: d_h0, u: d_u, bias: d_bias };
    if one_step::pays(call) {
        one_step::backward(call, saved, d_out, gradients)
    } else {
        sequence_backward(call, out, saved, d_out, gradients)
    }
}

/// Backward pass block by block, each through all steps.
#[allow(unsafe_code)]
fn sequence_backward(
    call: &GruCall<&[f32]>,
    out: &[f32],
    saved: &[f32],
    d_out: &[f32],
    gradients: GruGradients<&mut [f32]>,
) {
    let GruCall { kind, shape, u, .. } = *call;
    let h = shape.hidden;
    let GruGradients { input, h0: d_h0, u: d_u, bias: d_bias } = gradients;
    let w_len = if input.weight.is_some() { call.input.weight_len() } else { 0 };
    let u_len = if d_u.is_some() { u.len() } else { 0 };
    let b_len = kind.planes() * h;
    let back = Back {
        call,
        entry: BackInput::new(call.input, shape, 3, [input.x, input.beside], w_len > 0),
        u: Weight::back(shape.layout(), u, h, h),
        out,
        saved,
        d_out,
        lens: [b_len, w_len],
        wants_h0: d_h0.is_some(),
        cpu: current(),
    };
    let d_h0 = d_h0.map(Scattered::new);
    let mut sums = scratch::zeroed(b_len + w_len + u_len);
    shape.sum_over_blocks(&mut sums, |block, sums| {
        let mut carry = scratch::zeroed(block.plane());
        // SAFETY: each block belongs to one thread.
        unsafe { back.block(block, &mut carry, sums) };
        let (at, len) = block.at(0, h);
        // SAFETY: rows of this block's vertices, which no other block touches.
        if let Some(d_h0) = d_h0.map(|d| unsafe { d.piece(at, len) }) {
            to_rows(block, &carry, d_h0, Accumulate::Add);
        }
    });
    let (bias_sums, rest) = sums.split_at(b_len);
    let (w_sums, u_sums) = rest.split_at(w_len);
    let state_sums = bias_sums[..2 * h].iter().chain(&bias_sums[b_len - h..]);
    for (d, sum) in d_bias.into_iter().flatten().zip(state_sums) {
        *d += sum;
    }
    let targets = [(input.bias, &bias_sums[..3 * h]), (input.weight, w_sums), (d_u, u_sums)];
    for (d, sums) in targets {
        for (d, sum) in d.into_iter().flatten().zip(sums) {
            *d += sum;
        }
    }
}

/// What the backward pass of a block reads.
struct Back<'a> {
    call: &'a GruCall<&'a [f32]>,
    entry: BackInput<'a>,
    u: Weight<'a>,
    out: &'a [f32],
    saved: &'a [f32],
    d_out: &'a [f32],
    /// Elements of the sums for the biases and the input's weight; then come the recurrent ones.
    lens: [usize; 2],
    wants_h0: bool,
    cpu: Cpu,
}

impl Back<'_> {
    /// All steps back: `carry` holds the gradient of the state after the last step and gets that
    /// before the first.
    ///
    /// # Safety
    ///
    /// No other thread runs the backward pass of this block.
    #[allow(unsafe_code)]
    unsafe fn block(&self, block: SequenceBlock, carry: &mut [f32], sums: &mut [f32]) {
        let GruCall { kind, shape, h0, mask, .. } = *self.call;
        let (h, plane) = (shape.hidden, block.plane());
        let lanes = if block.layout == Layout::Lanes { plane } else { 0 };
        let (mut spare, mut turned) = (scratch::take(lanes), scratch::take(lanes));
        let mut spread = scratch::take(if mask.is_some() { plane } else { 0 });
        let mut gates = scratch::take(kind.planes() * plane);
        let (d_bias, rest) = sums.split_at_mut(self.lens[0]);
        let (d_w, d_u) = rest.split_at_mut(self.lens[1]);
        for t in (0..shape.steps).rev() {
            let mask = block.mask(mask, t);
            if let Some(mask) = mask {
                block.spread_mask(mask, &mut spread);
            }
            let states = if t == 0 { h0 } else { self.out };
            let (at, len) = block.at(t.saturating_sub(1), h);
            let step = StepBack {
                block,
                saved: {
                    let (at, len) = block.planes_at(t, kind.planes());
                    &self.saved[at..at + len]
                },
                rows: RowsAt { x: states, at, width: h },
                state: block.operand(&states[at..at + len], h, &mut turned),
                d_out: block.operand(block.of(self.d_out, t, h), h, &mut spare),
                mask: mask.map(|_| &spread[..]),
                goes_on: t > 0 || self.wants_h0,
            };
            match kind {
                GruKind::ResetAfter => self.after(step, carry, &mut gates, d_u),
                GruKind::ResetBefore => self.before(step, carry, &mut gates, d_u),
            }
            sum_features(self.cpu, block, &gates, d_bias);
            // SAFETY: the caller's promise.
            unsafe { self.entry.send(block, t, &gates[..3 * plane], d_w) };
        }
    }

    fn after(&self, step: StepBack, carry: &mut [f32], gates: &mut [f32], d_u: &mut [f32]) {
        let StepBack { block, saved, rows, state, d_out, mask, goes_on } = step;
        let (h, plane) = (self.call.shape.hidden, block.plane());
        self.cpu.run(AfterBack { plane, saved, state, d_out, mask, carry, gates });
        // The product of the candidate has a plane of its own, the fourth.
        for (which, at) in [(0..2, 0), (2..3, 3)] {
            let d_planes = &gates[at * plane..];
            if !d_u.is_empty() {
                let d_u = &mut d_u[which.start * h * h..which.end * h * h];
                add_weight_gradient(block, which.len(), d_planes, rows, d_u, h);
            }
            if goes_on {
                self.u.input_gradient(block, which, 0..h, d_planes, carry, Accumulate::Add);
            }
        }
    }

    fn before(&self, step: StepBack, carry: &mut [f32], gates: &mut [f32], d_u: &mut [f32]) {
        let StepBack { block, saved, rows, state, d_out, mask, goes_on } = step;
        let (h, plane) = (self.call.shape.hidden, block.plane());
        // Room to read the last row of r∘h as whole vectors.
        let mut reset = scratch::take(plane + WHOLE_VECTOR);
        let mut d_reset = scratch::take(plane);
        self.cpu.run(BeforeBackGates {
            plane,
            saved,
            state,
            d_out,
            mask,
            carry,
            gates,
            reset: &mut reset[..plane],
        });
        let candidate = &gates[2 * plane..];
        self.u.input_gradient(block, 2..3, 0..h, candidate, &mut d_reset, Accumulate::Overwrite);
        if !d_u.is_empty() {
            let mut turned =
                scratch::take(if block.layout == Layout::Lanes { plane + WHOLE_VECTOR } else { 0 });
            let reset = match block.layout {
                Layout::Rows => &reset[..],
                Layout::Lanes => {
                    let own = &mut turned[..block.count * h];
                    to_rows(block, &reset[..plane], own, Accumulate::Overwrite);
                    &turned[..]
                }
            };
            let rows = RowsAt { x: reset, at: 0, width: h };
            add_weight_gradient(block, 1, candidate, rows, &mut d_u[2 * h * h..], h);
        }
        let d_reset = &d_reset[..];
        self.cpu.run(BeforeBackState { saved, state, d_reset, mask, carry, gates });
        if !d_u.is_empty() {
            add_weight_gradient(block, 2, gates, rows, &mut d_u[..2 * h * h], h);
        }
        if goes_on {
            self.u.input_gradient(block, 0..2, 0..h, gates, carry, Accumulate::Add);
        }
    }
}

/// One step of a block in the backward pass.
struct StepBack<'a> {
    block: SequenceBlock,
    saved: &'a [f32],
    /// The state before the step.
    rows: RowsAt<'a>,
    /// The same as a plane.
    state: &'a [f32],
    d_out: &'a [f32],
    mask: Option<&'a [f32]>,
    /// Whether anybody wants the gradient of the state before.
    goes_on: bool,
}

#[cfg(test)]
mod tests;
