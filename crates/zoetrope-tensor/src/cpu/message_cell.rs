//! A recurrent cell that reads messages: one step of many vertices, forward and backward.
//!
//! The message of a vertex is `m = [s, o, e, φ]`: its own state, that of another vertex, features of
//! an event, an encoding of time. With the weights `W = [W_s W_o W_e W_φ]` and `U`:
//!
//! ```text
//! GRU   r = σ(W_r·m + U_r·s + b)     z = σ(W_z·m + U_z·s + b)
//!       n = tanh(W_n·m + b + r∘(U_n·s + b'))     s' = (1 − z)∘n + z∘s
//! RNN   s' = tanh(W·m + U·s + b)
//! ```
//!
//! A message is never put together. If both weights meet the own state they are added first, so
//! that the state is multiplied once; the features of an event are multiplied once for all vertices
//! to which it sent a message. For the memory of TGN on the wikipedia events (batch 200, widths 100,
//! 172 features, 780 vertices of 632 events) that leaves 142,000 of 172,000 multiply-adds a vertex,
//! and as many less in the backward pass. The products are few and large, and the gates are computed in
//! one pass over rows.
//!
//! The forward pass saves `[s o φ]` and, for a GRU, the rows r, z, n and U_n·s + b'. The backward pass
//! adds to the gradients of the weights, the biases and the encodings; what else is in a message
//! gets none.
//!
//! Measured with the example `stream` (15 November 2026, two-core AMD EPYC virtual machine with
//! AVX-512, shortest of many runs), these sizes: 2.35 ms forward and 2.99 ms backward on one thread
//! (94 and 89 GFLOP/s of its 118), 1.27 and 1.73 ms on two; a GRU over messages that are put together
//! takes 2.73 and 3.35 ms, and took 1.58 and 2.32 ms on two.

mod backward;
mod gates;

use rayon::prelude::*;

use super::blocks;
use super::matmul::{Accumulate, MatMut, MatRef, matmul};
use super::scratch::{self, Scratch};
use super::simd::current;
pub(crate) use backward::{MessageGradients, message_cell_backward};
use gates::{GruRows, RnnRows};

/// Which cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageCellKind {
    /// PyTorch's `GRUCell`.
    Gru,
    /// PyTorch's `RNNCell` with tanh.
    Rnn,
}

impl MessageCellKind {
    /// Rows of the weights are this many times the width of the state.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Gru => 3,
            Self::Rnn => 1,
        }
    }

    /// Rows of `H` elements that are saved besides `[s o φ]`.
    pub(crate) fn planes(self) -> usize {
        match self {
            Self::Gru => 4,
            Self::Rnn => 0,
        }
    }
}

/// What both passes read.
#[derive(Clone, Copy)]
pub(crate) struct MessageCall<'a> {
    pub(crate) kind: MessageCellKind,
    pub(crate) hidden: usize,
    /// `[s, o]` of each vertex.
    pub(crate) pair: MatRef<'a>,
    /// φ of each vertex.
    pub(crate) time: MatRef<'a>,
    /// Distinct features, and for each vertex the row of its own.
    pub(crate) features: Option<(MatRef<'a>, &'a [u32])>,
    /// `[G·H, in]`.
    pub(crate) weight: &'a [f32],
    /// `[G·H, H]`.
    pub(crate) recurrent: &'a [f32],
    /// `[G·H]` each, that of the message first.
    pub(crate) biases: [&'a [f32]; 2],
    /// Whether a row more is computed: the state after a message of zeros, from a state of zeros.
    pub(crate) nothing: bool,
}

impl<'a> MessageCall<'a> {
    fn vertices(&self) -> usize {
        self.pair.rows
    }

    /// Rows of new states.
    pub(crate) fn rows(&self) -> usize {
        self.vertices() + usize::from(self.nothing)
    }

    /// The width of `[s o φ]`.
    fn inner(&self) -> usize {
        self.pair.cols + self.time.cols
    }

    fn feature_width(&self) -> usize {
        self.features.map_or(0, |(features, _)| features.cols)
    }

    /// The width of a message.
    fn message(&self) -> usize {
        self.inner() + self.feature_width()
    }

    /// Floats that the forward pass saves.
    pub(crate) fn saved_len(&self) -> usize {
        self.rows() * (self.inner() + self.kind.planes() * self.hidden)
    }

