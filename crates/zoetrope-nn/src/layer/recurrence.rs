//! The parameters of a recurrent layer as PyTorch names them.

use zoetrope_tensor::{Evolution, EvolutionUnit, GateInput, Var};

use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// The input's and the recurrent share of the gates of a GRU or an LSTM with one layer.
///
/// Parameters, uniform in `±1/√H`, `G` being the number of gates: `weight_ih_l0` (`G·H × in`),
/// `weight_hh_l0` (`G·H × H`), `bias_ih_l0`, `bias_hh_l0` (`G·H`).
#[derive(Debug, Clone, Copy)]
pub struct Recurrence {
    input: [ParameterId; 2],
    recurrent: [ParameterId; 2],
}

impl Recurrence {
    /// Adds the parameters.
    pub fn new(builder: &mut Builder<'_>, gates: usize, inputs: usize, hidden: usize) -> Self {
        let initialise = Initialise::linear(hidden);
        let rows = gates * hidden;
        let input = builder.weight("weight_ih_l0", &[rows, inputs], initialise);
        let recurrent = builder.weight("weight_hh_l0", &[rows, hidden], initialise);
        let input_bias = builder.weight("bias_ih_l0", &[rows], initialise);
        let recurrent_bias = builder.weight("bias_hh_l0", &[rows], initialise);
        Self { input: [input, input_bias], recurrent: [recurrent, recurrent_bias] }
    }

    /// The input's share of the gates of rows `x`.
    pub fn input(&self, forward: &mut Forward<'_>, x: Var) -> GateInput {
        let [weight, bias] = self.input.map(|id| forward.parameter(id));
        GateInput::Rows { x, weight, bias: Some(bias) }
    }

    /// The same of two matrices side by side.
    pub fn pair(&self, forward: &mut Forward<'_>, x: [Var; 2]) -> GateInput {
        let [weight, bias] = self.input.map(|id| forward.parameter(id));
        GateInput::Pair { x, weight, bias: Some(bias) }
    }

    /// A GRU's parameters, as those of one whose input is its own state.
    pub fn as_evolution(&self, forward: &mut Forward<'_>) -> Evolution {
        let [input_weight, input_bias] = self.input.map(|id| forward.parameter(id));
        let [weight, bias] = self.recurrent(forward);
        Evolution { input_weight, weight, unit: EvolutionUnit::Gru { input_bias, bias } }
    }

    /// Weight and bias of the recurrent share.
    pub fn recurrent(&self, forward: &mut Forward<'_>) -> [Var; 2] {
        self.recurrent.map(|id| forward.parameter(id))
    }
}
