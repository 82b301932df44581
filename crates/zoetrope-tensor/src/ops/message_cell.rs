//! A recurrent cell that reads messages made of states, features of events and encodings of time.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::matmul::MatRef;
use crate::cpu::message_cell::{
    MessageCall, MessageCellKind, MessageGradients, message_cell_backward, message_cell_forward,
};
use crate::cuda::{self, message_cell as on_gpu};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::ops::gather::expect_rows;
use crate::ops::recurrent::lent_by;
use crate::tape::{Op, Opened, Tape, Var, expect_shape};

const NAME: &str = "message_cell";

/// Operands of [`Tape::message_cell`], for `N` vertices and states of width `H`.
///
/// The message of a vertex is `[s, o, e, φ]`.
#[derive(Debug, Clone, Copy)]
pub struct MessageCell {
    /// Which cell: `G` is 3 for a GRU, 1 for an RNN.
    pub kind: MessageCellKind,
    /// `[s, o]`, the own state and another one: `N × (H + O)`; no gradient flows into them.
    pub pair: Var,
    /// Distinct features `e`, `E × F`; no gradient flows into them.
    pub features: Option<Var>,
    /// The encodings φ, `N × T`.
    pub time: Var,
    /// Weight of the message, `G·H × (H + O + F + T)`, and of the state, `G·H × H`.
    pub weights: [Var; 2],
    /// Bias of each, `1 × G·H`.
    pub biases: [Var; 2],
    /// Whether one more row follows: the state after a message of zeros from a state of zeros.
    pub nothing: bool,
}

impl Tape {
    /// The states after the messages, `N × H`, or a row more if that is asked for.
    ///
    /// `feature_rows` has the row of its features for each vertex, and is not read without any. The
    /// result is that of the cell on rows `[s, o, e, φ]` from the state `s`, up to rounding.
    ///
    /// # Errors
    /// If the shapes do not fit each other, or a row of features is out of range.
    pub fn message_cell(
        &mut self,
        call: MessageCell,
        feature_rows: &Arc<Vec<u32>>,
    ) -> Result<Var, TensorError> {
        self.expect_messages(&call, feature_rows)?;
        let (pair, time) = (self.shape(call.pair), self.shape(call.time));
        let hidden = self.shape(call.weights[1]).cols;
        let shape = Shape::new(pair.rows + usize::from(call.nothing), hidden);
        let kept = shape.rows * (pair.cols + time.cols + call.kind.planes() * hidden);
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(kept);
        match self.gpu() {
            None => {
                let kernel = self.message_call(&call, feature_rows);
                message_cell_forward(&kernel, y.as_mut_slice(), saved.as_mut_slice());
            }
            Some(gpu) => {
                let kernel = self.message_call_on_gpu(&call, feature_rows);
                let (y, saved) = (y.view_mut(), saved.view_mut());
                on_gpu::message_cell_forward(gpu, &kernel, y, saved);
            }
        }
        let [weight, recurrent] = call.weights;
        let inputs = [call.time, weight, recurrent, call.biases[0], call.biases[1]];
        let op = Op::MessageCell { call, feature_rows: Arc::clone(feature_rows) };
        Ok(self.record(op, shape, y, Some(saved), &inputs))
    }

    fn expect_messages(&self, call: &MessageCell, rows: &[u32]) -> Result<(), TensorError> {
        let [weight, recurrent] = call.weights;
        let (pair, time, hidden) =
            (self.shape(call.pair), self.shape(call.time), self.shape(recurrent).cols);
        let wide = call.kind.gates() * hidden;
        expect_shape(
            NAME,
            "the weight of states",
            Shape::new(wide, hidden),
            self.shape(recurrent),
        )?;
        if pair.cols < hidden {
            let expected = Shape::new(pair.rows, hidden);
            expect_shape(NAME, "the pairs of states", expected, pair)?;
        }
        expect_shape(NAME, "the encodings", Shape::new(pair.rows, time.cols), time)?;
        let mut inner = pair.cols + time.cols;
        if let Some(features) = call.features {
            let features = self.shape(features);
            inner += features.cols;
            let expected = Shape::new(pair.rows, 1);
            expect_shape(NAME, "the rows of features", expected, Shape::new(rows.len(), 1))?;
            expect_rows(NAME, rows, features.rows)?;
        }
        expect_shape(NAME, "the weight of messages", Shape::new(wide, inner), self.shape(weight))?;
        for bias in call.biases {
            expect_shape(NAME, "the bias", Shape::new(1, wide), self.shape(bias))?;
        }
        Ok(())
    }

