//! The backward pass through a message cell: the gates' gradients as rows, then a few large products.

use super::gates::{GruBack, RnnBack};
use super::{MessageCall, MessageCellKind, ROWS};
use crate::cpu::blocks;
use crate::cpu::matmul::{Accumulate, MatMut, MatRef, matmul};
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;
use crate::cpu::simd::current;

/// Where gradients are added, or written in the case of the encodings; those that nobody wants are
/// absent.
pub(crate) struct MessageGradients<M> {
    pub(crate) time: Option<(M, Accumulate)>,
    pub(crate) weight: Option<M>,
    pub(crate) recurrent: Option<M>,
    pub(crate) biases: [Option<M>; 2],
}

/// Adds the gradients of [`message_cell_forward`](super::message_cell_forward).
///
/// # Panics
///
/// When a length does not fit.
pub(crate) fn message_cell_backward(
    call: &MessageCall,
    out: &[f32],
    saved: &[f32],
    d_out: &[f32],
    gradients: MessageGradients<&mut [f32]>,
) {
    let (n, h, inner) = (call.rows(), call.hidden, call.inner());
    let MessageGradients { time, weight, recurrent, biases } = gradients;
    let [cells, kept] = [n * h, call.saved_len()];
    assert_eq!([out.len(), d_out.len(), saved.len()], [cells, cells, kept], "what was computed");
    if n == 0 || h == 0 {
        if let Some((d_time, Accumulate::Overwrite)) = time {
            d_time.fill(0.0);
        }
        return;
    }
    let (x, gates) = saved.split_at(n * inner);
    let gate_rows = call.kind.gates() * h;
    let width = call.kind.planes().max(1) * h;
    let (mut d, mut sums) = (scratch::take(n * width), scratch::zeroed(width));
    let cpu = current();
    {
        let pieces = Scattered::new(&mut d);
        blocks::sum_over_blocks(n.div_ceil(ROWS), &mut sums, |block, sums| {
            let from = block * ROWS;
            let count = ROWS.min(n - from);
            // SAFETY: the rows of one block, which no other block touches.
            #[allow(unsafe_code)]
            let d = unsafe { pieces.piece(from * width, count * width) };
            let d_out = &d_out[from * h..(from + count) * h];
            match call.kind {
                MessageCellKind::Gru => {
                    let gates = &gates[from * width..(from + count) * width];
                    let x = &x[from * inner..(from + count) * inner];
                    cpu.run(GruBack { h, inner, x, gates, d_out, d, sums });
                }
                MessageCellKind::Rnn => {
                    let new = &out[from * h..(from + count) * h];
                    cpu.run(RnnBack { h, new, d_out, d, sums });
                }
            }
        });
    }
    let d_gates = MatRef { data: &d, rows: n, cols: gate_rows, stride: width, transposed: false };
    if let Some((d_time, mode)) = time {
        let (vertices, width) = (call.vertices(), call.time.cols);
        let columns = call.columns(call.message() - width, width);
        let d_gates = MatRef { rows: vertices, ..d_gates };
        matmul(d_gates, columns, MatMut::new(d_time, vertices, width), mode);
    }
    let [d_bias, d_own_bias] = biases;
    let merged = call.merged();
    d_bias.into_iter().flatten().zip(&sums[..]).for_each(|(d, sum)| *d += sum);
    let of_state = sums[..merged / h].iter().chain(&sums[gate_rows..]);
    d_own_bias.into_iter().flatten().zip(of_state).for_each(|(d, sum)| *d += sum);
    if weight.is_none() && recurrent.is_none() {
        return;
    }
    let mut joint = scratch::take(gate_rows * inner);
    let c = MatMut::new(&mut joint, gate_rows, inner);
    matmul(d_gates.t(), MatRef::new(x, n, inner), c, Accumulate::Overwrite);
    if let Some(d_weight) = weight {
        add_weight(call, &joint, d_weight);
        if let Some((features, rows)) = call.features {
            add_feature_weight(call, d_gates, features, rows, d_weight);
        }
    }
    if let Some(d_recurrent) = recurrent {
        let (first, last) = d_recurrent.split_at_mut(merged);
        for (d, joint) in first.chunks_exact_mut(h).zip(joint.chunks_exact(inner)) {
            d.iter_mut().zip(joint).for_each(|(d, joint)| *d += joint);
        }
        if call.kind == MessageCellKind::Gru {
            let state = MatRef { data: x, rows: n, cols: h, stride: inner, transposed: false };
            let product = MatRef { data: &d[3 * h..], cols: h, ..d_gates };
            matmul(product.t(), state, MatMut::new(last, h, h), Accumulate::Add);
        }
    }
}

/// Adds the gradient of the joint weight to the columns that it stands for.
fn add_weight(call: &MessageCall, joint: &[f32], d_weight: &mut [f32]) {
    let (inner, pair, message) = (call.inner(), call.pair.cols, call.message());
    let rows = d_weight.chunks_exact_mut(message).zip(joint.chunks_exact(inner));
    for (d, joint) in rows {
        d[..pair].iter_mut().zip(joint).for_each(|(d, joint)| *d += joint);
        let time = d[message - (inner - pair)..].iter_mut();
        time.zip(&joint[pair..]).for_each(|(d, joint)| *d += joint);
    }
}

/// Adds the gradient of the weight of features: the gradients of vertices that share features are
/// added first.
fn add_feature_weight(
    call: &MessageCall,
    d_gates: MatRef,
    features: MatRef,
    rows: &[u32],
    d_weight: &mut [f32],
) {
    let width = d_gates.cols;
    let mut shared = scratch::zeroed(features.rows * width);
    for (&row, d) in rows.iter().zip(d_gates.data.chunks(d_gates.stride)) {
        let sum = &mut shared[row as usize * width..][..width];
        sum.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
    }
    let stride = call.message();
    let data = &mut d_weight[call.pair.cols..];
    let c = MatMut { data, rows: width, cols: features.cols, stride };
    matmul(MatRef::new(&shared, features.rows, width).t(), features, c, Accumulate::Add);
}
