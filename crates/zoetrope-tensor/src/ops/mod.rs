//! The operators of the tape: shapes are checked here, kernels of the same file name compute.
//!
//! Each file adds methods to [`Tape`] and the matching step of the backward pass. How to add an
//! operator is written in `docs/adding-an-operator.md`.

mod activation;
pub mod attention;
pub mod chain;
mod concat;
pub mod custom;
mod dropout;
mod elementwise;
pub mod evolve;
pub mod gat;
mod gather;
mod gru;
mod heads;
mod linear_piece;
pub mod link_ranks;
pub mod loss;
pub mod lstm;
mod matmul;
mod matmul_steps;
pub mod message_cell;
pub mod neighbour_attention;
pub mod norm;
pub mod pairs;
mod readout;
pub mod recurrent;
mod reduce;
pub mod shared_norm;
mod softmax;
mod spmm;
mod table;
mod time_encoding;

use std::ops::Range;

use crate::buffer::Buffer;
use crate::tape::{Op, Tape, Var};

impl Tape {
    /// Adds the gradient `dy` of `node`, which begins at its value `from`, to the gradients of its
    /// operands.
    pub(crate) fn operator_backward(&mut self, op: &Op, node: Var, dy: Buffer, from: usize) {
        if let Op::Lstm { .. } = op {
            return self.lstm_backward(op, node, dy, from);
        }
        self.share_gradient(op, node, &dy);
        self.pool.give(dy);
    }

    /// Whether the backward pass of an operator takes a gradient of which only a part is there.
    pub(crate) fn takes_part(&self, op: &Op, part: Range<usize>) -> bool {
        matches!(op, Op::Lstm { .. }) && self.lstm_takes_part(op, part)
    }

    /// The same for operators that take a whole gradient and leave it.
    fn share_gradient(&mut self, op: &Op, node: Var, dy: &Buffer) {
        match *op {
            Op::Leaf | Op::Lstm { .. } => {}
            Op::Matmul { a, b, a_transposed, b_transposed } => {
                self.matmul_backward(node, [a, b], [a_transposed, b_transposed], dy);
            }
            Op::Linear { x, weight, bias, activation, piece: Some(piece), .. } => {
                self.linear_piece_backward(node, [x, weight], bias, activation, piece, dy);
            }
            Op::Linear { x, weight, bias, plus, activation, piece: None } => {
                self.linear_backward(node, x, weight, bias, plus, activation, dy);
            }
            Op::HeadProducts { x, weight, heads, transposed } => {
                self.head_products_backward(node, [x, weight], heads, transposed, dy);
            }
            Op::Readout { x, weight, bias } => self.readout_backward([x, weight, bias], dy),
            Op::MatmulSteps { x, weights, steps, transposed } => {
                self.matmul_steps_backward(node, [x, weights], steps, transposed, dy);
            }
            Op::Spmm { ref group, x } => self.spmm_backward(group, x, dy),
            Op::AddScaled { a, b, factor } => self.add_scaled_backward(a, b, factor, dy),
            Op::Mul { a, b } => self.mul_backward(a, b, dy),
            Op::Scale { x, factor } => self.scale_backward(x, factor, dy),
            Op::AddBias { x, bias } => self.add_bias_backward(x, bias, dy),
            Op::RowScale { x, factors } => self.row_scale_backward(x, factors, dy),
            Op::Activation { x, activation } => self.activation_backward(node, x, activation, dy),
            Op::Chain { ref chain, inputs } => self.chain_backward(chain, inputs, dy),
            Op::ConcatColumns { parts } => self.concat_columns_backward(node, parts, dy),
            Op::ConcatRows { parts } => self.concat_rows_backward(parts, dy),
            Op::Gather { x, ref indices } => self.gather_backward(x, indices, dy),
            Op::ScatterAdd { x, ref indices } => self.scatter_add_backward(x, indices, dy),
            Op::PairScores { layers, ref ends } => {
                self.pair_scores_backward(layers, [&ends[0], &ends[1]], dy);
            }
            Op::Gru { .. } => self.gru_backward(op, node, dy),
            Op::Evolve { .. } => self.evolve_backward(op, node, dy),
            Op::Attention { .. } => self.attention_backward(op, dy),
            Op::TemporalLayer { .. } => self.temporal_layer_backward(op, dy),
            Op::Gat { .. } => self.gat_backward(op, node, dy),
            Op::NeighbourAttention { .. } => self.neighbour_attention_backward(op, node, dy),
            Op::MessageCell { ref call, ref feature_rows } => {
                self.message_cell_backward(call, feature_rows, node, dy);
            }
            Op::TimeEncoding { ref deltas, weight, bias } => {
                self.time_encoding_backward(deltas, weight, bias, dy);
            }
            Op::Softmax { x } => self.softmax_backward(node, x, dy),
            Op::SegmentSoftmax { ref group, x } => {
                self.segment_softmax_backward(group, node, x, dy);
            }
            Op::BatchNorm { x, scale, shift, shared: Some(ref shared), .. } => {
                self.shared_batch_norm_backward(node, [x, scale, shift], shared, dy);
            }
            Op::BatchNorm { x, scale, shift, fixed, shared: None } => {
                self.batch_norm_backward(node, x, scale, shift, fixed, dy);
            }
            Op::LayerNorm { x, scale, shift } => {
                self.layer_norm_backward(node, x, scale, shift, dy)
            }
            Op::Dropout { x, dropout, ref cells } => self.dropout_backward(x, dropout, cells, dy),
            Op::UnitVector { x } => self.unit_vector_backward(node, x, dy),
            Op::Mean { x } => self.mean_backward(x, dy),
            Op::Loss { .. } => self.loss_backward(op, node, dy),
            Op::Custom { ref operator, inputs } => {
                self.custom_backward(operator, inputs, dy);
            }
            Op::CrossEntropy { .. } => self.cross_entropy_backward(op, node, dy),
        }
    }
}
