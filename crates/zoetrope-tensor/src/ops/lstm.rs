//! Long short-term memory over a whole sequence of stacked snapshots.

use crate::cpu::lstm::{self, LstmShape};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

/// The states after each snapshot.
#[derive(Debug, Clone, Copy)]
pub struct LstmStates {
    /// Hidden states, `T·N × H`.
    pub hidden: Var,
    /// Cell states, `T·N × H`.
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

fn sequence(gates: Shape, state: Shape) -> LstmShape {
    LstmShape { steps: gates.rows / state.rows.max(1), vertices: state.rows, hidden: state.cols }
}

impl Tape {
    /// Runs an LSTM over `T` snapshots of `N` vertices each, from `hidden` and `cell` on.
    ///
    /// `gates` (`T·N × 4H`) is the input's share of the gates i, f, g, o. Where `mask`
    /// (`T·N × 1`) is 0 both states of that vertex pass unchanged, whatever its gates hold.
    ///
    /// # Errors
    /// Where the shapes do not fit, or several steps are asked for without a recurrence.
    pub fn lstm(
        &mut self,
        gates: Var,
        hidden: Var,
        cell: Var,
        recurrence: Option<LstmRecurrence>,
        mask: Option<Var>,
    ) -> Result<LstmStates, TensorError> {
        let (input, state) = (self.shape(gates), self.shape(hidden));
        let shape = sequence(input, state);
        let rows = shape.steps * shape.vertices;
        expect_shape("lstm", "the input's share", Shape::new(rows, 4 * shape.hidden), input)?;
        expect_shape("lstm", "the cell state", state, self.shape(cell))?;
        let (weight, bias) = (recurrence.map(|r| r.weight), recurrence.and_then(|r| r.bias));
        self.expect_recurrence(shape, weight, bias)?;
        if let Some(mask) = mask {
            expect_shape("lstm", "the mask", Shape::new(rows, 1), self.shape(mask))?;
        }
        // Hidden states above cell states: one node with two results, read through aliases.
        let half = rows * shape.hidden;
        let mut y = self.pool.take(2 * half);
        let mut saved = self.pool.take(lstm::lstm_saved_len(shape));
        let (out_h, out_c) = y.as_mut_slice().split_at_mut(half);
        lstm::lstm_forward(
            shape,
            self.value(gates),
            self.value(hidden),
            self.value(cell),
            weight.map(|weight| self.value(weight)),
            bias.map(|bias| self.value(bias)),
            mask.map(|mask| self.value(mask)),
            out_h,
            out_c,
            saved.as_mut_slice(),
        );
        let inputs = [gates, hidden, cell, weight.unwrap_or(gates), bias.unwrap_or(gates)];
        let op = Op::Lstm { gates, hidden, cell, weight, bias, mask };
        let both = self.record(op, Shape::new(2 * rows, shape.hidden), y, Some(saved), &inputs);
        Ok(LstmStates {
            hidden: self.alias(both, 0, Shape::new(rows, shape.hidden)),
            cell: self.alias(both, half, Shape::new(rows, shape.hidden)),
        })
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

    pub(super) fn lstm_backward(&mut self, op: &Op, node: Var, dy: &[f32]) {
        let Op::Lstm { gates, hidden, cell, weight, bias, mask } = *op else { unreachable!() };
        let shape = sequence(self.shape(gates), self.shape(hidden));
        let half = shape.steps * shape.vertices * shape.hidden;
        let mut d_gates = self.open(gates);
        let mut d_hidden = self.open(hidden);
        let mut d_cell = self.open(cell);
        let mut d_weight = self.open_optional(weight);
        let mut d_bias = self.open_optional(bias);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        let (out_h, out_c) = self.value(node).split_at(half);
        let (d_out_h, d_out_c) = dy.split_at(half);
        lstm::lstm_backward(
            shape,
            self.value(hidden),
            self.value(cell),
            weight.map(|weight| self.value(weight)),
            mask.map(|mask| self.value(mask)),
            out_h,
            out_c,
            saved.as_slice(),
            d_out_h,
            Some(d_out_c),
            d_gates.as_mut().map(|d| d.slice()),
            d_hidden.as_mut().map(|d| d.slice()),
            d_cell.as_mut().map(|d| d.slice()),
            d_weight.as_mut().map(|d| d.slice()),
            d_bias.as_mut().map(|d| d.slice()),
        );
        self.close([d_gates, d_hidden, d_cell, d_weight, d_bias]);
    }
}
