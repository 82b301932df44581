//! Vectors that evolve by themselves: a recurrence whose input is its own state (EvolveGCN-O).
//!
//! The rows of a matrix are the vectors; after each step it is the weight of another snapshot:
//!
//! ```text
//! GRU    h' = GRU(h, h), reset after, biases for all vectors
//! LSTM   h', c' = LSTM(h, h, c), a bias for each vector
//! ```
//!
//! Step after step by the kernels of `gru` and `lstm`, which save what the backward pass reads; for an LSTM
//! the memories after each step are kept beside that. The gradients of the two weights are added from the
//! last step to the first.

use super::elementwise::scale_add;
use super::gru::{GruCall, GruGradients, GruKind, gru_backward, gru_forward, gru_saved_len};
use super::lstm::{LstmCall, LstmGradients, lstm_backward, lstm_forward, lstm_saved_len};
use super::matmul::{Accumulate, MatMut, MatRef, matmul};
use super::recurrent::{Input, InputGradient, InputRows, Sequence};
use super::scratch;

/// What both passes read, in matrices `S` of this or of another device.
#[derive(Clone, Copy)]
pub struct EvolveCall<S> {
    /// Steps, vectors and their width.
    pub shape: Sequence,
    /// The vectors before the first step, [N, H].
    pub h0: S,
    /// The weight of the state as input, [G·H, H].
    pub w: S,
    /// The recurrent weight, [G·H, H].
    pub u: S,
    /// The rest, by the kind of recurrence.
    pub unit: EvolveUnit<S>,
}

/// Which recurrence, and what it has besides weights.
#[derive(Clone, Copy)]
pub enum EvolveUnit<S> {
    /// Gates r, z, n.
    Gru {
        /// Of the input, `[3H]`.
        input_bias: S,
        /// Of the state, `[3H]`.
        bias: S,
    },
    /// Gates i, f, g, o.
    Lstm {
        /// The memory before the first step, [N, H].
        c0: S,
        /// [N, 4H].
        bias: S,
    },
}

/// Where the gradients go, each added to what is there; those that are not wanted are absent.
pub struct EvolveGradients<M> {
    /// Of the first vectors.
    pub h0: Option<M>,
    /// Of the weight of the input.
    pub w: Option<M>,
    /// Of the recurrent weight.
    pub u: Option<M>,
    /// GRU: of the input's bias. LSTM: of the first memory.
    pub first: Option<M>,
    /// GRU: of the state's bias. LSTM: of the bias.
    pub bias: Option<M>,
}

impl<S> EvolveCall<S> {
    /// One step of all vectors.
    fn step(&self) -> Sequence {
        Sequence { steps: 1, ..self.shape }
    }

    fn saved_of_step(&self) -> usize {
        match self.unit {
            EvolveUnit::Gru { .. } => gru_saved_len(GruKind::ResetAfter, self.step()),
            EvolveUnit::Lstm { .. } => lstm_saved_len(self.step()),
        }
    }

    /// Elements of the vectors.
    fn state(&self) -> usize {
        self.shape.vertices * self.shape.hidden
    }
}

/// Floats that [`evolve_forward`] saves for [`evolve_backward`].
pub fn evolve_saved_len<S>(call: &EvolveCall<S>) -> usize {
    let memories = match call.unit {
        EvolveUnit::Gru { .. } => 0,
        EvolveUnit::Lstm { .. } => call.state(),
    };
    call.shape.steps * (call.saved_of_step() + memories)
}

impl<'a> EvolveCall<&'a [f32]> {
    /// A step of the GRU from `h`.
    fn gru(&self, h: &'a [f32], input_bias: &'a [f32], bias: &'a [f32]) -> GruCall<&'a [f32]> {
        let rows = InputRows { x: h, beside: None, weight: self.w, bias: Some(input_bias) };
        let (kind, shape, input) = (GruKind::ResetAfter, self.step(), Input::Rows(rows));
        GruCall { kind, shape, input, h0: h, u: self.u, bias: Some(bias), mask: None }
    }

    /// A step of the LSTM from `h` and `c`, given what the input adds to the gates.
    fn lstm<'b>(&self, gates: &'b [f32], h: &'b [f32], c: &'b [f32]) -> LstmCall<&'b [f32]>
    where
        'a: 'b,
    {
        let (shape, input) = (self.step(), Input::Gates(gates));
        LstmCall { shape, input, h0: h, c0: c, u: Some(self.u), bias: None, mask: None }
    }

    /// The vectors before a step.
    fn before<'b>(&self, first: &'b [f32], out: &'b [f32], step: usize) -> &'b [f32] {
        let len = self.state();
        if step == 0 { first } else { &out[(step - 1) * len..step * len] }
    }
}

