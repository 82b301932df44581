//! Long short-term memory over the sequence of each vertex (Hochreiter and Schmidhuber 1997).

use zoetrope_tensor::{GateInput, LstmRecurrence, Var};

use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Recurrence;
use crate::parameters::Builder;
use crate::state::State;

/// `i, f, o = σ(W x + U h + b)`, `g = tanh(W x + U h + b)`, `c' = f∘c + i∘g`, `h' = o∘tanh(c')`;
/// names as PyTorch's `LSTM` with one layer.
///
/// From `T·N × in` to `T·N × H`. Parameters: those of a [`Recurrence`] of four gates. Carries hidden
/// and cell state.
#[derive(Debug, Clone, Copy)]
pub struct Lstm {
    recurrence: Recurrence,
    hidden: usize,
}

impl Lstm {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, hidden: usize) -> Self {
        Self { recurrence: Recurrence::new(builder, 4, inputs, hidden), hidden }
    }

    /// [`TimeEncoder::encode`] of rows that are two matrices side by side.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn encode_pair(
        &self,
        forward: &mut Forward<'_>,
        pair: [Var; 2],
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let input = self.recurrence.pair(forward, pair);
        self.run(forward, input, sequence, state, place)
    }

    /// The hidden states after each step; what is carried lies from `place` on.
    fn run(
        &self,
        forward: &mut Forward<'_>,
        input: GateInput,
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let Sequence { steps, vertices, mask, .. } = sequence;
        let hidden = state.or_zeros(place, forward.tape, vertices, self.hidden);
        let cell = state.or_zeros(place + 1, forward.tape, vertices, self.hidden);
        let [weight, bias] = self.recurrence.recurrent(forward);
        let recurrence = LstmRecurrence { weight, bias: Some(bias) };
        let states = forward.tape.lstm(input, hidden, cell, Some(recurrence), mask)?;
        let last = (steps - 1) * vertices..steps * vertices;
        state.set(place, forward.tape.rows(states.hidden, last)?);
        state.set(place + 1, states.cell);
        Ok(states.hidden)
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
        let input = self.recurrence.input(forward, sequence.rows);
        self.run(forward, input, sequence, state, place)
    }
}
