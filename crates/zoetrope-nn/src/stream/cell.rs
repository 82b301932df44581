//! Recurrent cells that update rows of memory.

use zoetrope_tensor::{
    Activation, GateInput, GruKind, LstmRecurrence, MessageCell, MessageCellKind, Var,
};

use super::message::MessageParts;
use super::options::UpdaterKind;
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// What enters a cell: rows, or two matrices that are the rows side by side.
#[derive(Debug, Clone, Copy)]
pub(super) enum CellInput {
    Whole(Var),
    Pair([Var; 2]),
}

/// Rows of memory, and cell rows if the unit is an LSTM.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellState {
    pub(super) hidden: Var,
    pub(super) cell: Option<Var>,
}

/// PyTorch's `GRUCell`, `RNNCell` (tanh) or `LSTMCell`.
///
/// Parameters for `G` gates, uniform in `±1/√H`: `weight_ih` (`G·H × in`), `weight_hh`
/// (`G·H × H`), `bias_ih`, `bias_hh` (`G·H`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    kind: UpdaterKind,
    hidden: usize,
    input: [ParameterId; 2],
    recurrent: [ParameterId; 2],
}

impl Cell {
    pub(super) fn new(
        builder: &mut Builder<'_>,
        kind: UpdaterKind,
        inputs: usize,
        hidden: usize,
    ) -> Self {
        let gates = match kind {
            UpdaterKind::Gru => 3,
            UpdaterKind::Lstm => 4,
            UpdaterKind::Rnn | UpdaterKind::Transformer => 1,
        };
        let (rows, initialise) = (gates * hidden, Initialise::linear(hidden));
        let input = builder.weight("weight_ih", &[rows, inputs], initialise);
        let recurrent = builder.weight("weight_hh", &[rows, hidden], initialise);
        let input_bias = builder.weight("bias_ih", &[rows], initialise);
        let recurrent_bias = builder.weight("bias_hh", &[rows], initialise);
        Self { kind, hidden, input: [input, input_bias], recurrent: [recurrent, recurrent_bias] }
    }

    /// The states after messages whose parts are given, which begin with the states before, and where
    /// `nothing` the row [`after_nothing`](Self::after_nothing); None if this cell reads whole
    /// rows only.
    pub(super) fn read(
        &self,
        forward: &mut Forward<'_>,
        nothing: bool,
        messages: impl FnOnce(&mut Forward<'_>) -> Result<MessageParts, NnError>,
    ) -> Result<Option<Var>, NnError> {
        let kind = match self.kind {
            UpdaterKind::Gru => MessageCellKind::Gru,
            UpdaterKind::Rnn => MessageCellKind::Rnn,
            UpdaterKind::Lstm | UpdaterKind::Transformer => return Ok(None),
        };
        let MessageParts { pair, features, feature_rows, time } = messages(forward)?;
        let [weight, bias] = self.input.map(|id| forward.parameter(id));
        let [recurrent, own_bias] = self.recurrent.map(|id| forward.parameter(id));
        let (weights, biases) = ([weight, recurrent], [bias, own_bias]);
        let call = MessageCell { kind, pair, features, time, weights, biases, nothing };
        Ok(Some(forward.tape.message_cell(call, &feature_rows)?))
    }

    /// The states after the input.
    pub(super) fn apply(
        &self,
        forward: &mut Forward<'_>,
        input: CellInput,
        state: CellState,
    ) -> Result<CellState, NnError> {
        let [weight, bias] = self.input.map(|id| forward.parameter(id));
        if self.kind == UpdaterKind::Rnn {
            let x = match input {
                CellInput::Whole(x) => x,
                CellInput::Pair(parts) => forward.tape.concat_columns(&parts)?,
            };
            let share = forward.tape.linear(x, weight, Some(bias), Activation::Identity)?;
            return self.gated(forward, share.into(), state);
        }
        let bias = Some(bias);
        let input = match input {
            CellInput::Whole(x) => GateInput::Rows { x, weight, bias },
            CellInput::Pair(x) => GateInput::Pair { x, weight, bias },
        };
        self.gated(forward, input, state)
    }

    /// The one row of states after an input of zeros from a state of zeros.
    pub(super) fn after_nothing(&self, forward: &mut Forward<'_>) -> Result<CellState, NnError> {
        let gates = forward.parameter(self.input[1]);
        let hidden = forward.tape.zeros(1, self.hidden);
        let cell = (self.kind == UpdaterKind::Lstm).then_some(hidden);
        self.gated(forward, gates.into(), CellState { hidden, cell })
    }

    /// The unit, given the input's share of its gates.
    fn gated(
        &self,
        forward: &mut Forward<'_>,
        input: GateInput,
        state: CellState,
    ) -> Result<CellState, NnError> {
        let [weight, bias] = self.recurrent.map(|id| forward.parameter(id));
        let tape = &mut *forward.tape;
        match (self.kind, input, state.cell) {
            (UpdaterKind::Rnn, GateInput::Gates(share), _) => {
                let plus = Some(share);
                let hidden =
                    tape.linear_plus(state.hidden, weight, Some(bias), plus, Activation::Tanh)?;
                Ok(CellState { hidden, cell: None })
            }
            (UpdaterKind::Lstm, _, Some(cell)) => {
                let recurrence = Some(LstmRecurrence { weight, bias: Some(bias) });
                let states = tape.lstm(input, state.hidden, cell, recurrence, None)?;
                Ok(CellState { hidden: states.hidden, cell: Some(states.cell) })
            }
            _ => {
                let kind = GruKind::ResetAfter;
                let hidden = tape.gru(kind, input, state.hidden, weight, Some(bias), None)?;
                Ok(CellState { hidden, cell: None })
            }
        }
    }
}
