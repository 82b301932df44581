//! Weight evolution: recurrences over the weights of a layer instead of over vertices.
//!
//! Pareja and others, "EvolveGCN: evolving graph convolutional networks for dynamic graphs", AAAI
//! 2020. The paper evolves the columns of a rectangular `in × out` weight, with a matrix of biases,
//! by an LSTM (-O) or a GRU (-H); PyG-Temporal evolves the rows of a square weight by PyTorch's GRU
//! in both versions. Columns are stored as rows here (`out × in`, the layout of every other layer),
//! so that a column is a vector of the recurrence as it lies in memory.

use zoetrope_tensor::{Activation, Evolution, EvolutionUnit, GruKind, LstmStates, Var};

use super::Gru;
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// PyG-Temporal's evolution: `W' = GRU(input, W)`, rows of the `F × F` weight being the vectors.
///
/// Parameters: `initial_weight` (`1 × F × F`, glorot; `in × out`) and those of
/// `recurrent_layer`, a [`Gru`].
#[derive(Debug, Clone, Copy)]
pub struct RowGru {
    initial: ParameterId,
    gru: Gru,
}

impl RowGru {
    /// Adds the parameters for a square weight.
    pub fn new(builder: &mut Builder<'_>, width: usize) -> Self {
        let initial = builder.weight("initial_weight", &[1, width, width], Initialise::Glorot);
        let gru = Gru::new(&mut builder.child("recurrent_layer"), width, width);
        Self { initial, gru }
    }

    /// The weight before the first step, `in × out`.
    pub fn initial(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.initial)
    }

    /// The weights of the next steps (`steps·in × out`) with the weight itself as input, and the last
    /// one.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn evolve(
        &self,
        forward: &mut Forward<'_>,
        weight: Var,
        steps: usize,
    ) -> Result<LstmStates, NnError> {
        let evolution = self.gru.as_evolution(forward);
        Ok(forward.tape.evolve(weight, evolution, steps)?)
    }

    /// The weight of the next step.
    ///
    /// # Errors
    /// If the input is not as large as the weight.
    pub fn step(&self, forward: &mut Forward<'_>, input: Var, weight: Var) -> Result<Var, NnError> {
        self.gru.run(forward, input, weight, None)
    }
}

/// The parameters that both recurrences over columns have.
#[derive(Debug, Clone, Copy)]
struct Columns {
    initial: ParameterId,
    input: ParameterId,
    recurrent: ParameterId,
    bias: ParameterId,
}

impl Columns {
    fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize, gates: usize) -> Self {
        let rows = gates * inputs;
        let uniform = Initialise::linear(inputs);
        Self {
            initial: builder.weight("initial_weight", &[outputs, inputs], Initialise::Glorot),
            input: builder.weight("weight_ih", &[rows, inputs], uniform),
            recurrent: builder.weight("weight_hh", &[rows, inputs], uniform),
            bias: builder.weight("bias", &[outputs, rows], Initialise::Zeros),
        }
    }

    fn gates(&self, forward: &mut Forward<'_>, input: Var) -> Result<Var, NnError> {
        let weight = forward.parameter(self.input);
        let bias = forward.parameter(self.bias);
        let identity = Activation::Identity;
        Ok(forward.tape.linear_plus(input, weight, None, Some(bias), identity)?)
    }
}

/// The paper's evolution of -O: `W' = LSTM(W)`, the weight being input and hidden state at once.
///
/// Parameters: `initial_weight` (`out × in`), `weight_ih`, `weight_hh` (`4·in × in`), `bias`
/// (`out × 4·in`). The cell state starts from zeros.
#[derive(Debug, Clone, Copy)]
pub struct ColumnLstm {
    columns: Columns,
}

impl ColumnLstm {
    /// Adds the parameters for a weight of these widths.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize) -> Self {
        Self { columns: Columns::new(builder, inputs, outputs, 4) }
    }

    /// The weight before the first step, `out × in`.
    pub fn initial(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.columns.initial)
    }

    /// The weights of the next steps (`steps·out × in`) and the last cell state.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn evolve(
        &self,
        forward: &mut Forward<'_>,
        weight: Var,
        cell: Var,
        steps: usize,
    ) -> Result<LstmStates, NnError> {
        let Columns { input, recurrent, bias, .. } = self.columns;
        let [input_weight, recurrent, bias] =
            [input, recurrent, bias].map(|id| forward.parameter(id));
        let unit = EvolutionUnit::Lstm { cell, bias };
        let evolution = Evolution { input_weight, weight: recurrent, unit };
        Ok(forward.tape.evolve(weight, evolution, steps)?)
    }
}

/// The paper's evolution of -H: `W' = GRU(summary of the vertices, W)` with
/// `n = tanh(W x + U (r∘h) + b)`.
///
/// Parameters: `initial_weight` (`out × in`), `weight_ih`, `weight_hh` (`3·in × in`), `bias`
/// (`out × 3·in`).
#[derive(Debug, Clone, Copy)]
pub struct ColumnGru {
    columns: Columns,
}

impl ColumnGru {
    /// Adds the parameters for a weight of these widths.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize) -> Self {
        Self { columns: Columns::new(builder, inputs, outputs, 3) }
    }

    /// The weight before the first step, `out × in`.
    pub fn initial(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.columns.initial)
    }

    /// The weight of the next step.
    ///
    /// # Errors
    /// If the summary is not as large as the weight.
    pub fn step(
        &self,
        forward: &mut Forward<'_>,
        summary: Var,
        weight: Var,
    ) -> Result<Var, NnError> {
        let gates = self.columns.gates(forward, summary)?;
        let recurrent = forward.parameter(self.columns.recurrent);
        Ok(forward.tape.gru(GruKind::ResetBefore, gates, weight, recurrent, None, None)?)
    }
}