    /// The weight's columns from one on, as a matrix of `width` columns.
    fn columns(&self, from: usize, width: usize) -> MatRef<'a> {
        let rows = self.kind.gates() * self.hidden;
        let (data, stride) = (&self.weight[from..], self.message());
        MatRef { data, rows, cols: width, stride, transposed: false }
    }

    /// Rows of the weights that meet the own state together: those of all gates but n.
    fn merged(&self) -> usize {
        match self.kind {
            MessageCellKind::Gru => 2 * self.hidden * self.hidden,
            MessageCellKind::Rnn => self.hidden * self.hidden,
        }
    }

    /// The weight of `[s o φ]`.
    fn joint_weight(&self) -> Scratch {
        let (inner, pair, h) = (self.inner(), self.pair.cols, self.hidden);
        let rows = self.kind.gates() * h;
        let mut joint = scratch::take(rows * inner);
        let message = self.message();
        for (joint, row) in joint.chunks_exact_mut(inner).zip(self.weight.chunks_exact(message)) {
            joint[..pair].copy_from_slice(&row[..pair]);
            joint[pair..].copy_from_slice(&row[message - (inner - pair)..]);
        }
        let merged = self.recurrent[..self.merged()].chunks_exact(h);
        for (joint, recurrent) in joint.chunks_exact_mut(inner).zip(merged) {
            joint.iter_mut().zip(recurrent).for_each(|(joint, own)| *joint += own);
        }
        joint
    }

    /// The biases of the sums of a row: of a GRU r, z, n and U_n·s.
    fn joint_bias(&self) -> Scratch {
        let h = self.hidden;
        let [first, second] = self.biases;
        let merged = self.merged() / h.max(1);
        let mut joint = scratch::take(first.len() + second.len() - merged);
        joint[..first.len()].copy_from_slice(first);
        joint[first.len()..].copy_from_slice(&second[merged..]);
        joint.iter_mut().zip(&second[..merged]).for_each(|(joint, own)| *joint += own);
        joint
    }
}

/// Rows of a block of the passes over gates.
const ROWS: usize = 32;

/// Writes the new states `out` [N, H] and `saved`.
///
/// # Panics
///
/// When a length does not fit.
pub(crate) fn message_cell_forward(call: &MessageCall, out: &mut [f32], saved: &mut [f32]) {
    let (n, h, inner) = (call.rows(), call.hidden, call.inner());
    assert_eq!(out.len(), n * h, "new states");
    assert_eq!(saved.len(), call.saved_len(), "what is saved");
    if n == 0 || h == 0 {
        return;
    }
    let (x, gates) = saved.split_at_mut(n * inner);
    beside(call.pair, call.time, x);
    let x = &*x;
    let (gate_rows, planes) = (call.kind.gates() * h, call.kind.planes().max(1) * h);
    // What features add to the sums, and a row of zeros for who has none.
    let distinct = call.features.map_or(0, |(features, _)| features.rows);
    let mut share = scratch::take((distinct + 1) * gate_rows);
    share[distinct * gate_rows..].fill(0.0);
    if let Some((features, _)) = call.features {
        let weight = call.columns(call.pair.cols, features.cols).t();
        let share = MatMut::new(&mut share, distinct, gate_rows);
        matmul(features, weight, share, Accumulate::Overwrite);
    }
    let (joint, bias) = (call.joint_weight(), call.joint_bias());
    let joint = MatRef::new(&joint, gate_rows, inner).t();
    let rows_of_share = call.features.map(|(_, rows)| rows);
    let (share, bias, cpu) = (&share[..], &bias[..], current());
    let sums = if call.kind == MessageCellKind::Gru { &mut *gates } else { &mut *out };
    let c = MatMut { data: sums, rows: n, cols: gate_rows, stride: planes };
    matmul(MatRef::new(x, n, inner), joint, c, Accumulate::Overwrite);
    let own = |block: usize| {
        rows_of_share.map_or(&[][..], |rows| &rows[(block * ROWS).min(rows.len())..])
    };
    match call.kind {
        MessageCellKind::Gru => {
            let state = MatRef { data: x, rows: n, cols: h, stride: inner, transposed: false };
            let candidate = MatRef::new(&call.recurrent[2 * h * h..], h, h).t();
            let c = MatMut { data: &mut gates[3 * h..], rows: n, cols: h, stride: planes };
            matmul(state, candidate, c, Accumulate::Overwrite);
            let blocks = out.par_chunks_mut(ROWS * h).zip(gates.par_chunks_mut(ROWS * planes));
            blocks.zip(x.par_chunks(ROWS * inner)).enumerate().for_each(
                |(block, ((new, gates), x))| {
                    cpu.run(GruRows { h, inner, bias, share, own: own(block), x, gates, new });
                },
            );
        }
        MessageCellKind::Rnn => blocks::for_each_block(out, ROWS * h, |block, new| {
            cpu.run(RnnRows { h, bias, share, own: own(block), new });
        }),
    }
}

/// Copies the rows of two matrices side by side; a row more is filled with zeros.
fn beside(left: MatRef, right: MatRef, y: &mut [f32]) {
    let width = left.cols + right.cols;
    blocks::for_each_block(y, ROWS * width, |block, y| {
        for (at, y) in y.chunks_exact_mut(width).enumerate() {
            let row = block * ROWS + at;
            if row == left.rows {
                y.fill(0.0);
                continue;
            }
            let (first, second) = y.split_at_mut(left.cols);
            first.copy_from_slice(&left.data[row * left.stride..][..left.cols]);
            second.copy_from_slice(&right.data[row * right.stride..][..right.cols]);
        }
    });
}
