//! Heads that answer for each vertex.

use zoetrope_tensor::{Activation, Var};

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
    width: usize,
    /// The features that come with a question.
    features: usize,
    outputs: usize,
}

impl VertexDecoder {
    /// A head from embeddings of `width` to `outputs` numbers.
    pub fn new(builder: &mut Builder<'_>, rule: VertexRule, width: usize, outputs: usize) -> Self {
        Self::with_features(builder, rule, width, 0, outputs)
    }

    /// A head that reads `features` numbers of each question besides the embedding: its first layer is
    /// `relu(h)·Wₕᵀ + x·Wₓᵀ + b`, with `[Wₕ, Wₓ]` as its weight.
    pub fn with_features(
        builder: &mut Builder<'_>,
        rule: VertexRule,
        width: usize,
        features: usize,
        outputs: usize,
    ) -> Self {
        let inputs = width + features;
        let layers = match rule {
            VertexRule::Linear => vec![linear(&mut builder.child("linear"), inputs, outputs)],
            VertexRule::Mlp => vec![
                linear(&mut builder.child("decoder.0"), inputs, width),
                linear(&mut builder.child("decoder.2"), width, outputs),
            ],
        };
        Self { layers, width, features, outputs }
    }

    /// The numbers for each vertex.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// From `rows × width` to `rows × outputs`.
    ///
    /// # Errors
    /// If the embeddings have another width.
    pub fn decode(&self, forward: &mut Forward<'_>, embeddings: Var) -> Result<Var, NnError> {
        self.decode_with(forward, embeddings, None)
    }

    /// The same with the features that come with each question (`rows × features`), if the head was made
    /// to read them.
    ///
    /// # Errors
    /// If the embeddings or the features have another width.
    pub fn decode_with(
        &self,
        forward: &mut Forward<'_>,
        embeddings: Var,
        features: Option<Var>,
    ) -> Result<Var, NnError> {
        let mut x = embeddings;
        for (layer, &[weight, bias]) in self.layers.iter().enumerate() {
            let (weight, bias) = (forward.parameter(weight), forward.parameter(bias));
            if layer > 0 || self.features == 0 {
                x = forward.tape.readout(x, weight, bias)?;
                continue;
            }
            let own = forward.tape.columns(weight, self.width..self.width + self.features)?;
            let weight = forward.tape.columns(weight, 0..self.width)?;
            let given = match features {
                Some(features) => features,
                None => forward.tape.zeros(forward.tape.shape(x).rows, 0),
            };
            let own = forward.tape.linear(given, own, None, Activation::Identity)?;
            x = forward.tape.readout(x, weight, bias)?;
            x = forward.tape.add(x, own)?;
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
