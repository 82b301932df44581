//! Long short-term memory over a whole sequence of stacked snapshots.

use super::recurrent::GateInput;
use crate::buffer::Buffer;
use crate::cpu::lstm::{self, LstmCall, LstmGradients, LstmShape};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Tape, Var, expect_shape};

/// What an LSTM leaves.
#[derive(Debug, Clone, Copy)]
pub struct LstmStates {
    /// Hidden states after each snapshot, `T·N × H`.
    pub hidden: Var,
    /// Cell states after the last snapshot, `N × H`.
    pub cell: Var,
}

/// The recurrent share of an LSTM's gates; absent where the caller has put it into the input's
/// share already (models that convolve the hidden state).
#[derive(Debug, Clone, Copy)]
pub struct LstmRecurrence {
    /// `4H × H`, gates i, f, g, o.
    pub weight: Var,
    /// `1 × 4H`.
    pub bias: Option<Var>,
}

fn sequence(input: Shape, state: Shape) -> LstmShape {
    LstmShape { steps: input.rows / state.rows.max(1), vertices: state.rows, hidden: state.cols }
}

impl Tape {
    /// Runs an LSTM over `T` snapshots of `N` vertices each, from `hidden` and `cell` on.
    ///
    /// `input` is the input's share of the gates i, f, g, o (`T·N × 4H`), or rows with their
    /// weight. Where `mask` (`T·N × 1`) is 0 both states of that vertex pass unchanged, whatever
    /// its gates hold.
    ///
    /// # Errors
    /// Where the shapes do not fit, or several steps are asked for without a recurrence.
    pub fn lstm(
        &mut self,
        input: impl Into<GateInput>,
        hidden: Var,
        cell: Var,
        recurrence: Option<LstmRecurrence>,
        mask: Option<Var>,
    ) -> Result<LstmStates, TensorError> {
        let input = input.into();
        let state = self.shape(hidden);
        let shape = sequence(self.shape(input.rows()), state);
        let rows = shape.steps * shape.vertices;
        self.expect_input("lstm", input, rows, 4 * shape.hidden)?;
        expect_shape("lstm", "the cell state", state, self.shape(cell))?;
        let (weight, bias) = (recurrence.map(|r| r.weight), recurrence.and_then(|r| r.bias));
        self.expect_recurrence(shape, weight, bias)?;
        if let Some(mask) = mask {
            expect_shape("lstm", "the mask", Shape::new(rows, 1), self.shape(mask))?;
        }
        // Hidden states above the last cell states: one node with two results, read through
        // aliases.
        let above = rows * shape.hidden;
        let mut y = self.pool.take(above + state.len());
        let op = Op::Lstm { input, hidden, cell, weight, bias, mask };
        let mut saved = self.pool.take(match self.gpu() {
            None => lstm::lstm_saved_len(shape),
            Some(_) => cuda::lstm::saved_len(&self.lstm_call(&op, |var| self.view(var))),
        });
        match self.gpu() {
            None => {
                let call = self.lstm_call(&op, |var| self.value(var));
                let (out_h, out_c) = y.as_mut_slice().split_at_mut(above);
                lstm::lstm_forward(&call, out_h, out_c, saved.as_mut_slice());
            }
            Some(gpu) => {
                let call = self.lstm_call(&op, |var| self.view(var));
                let (out_h, out_c) = y.view_mut().split_at(above);
                cuda::lstm::forward(gpu, &call, out_h, out_c, saved.view_mut());
            }
        }
        let [a, b, c, d] = input.operands();
        let inputs = [a, b, c, d, hidden, cell, weight.unwrap_or(a), bias.unwrap_or(a)];
        let whole = Shape::new(rows + state.rows, shape.hidden);
        let both = self.record(op, whole, y, Some(saved), &inputs);
        Ok(LstmStates {
            hidden: self.alias(both, 0, Shape::new(rows, shape.hidden)),
            cell: self.alias(both, above, state),
        })
    }

    /// The operands of an LSTM as its kernels read them, each given by `read`.
    fn lstm_call<S>(&self, op: &Op, read: impl Fn(Var) -> S) -> LstmCall<S> {
        let Op::Lstm { input, hidden, cell, weight, bias, mask } = *op else { unreachable!() };
        LstmCall {
            shape: sequence(self.shape(input.rows()), self.shape(hidden)),
            input: input.read(&read),
            h0: read(hidden),
            c0: read(cell),
            u: weight.map(&read),
            bias: bias.map(&read),
            mask: mask.map(&read),
        }
    }

    fn expect_recurrence(
        &self,
        shape: LstmShape,
        weight: Option<Var>,
        bias: Option<Var>,
    ) -> Result<(), TensorError> {
        let wide = 4 * shape.hidden;
        match weight {
            Some(weight) => {
                let square = Shape::new(wide, shape.hidden);
                expect_shape("lstm", "the recurrent weight", square, self.shape(weight))?;
            }
            None if shape.steps > 1 => {
                return Err(TensorError::Argument {
                    operator: "lstm",
                    name: "the number of steps",
                    expected: "1 where the recurrent weight is absent",
                    got: shape.steps.to_string(),
                });
            }
            None => {}
        }
        match bias {
            Some(bias) => expect_shape("lstm", "the bias", Shape::new(1, wide), self.shape(bias)),
            None => Ok(()),
        }
    }

    pub(super) fn lstm_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::Lstm { input, hidden, cell, weight, bias, .. } = *op else { unreachable!() };
        let above = self.shape(input.rows()).rows * self.shape(hidden).cols;
        let mut d_input = self.open_input(input);
        let mut d_hidden = self.open(hidden);
        let mut d_cell = self.open(cell);
        let mut d_weight = self.open_optional(weight);
        let mut d_bias = self.open_optional(bias);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        match self.gpu() {
            None => {
                let call = self.lstm_call(op, |var| self.value(var));
                let gradients = LstmGradients {
                    input: d_input.gradient(Opened::slice),
                    h0: d_hidden.as_mut().map(Opened::slice),
                    c0: d_cell.as_mut().map(Opened::slice),
                    u: d_weight.as_mut().map(Opened::slice),
                    bias: d_bias.as_mut().map(Opened::slice),
                };
                let (h, (d_h, d_c)) = (&self.value(node)[..above], dy.as_slice().split_at(above));
                lstm::lstm_backward(&call, h, saved.as_slice(), d_h, Some(d_c), gradients);
            }
            Some(gpu) => {
                let call = self.lstm_call(op, |var| self.view(var));
                let gradients = LstmGradients {
                    input: d_input.gradient(Opened::view),
                    h0: d_hidden.as_mut().map(Opened::view),
                    c0: d_cell.as_mut().map(Opened::view),
                    u: d_weight.as_mut().map(Opened::view),
                    bias: d_bias.as_mut().map(Opened::view),
                };
                let (y, dy) = (self.view(node), dy.view());
                let (h, d_h) = (y.slice(0..above), dy.slice(0..above));
                let d_c = Some(dy.slice(above..dy.len()));
                cuda::lstm::backward(gpu, &call, h, saved.view(), d_h, d_c, gradients);
            }
        }
        let [d_x, d_beside, d_x_weight, d_x_bias] = d_input.into_parts();
        self.close([d_x, d_beside, d_x_weight, d_x_bias, d_hidden, d_cell, d_weight, d_bias]);
    }
}