/// Runs the steps; writes the vectors after each into `out` [T·N, H], for an LSTM the last memory into
/// `out_c` [N, H], and `saved`.
///
/// # Panics
///
/// When a length does not fit.
pub fn evolve_forward(
    call: &EvolveCall<&[f32]>,
    out: &mut [f32],
    out_c: &mut [f32],
    saved: &mut [f32],
) {
    let (len, steps) = (call.state(), call.shape.steps);
    assert_eq!(saved.len(), evolve_saved_len(call), "saved gates");
    let (gates, memories) = saved.split_at_mut(steps * call.saved_of_step());
    if let EvolveUnit::Lstm { c0, .. } = call.unit {
        out_c.copy_from_slice(c0);
    }
    if len == 0 {
        return;
    }
    let mut share = scratch::take(0);
    for (t, saved) in gates.chunks_exact_mut(call.saved_of_step()).enumerate() {
        let (done, rest) = out.split_at_mut(t * len);
        let (h, new) = (call.before(call.h0, done, t), &mut rest[..len]);
        match call.unit {
            EvolveUnit::Gru { input_bias, bias } => {
                gru_forward(&call.gru(h, input_bias, bias), new, saved);
            }
            EvolveUnit::Lstm { c0, bias } => {
                share.resize(bias.len());
                share.copy_from_slice(bias);
                let (n, wide) = (call.shape.vertices, 4 * call.shape.hidden);
                let rows = MatRef::new(h, n, call.shape.hidden);
                let weight = MatRef::new(call.w, wide, call.shape.hidden);
                matmul(rows, weight.t(), MatMut::new(&mut share, n, wide), Accumulate::Add);
                let (kept, rest) = memories.split_at_mut(t * len);
                let (c, new_c) = (call.before(c0, kept, t), &mut rest[..len]);
                lstm_forward(&call.lstm(&share, h, c), new, new_c, saved);
            }
        }
    }
    if let Some(last) = memories.len().checked_sub(len) {
        out_c.copy_from_slice(&memories[last..]);
    }
}

/// Adds the gradients of [`evolve_forward`]: `d_out` is [T·N, H], `d_c` [N, H] or, for a GRU, empty;
/// `out` and `saved` as written there.
///
/// # Panics
///
/// When a length does not fit.
pub fn evolve_backward(
    call: &EvolveCall<&[f32]>,
    out: &[f32],
    saved: &[f32],
    d_out: &[f32],
    d_c: &[f32],
    gradients: EvolveGradients<&mut [f32]>,
) {
    let EvolveGradients { h0: d_h0, w: mut d_w, u: mut d_u, first: mut d_first, bias: mut d_bias } =
        gradients;
    let (len, steps) = (call.state(), call.shape.steps);
    assert_eq!(saved.len(), evolve_saved_len(call), "saved gates");
    assert_eq!((out.len(), d_out.len()), (steps * len, steps * len), "states");
    let (gates, memories) = saved.split_at(steps * call.saved_of_step());
    // What flows to the vectors, as input and as state, and to the memory.
    let mut carries = [scratch::zeroed(len), scratch::zeroed(len)];
    let mut memory = scratch::take(d_c.len());
    memory.copy_from_slice(d_c);
    let (mut d, mut d_gates) = (scratch::take(len), scratch::take(0));
    for t in (0..if len == 0 { 0 } else { steps }).rev() {
        let saved = &gates[t * call.saved_of_step()..(t + 1) * call.saved_of_step()];
        let (h, new) = (call.before(call.h0, out, t), &out[t * len..(t + 1) * len]);
        d.copy_from_slice(&d_out[t * len..(t + 1) * len]);
        carries.iter().for_each(|carry| scale_add(1.0, carry, &mut d));
        let [as_input, as_state] = &mut carries;
        as_state.fill(0.0);
        match call.unit {
            EvolveUnit::Gru { input_bias, bias } => {
                let input = InputGradient {
                    x: Some((&mut as_input[..], Accumulate::Overwrite)),
                    beside: None,
                    weight: d_w.as_deref_mut(),
                    bias: d_first.as_deref_mut(),
                };
                let (u, bias_sum) = (d_u.as_deref_mut(), d_bias.as_deref_mut());
                let gradients =
                    GruGradients { input, h0: Some(&mut as_state[..]), u, bias: bias_sum };
                gru_backward(&call.gru(h, input_bias, bias), new, saved, &d, gradients);
            }
            EvolveUnit::Lstm { c0, bias } => {
                d_gates.resize(bias.len());
                let c = call.before(c0, memories, t);
                let mut before = scratch::zeroed(len);
                let input = InputGradient {
                    x: Some((&mut d_gates[..], Accumulate::Overwrite)),
                    beside: None,
                    weight: None,
                    bias: None,
                };
                let gradients = LstmGradients {
                    input,
                    h0: Some(&mut as_state[..]),
                    c0: Some(&mut before[..]),
                    u: d_u.as_deref_mut(),
                    bias: None,
                };
                // The gates themselves are in what was saved; only how many there are is asked.
                let cell = call.lstm(bias, h, c);
                lstm_backward(&cell, new, saved, &d, Some(&memory), None, gradients);
                memory.copy_from_slice(&before);
                let (n, h_wide, wide) =
                    (call.shape.vertices, call.shape.hidden, 4 * call.shape.hidden);
                let from = MatRef::new(&d_gates, n, wide);
                let weight = MatRef::new(call.w, wide, h_wide);
                let to = MatMut::new(&mut as_input[..], n, h_wide);
                matmul(from, weight, to, Accumulate::Overwrite);
                if let Some(d_w) = d_w.as_deref_mut() {
                    let rows = MatRef::new(h, n, h_wide);
                    matmul(from.t(), rows, MatMut::new(d_w, wide, h_wide), Accumulate::Add);
                }
                if let Some(d_bias) = d_bias.as_deref_mut() {
                    scale_add(1.0, &d_gates, d_bias);
                }
            }
        }
    }
    if let Some(d_h0) = d_h0 {
        carries.iter().for_each(|carry| scale_add(1.0, carry, d_h0));
    }
    if let (EvolveUnit::Lstm { .. }, Some(d_c0)) = (call.unit, d_first) {
        scale_add(1.0, &memory, d_c0);
    }
}
