//! Layer normalisation (Ba, Kiros and Hinton 2016).

use zoetrope_tensor::Var;

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// Added to variances, PyTorch's default.
const EPSILON: f32 = 1e-5;

/// `(x − mean) / √(variance + ε) ∘ weight + bias` for each row; names as PyTorch's `LayerNorm`.
///
/// Parameters: `weight` (ones), `bias` (zeros).
#[derive(Debug, Clone, Copy)]
pub struct LayerNorm {
    weight: ParameterId,
    bias: ParameterId,
}

impl LayerNorm {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, width: usize) -> Self {
        Self {
            weight: builder.weight("weight", &[width], Initialise::Ones),
            bias: builder.weight("bias", &[width], Initialise::Zeros),
        }
    }

    /// From `rows × width` to the same.
    ///
    /// # Errors
    /// If `x` is not `width` wide.
    pub fn apply(&self, forward: &mut Forward<'_>, x: Var) -> Result<Var, NnError> {
        let (weight, bias) = (forward.parameter(self.weight), forward.parameter(self.bias));
        Ok(forward.tape.layer_norm(x, weight, bias, EPSILON)?)
    }
}