    /// The operands as the kernels of the processor read them.
    fn message_call<'a>(&'a self, call: &MessageCell, rows: &'a [u32]) -> MessageCall<'a> {
        let matrix = |var: Var| {
            let shape = self.shape(var);
            MatRef::new(self.value(var), shape.rows, shape.cols)
        };
        MessageCall {
            kind: call.kind,
            hidden: self.shape(call.weights[1]).cols,
            pair: matrix(call.pair),
            time: matrix(call.time),
            features: call.features.map(|features| (matrix(features), rows)),
            weight: self.value(call.weights[0]),
            recurrent: self.value(call.weights[1]),
            biases: call.biases.map(|bias| self.value(bias)),
            nothing: call.nothing,
        }
    }

    /// The same for those of a GPU.
    fn message_call_on_gpu<'a>(
        &'a self,
        call: &MessageCell,
        rows: &'a Arc<Vec<u32>>,
    ) -> on_gpu::MessageCall<'a> {
        let matrix = |var: Var| {
            let shape = self.shape(var);
            cuda::matmul::MatRef::new(self.view(var), shape.rows, shape.cols)
        };
        on_gpu::MessageCall {
            kind: call.kind,
            hidden: self.shape(call.weights[1]).cols,
            pair: matrix(call.pair),
            time: matrix(call.time),
            features: call.features.map(|features| (matrix(features), rows)),
            weight: self.view(call.weights[0]),
            recurrent: self.view(call.weights[1]),
            biases: call.biases.map(|bias| self.view(bias)),
            nothing: call.nothing,
        }
    }

    pub(super) fn message_cell_backward(
        &mut self,
        call: &MessageCell,
        rows: &Arc<Vec<u32>>,
        node: Var,
        dy: &Buffer,
    ) {
        let mut d_time = self.open_to_overwrite(call.time);
        let mut d_weight = self.open(call.weights[0]);
        let mut d_recurrent = self.open(call.weights[1]);
        let mut d_bias = self.open(call.biases[0]);
        let mut d_own_bias = self.open(call.biases[1]);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        let biases = [&mut d_bias, &mut d_own_bias];
        match self.gpu() {
            None => {
                let kernel = self.message_call(call, rows);
                let gradients = MessageGradients {
                    time: lent_by(&mut d_time, Opened::slice),
                    weight: d_weight.as_mut().map(Opened::slice),
                    recurrent: d_recurrent.as_mut().map(Opened::slice),
                    biases: biases.map(|d| d.as_mut().map(Opened::slice)),
                };
                let (y, dy) = (self.value(node), dy.as_slice());
                message_cell_backward(&kernel, y, saved.as_slice(), dy, gradients);
            }
            Some(gpu) => {
                let kernel = self.message_call_on_gpu(call, rows);
                let gradients = MessageGradients {
                    time: lent_by(&mut d_time, Opened::view),
                    weight: d_weight.as_mut().map(Opened::view),
                    recurrent: d_recurrent.as_mut().map(Opened::view),
                    biases: biases.map(|d| d.as_mut().map(Opened::view)),
                };
                let (y, dy) = (self.view(node), dy.view());
                on_gpu::message_cell_backward(gpu, &kernel, y, saved.view(), dy, gradients);
            }
        }
        self.close([d_time, d_weight, d_recurrent, d_bias, d_own_bias]);
    }
}
