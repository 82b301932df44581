//! A gated recurrent unit over the sequence of each vertex (Cho and others, EMNLP 2014).

use zoetrope_tensor::{Activation, GruKind, Var};

use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::state::State;

/// `r, z = σ(W x + b + U h + c)`, `n = tanh(W x + b + r∘(U h + c))`, `h' = (1−z)∘n + z∘h`; names as
/// PyTorch's `GRU` with one layer.
///
/// From `T·N × in` to `T·N × H`. Parameters, uniform in `±1/√H`: `weight_ih_l0` (`3H × in`),
/// `weight_hh_l0` (`3H × H`), `bias_ih_l0`, `bias_hh_l0` (`3H`).
#[derive(Debug, Clone, Copy)]
pub struct Gru {
    input: ParameterId,
    recurrent: ParameterId,
    input_bias: ParameterId,
    recurrent_bias: ParameterId,
    hidden: usize,
}

impl Gru {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, hidden: usize) -> Self {
        let initialise = Initialise::linear(hidden);
        Self {
            input: builder.weight("weight_ih_l0", &[3 * hidden, inputs], initialise),
            recurrent: builder.weight("weight_hh_l0", &[3 * hidden, hidden], initialise),
            input_bias: builder.weight("bias_ih_l0", &[3 * hidden], initialise),
            recurrent_bias: builder.weight("bias_hh_l0", &[3 * hidden], initialise),
            hidden,
        }
    }

    /// The states after each step, from `state` (`N × H`) on.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn run(
        &self,
        forward: &mut Forward<'_>,
        x: Var,
        state: Var,
        mask: Option<Var>,
    ) -> Result<Var, NnError> {
        let input = forward.parameter(self.input);
        let input_bias = forward.parameter(self.input_bias);
        let recurrent = forward.parameter(self.recurrent);
        let bias = forward.parameter(self.recurrent_bias);
        let tape = &mut *forward.tape;
        let gates = tape.linear(x, input, Some(input_bias), Activation::Identity)?;
        Ok(tape.gru(GruKind::ResetAfter, gates, state, recurrent, Some(bias), mask)?)
    }
}

impl TimeEncoder for Gru {
    fn width(&self) -> usize {
        self.hidden
    }

    fn carried(&self) -> usize {
        1
    }

    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let Sequence { rows, steps, vertices, mask } = sequence;
        let first = state.or_zeros(place, forward.tape, vertices, self.hidden);
        let states = self.run(forward, rows, first, mask)?;
        state.set(place, forward.tape.rows(states, (steps - 1) * vertices..steps * vertices)?);
        Ok(states)
    }
}
