//! Long short-term memory over the sequence of each vertex (Hochreiter and Schmidhuber 1997).

use zoetrope_tensor::{Activation, LstmRecurrence, LstmStates, Var};

use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::state::State;

/// `i, f, o = σ(W x + U h + b)`, `g = tanh(W x + U h + b)`, `c' = f∘c + i∘g`, `h' = o∘tanh(c')`;
/// names as PyTorch's `LSTM` with one layer.
///
/// From `T·N × in` to `T·N × H`. Parameters, uniform in `±1/√H`: `weight_ih_l0` (`4H × in`),
/// `weight_hh_l0` (`4H × H`), `bias_ih_l0`, `bias_hh_l0` (`4H`). Carries hidden and cell state.
#[derive(Debug, Clone, Copy)]
pub struct Lstm {
    input: ParameterId,
    recurrent: ParameterId,
    input_bias: ParameterId,
    recurrent_bias: ParameterId,
    hidden: usize,
}

impl Lstm {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, hidden: usize) -> Self {
        let initialise = Initialise::linear(hidden);
        Self {
            input: builder.weight("weight_ih_l0", &[4 * hidden, inputs], initialise),
            recurrent: builder.weight("weight_hh_l0", &[4 * hidden, hidden], initialise),
            input_bias: builder.weight("bias_ih_l0", &[4 * hidden], initialise),
            recurrent_bias: builder.weight("bias_hh_l0", &[4 * hidden], initialise),
            hidden,
        }
    }

    /// The states after each step, from `hidden` and `cell` (`N × H`) on.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn run(
        &self,
        forward: &mut Forward<'_>,
        x: Var,
        [hidden, cell]: [Var; 2],
        mask: Option<Var>,
    ) -> Result<LstmStates, NnError> {
        let input = forward.parameter(self.input);
        let input_bias = forward.parameter(self.input_bias);
        let weight = forward.parameter(self.recurrent);
        let bias = Some(forward.parameter(self.recurrent_bias));
        let tape = &mut *forward.tape;
        let gates = tape.linear(x, input, Some(input_bias), Activation::Identity)?;
        Ok(tape.lstm(gates, hidden, cell, Some(LstmRecurrence { weight, bias }), mask)?)
    }
}

impl TimeEncoder for Lstm {
    fn width(&self) -> usize {
        self.hidden
    }

    fn carried(&self) -> usize {
        2
    }

    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let Sequence { rows, steps, vertices, mask } = sequence;
        let hidden = state.or_zeros(place, forward.tape, vertices, self.hidden);
        let cell = state.or_zeros(place + 1, forward.tape, vertices, self.hidden);
        let states = self.run(forward, rows, [hidden, cell], mask)?;
        let last = (steps - 1) * vertices..steps * vertices;
        state.set(place, forward.tape.rows(states.hidden, last.clone())?);
        state.set(place + 1, forward.tape.rows(states.cell, last)?);
        Ok(states.hidden)
    }
}
