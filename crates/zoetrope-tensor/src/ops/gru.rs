//! Gated recurrent units over a whole sequence of stacked snapshots.

use super::recurrent::GateInput;
use crate::buffer::Buffer;
use crate::cpu::gru::{self, GruCall, GruGradients, GruKind, GruShape};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

fn sequence(input: Shape, state: Shape) -> GruShape {
    GruShape { steps: input.rows / state.rows.max(1), vertices: state.rows, hidden: state.cols }
}

impl Tape {
    /// Runs a GRU over `T` snapshots of `N` vertices each, from `state` on.
    ///
    /// `input` is the input's share of the gates r, z, n (`T·N × 3H`), or rows with their weight;
    /// `weight` (`3H × H`) and `bias` (`1 × 3H`) are the recurrent share. Where `mask` (`T·N × 1`)
    /// is 0 the state of that vertex passes unchanged, whatever its gates hold. Returns the states
    /// after each snapshot, `T·N × H`.
    ///
    /// # Errors
    /// Where the shapes do not fit.
    pub fn gru(
        &mut self,
        kind: GruKind,
        input: impl Into<GateInput>,
        state: Var,
        weight: Var,
        bias: Option<Var>,
        mask: Option<Var>,
    ) -> Result<Var, TensorError> {
        let input = input.into();
        let shape = sequence(self.shape(input.rows()), self.shape(state));
        let (rows, wide) = (shape.steps * shape.vertices, 3 * shape.hidden);
        self.expect_input("gru", input, rows, wide)?;
        let square = Shape::new(wide, shape.hidden);
        expect_shape("gru", "the recurrent weight", square, self.shape(weight))?;
        if let Some(bias) = bias {
            expect_shape("gru", "the bias", Shape::new(1, wide), self.shape(bias))?;
        }
        if let Some(mask) = mask {
            expect_shape("gru", "the mask", Shape::new(rows, 1), self.shape(mask))?;
        }
        let mut y = self.pool.take(rows * shape.hidden);
        let mut saved = self.pool.take(gru::gru_saved_len(kind, shape));
        let op = Op::Gru { kind, input, state, weight, bias, mask };
        gru::gru_forward(&self.gru_call(&op), y.as_mut_slice(), saved.as_mut_slice());
        let [a, b, c, d] = input.operands();
        let inputs = [a, b, c, d, state, weight, bias.unwrap_or(weight)];
        Ok(self.record(op, Shape::new(rows, shape.hidden), y, Some(saved), &inputs))
    }

    /// The operands of a GRU as its kernels read them.
    fn gru_call(&self, op: &Op) -> GruCall<'_> {
        let Op::Gru { kind, input, state, weight, bias, mask } = *op else { unreachable!() };
        GruCall {
            kind,
            shape: sequence(self.shape(input.rows()), self.shape(state)),
            input: self.gate_input(input),
            h0: self.value(state),
            u: self.value(weight),
            bias: bias.map(|bias| self.value(bias)),
            mask: mask.map(|mask| self.value(mask)),
        }
    }

    pub(super) fn gru_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::Gru { input, state, weight, bias, .. } = *op else { unreachable!() };
        let mut d_input = self.open_input(input);
        let mut d_state = self.open(state);
        let mut d_weight = self.open(weight);
        let mut d_bias = self.open_optional(bias);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        gru::gru_backward(
            &self.gru_call(op),
            self.value(node),
            saved.as_slice(),
            dy.as_slice(),
            GruGradients {
                input: d_input.gradient(),
                h0: d_state.as_mut().map(|d| d.slice()),
                u: d_weight.as_mut().map(|d| d.slice()),
                bias: d_bias.as_mut().map(|d| d.slice()),
            },
        );
        let [d_x, d_beside, d_x_weight, d_x_bias] = d_input.into_parts();
        self.close([d_x, d_beside, d_x_weight, d_x_bias, d_state, d_weight, d_bias]);
    }
}
