//! Heads that answer for each vertex.

use zoetrope_tensor::Var;

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// Which head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VertexRule {
    /// `relu(h)·Wᵀ + b`, as in the examples of PyG-Temporal; parameters under `linear.`.
    Linear,
    /// `relu(relu(h)·W₁ᵀ + b₁)·W₂ᵀ + b₂`; parameters under `decoder.0.` and `decoder.2.`.
    Mlp,
}

/// One or two linear layers.
#[derive(Debug)]
pub struct VertexDecoder {
    layers: Vec<[ParameterId; 2]>,
    outputs: usize,
}

impl VertexDecoder {
    /// A head from embeddings of `width` to `outputs` numbers.
    pub fn new(builder: &mut Builder<'_>, rule: VertexRule, width: usize, outputs: usize) -> Self {
        let layers = match rule {
            VertexRule::Linear => vec![linear(&mut builder.child("linear"), width, outputs)],
            VertexRule::Mlp => vec![
                linear(&mut builder.child("decoder.0"), width, width),
                linear(&mut builder.child("decoder.2"), width, outputs),
            ],
        };
        Self { layers, outputs }
    }

    /// The numbers for each vertex.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// From `rows × width` to `rows × outputs`.
    ///
    /// # Errors
    /// Where the embeddings have another width.
    pub fn decode(&self, forward: &mut Forward<'_>, embeddings: Var) -> Result<Var, NnError> {
        let mut x = embeddings;
        for &[weight, bias] in &self.layers {
            let (weight, bias) = (forward.parameter(weight), forward.parameter(bias));
            x = forward.tape.readout(x, weight, bias)?;
        }
        Ok(x)
    }
}

/// Weight and bias of a linear layer, drawn as PyTorch draws them.
pub(super) fn linear(builder: &mut Builder<'_>, inputs: usize, outputs: usize) -> [ParameterId; 2] {
    let initialise = Initialise::linear(inputs);
    [
        builder.weight("weight", &[outputs, inputs], initialise),
        builder.weight("bias", &[outputs], initialise),
    ]
}
