//! Gated recurrent units over a whole sequence of stacked snapshots.

use super::recurrent::GateInput;
use crate::buffer::Buffer;
use crate::cpu::gru::{self, GruCall, GruGradients, GruKind, GruShape};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Tape, Var, expect_shape};

fn sequence(input: Shape, state: Shape) -> GruShape {
    let steps = input.rows / state.rows.max(1);
    GruShape { steps, vertices: state.rows, hidden: state.cols, whole: state.rows }
}

impl Tape {
    /// Runs a GRU over `T` snapshots of `N` vertices each, from `state` on.
    ///
    /// `input` is the input's share of the gates r, z, n (`T·N × 3H`), or rows with their weight;
    /// `weight` (`3H × H`) and `bias` (`1 × 3H`) are the recurrent share. If `mask` (`T·N × 1`)
    /// is 0 the state of that vertex passes unchanged, whatever its gates hold. Returns the states
    /// after each snapshot, `T·N × H`.
    ///
    /// # Errors
    /// If the shapes do not fit.
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
        let [a, b, c, d] = input.operands();
        let inputs = [a, b, c, d, state, weight, bias.unwrap_or(weight)];
        let goes_back = inputs.iter().any(|&input| self.needs_gradient(input));
        let mut y = self.pool.take(rows * shape.hidden);
        let op = Op::Gru { kind, input, state, weight, bias, mask };
        let mut saved = self.pool.take(match self.gpu() {
            None if goes_back => gru::gru_saved_len(kind, shape),
            None => 0,
            Some(_) => cuda::gru::saved_len(&self.gru_call(&op, |var| self.view(var))),
        });
        match self.gpu() {
            None => {
                let call = self.gru_call(&op, |var| self.value(var));
                gru::gru_forward(&call, y.as_mut_slice(), saved.as_mut_slice());
            }
            Some(gpu) => {
                let call = self.gru_call(&op, |var| self.view(var));
                cuda::gru::forward(gpu, &call, y.view_mut(), saved.view_mut());
            }
        }
        Ok(self.record(op, Shape::new(rows, shape.hidden), y, Some(saved), &inputs))
    }

    /// The operands of a GRU as its kernels read them, each given by `read`.
    fn gru_call<S>(&self, op: &Op, read: impl Fn(Var) -> S) -> GruCall<S> {
        let Op::Gru { kind, input, state, weight, bias, mask } = *op else { unreachable!() };
        GruCall {
            kind,
            shape: sequence(self.shape(input.rows()), self.shape(state)),
            input: input.read(&read),
            h0: read(state),
            u: read(weight),
            bias: bias.map(&read),
            mask: mask.map(&read),
        }
    }

    pub(super) fn gru_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::Gru { input, state, weight, bias, .. } = *op else { unreachable!() };
        let mut d_input = self.open_input(input);
        let mut d_state = self.open(state);
        let mut d_weight = self.open(weight);
        let mut d_bias = self.open_optional(bias);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        match self.gpu() {
            None => {
                let call = self.gru_call(op, |var| self.value(var));
                let gradients = GruGradients {
                    input: d_input.gradient(Opened::slice),
                    h0: d_state.as_mut().map(Opened::slice),
                    u: d_weight.as_mut().map(Opened::slice),
                    bias: d_bias.as_mut().map(Opened::slice),
                };
                let (y, dy) = (self.value(node), dy.as_slice());
                gru::gru_backward(&call, y, saved.as_slice(), dy, gradients);
            }
            Some(gpu) => {
                let call = self.gru_call(op, |var| self.view(var));
                let gradients = GruGradients {
                    input: d_input.gradient(Opened::view),
                    h0: d_state.as_mut().map(Opened::view),
                    u: d_weight.as_mut().map(Opened::view),
                    bias: d_bias.as_mut().map(Opened::view),
                };
                let y = self.view(node);
                cuda::gru::backward(gpu, &call, y, saved.view(), dy.view(), gradients);
            }
        }
        let [d_x, d_beside, d_x_weight, d_x_bias] = d_input.into_parts();
        self.close([d_x, d_beside, d_x_weight, d_x_bias, d_state, d_weight, d_bias]);
    }
}
