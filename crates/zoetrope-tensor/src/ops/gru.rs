//! Gated recurrent units over a whole sequence of stacked snapshots.

use crate::cpu::gru::{self, GruKind, GruShape};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

fn sequence(gates: Shape, state: Shape) -> GruShape {
    GruShape { steps: gates.rows / state.rows.max(1), vertices: state.rows, hidden: state.cols }
}

impl Tape {
    /// Runs a GRU over `T` snapshots of `N` vertices each, from `state` on.
    ///
    /// `gates` (`T·N × 3H`) is the input's share of the gates r, z, n; `weight` (`3H × H`) and
    /// `bias` (`1 × 3H`) are the recurrent share. Where `mask` (`T·N × 1`) is 0 the state of that
    /// vertex passes unchanged, whatever its gates hold. Returns the states after each snapshot, `T·N × H`.
    ///
    /// # Errors
    /// Where the shapes do not fit.
    pub fn gru(
        &mut self,
        kind: GruKind,
        gates: Var,
        state: Var,
        weight: Var,
        bias: Option<Var>,
        mask: Option<Var>,
    ) -> Result<Var, TensorError> {
        let (input, hidden) = (self.shape(gates), self.shape(state));
        let shape = sequence(input, hidden);
        let rows = shape.steps * shape.vertices;
        expect_shape("gru", "the input's share", Shape::new(rows, 3 * shape.hidden), input)?;
        let square = Shape::new(3 * shape.hidden, shape.hidden);
        expect_shape("gru", "the recurrent weight", square, self.shape(weight))?;
        if let Some(bias) = bias {
            expect_shape("gru", "the bias", Shape::new(1, 3 * shape.hidden), self.shape(bias))?;
        }
        if let Some(mask) = mask {
            expect_shape("gru", "the mask", Shape::new(rows, 1), self.shape(mask))?;
        }
        let mut y = self.pool.take(rows * shape.hidden);
        let mut saved = self.pool.take(gru::gru_saved_len(kind, shape));
        gru::gru_forward(
            kind,
            shape,
            self.value(gates),
            self.value(state),
            self.value(weight),
            bias.map(|bias| self.value(bias)),
            mask.map(|mask| self.value(mask)),
            y.as_mut_slice(),
            saved.as_mut_slice(),
        );
        let inputs = [gates, state, weight, bias.unwrap_or(weight)];
        let op = Op::Gru { kind, gates, state, weight, bias, mask };
        Ok(self.record(op, Shape::new(rows, shape.hidden), y, Some(saved), &inputs))
    }

    pub(super) fn gru_backward(&mut self, op: &Op, node: Var, dy: &[f32]) {
        let Op::Gru { kind, gates, state, weight, bias, mask } = *op else { unreachable!() };
        let shape = sequence(self.shape(gates), self.shape(state));
        let mut d_gates = self.open(gates);
        let mut d_state = self.open(state);
        let mut d_weight = self.open(weight);
        let mut d_bias = self.open_optional(bias);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        gru::gru_backward(
            kind,
            shape,
            self.value(state),
            self.value(weight),
            mask.map(|mask| self.value(mask)),
            self.value(node),
            saved.as_slice(),
            dy,
            d_gates.as_mut().map(|d| d.slice()),
            d_state.as_mut().map(|d| d.slice()),
            d_weight.as_mut().map(|d| d.slice()),
            d_bias.as_mut().map(|d| d.slice()),
        );
        self.close([d_gates, d_state, d_weight, d_bias]);
    }
}
