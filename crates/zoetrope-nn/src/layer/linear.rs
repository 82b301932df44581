//! A linear layer.

use zoetrope_tensor::{Activation, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `activation(x·Wᵀ + b)`; names as PyTorch's `Linear`.
///
/// Parameters, uniform in `±1/√in`: `weight` (`out × in`), `bias` (`out`).
#[derive(Debug, Clone, Copy)]
pub struct Linear {
    weight: ParameterId,
    bias: ParameterId,
}

impl Linear {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize) -> Self {
        let initialise = Initialise::linear(inputs);
        Self {
            weight: builder.weight("weight", &[outputs, inputs], initialise),
            bias: builder.weight("bias", &[outputs], initialise),
        }
    }

    /// The weight on the tape, `out × in`.
    pub fn weight(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.weight)
    }

    /// The bias on the tape, `1 × out`.
    pub fn bias(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.bias)
    }

    /// From `rows × in` to `rows × out`.
    ///
    /// # Errors
    /// If `x` is not `in` wide.
    pub fn apply(
        &self,
        forward: &mut Forward<'_>,
        x: Var,
        activation: Activation,
    ) -> Result<Var, NnError> {
        let (weight, bias) = (self.weight(forward), self.bias(forward));
        Ok(forward.tape.linear(x, weight, Some(bias), activation)?)
    }
}
