//! Graph convolution (Kipf and Welling, ICLR 2017).

use zoetrope_tensor::{Activation, Var};

use super::Convolution;
use super::convolution::moves_aggregations;
use crate::encoder::{Sequence, StructureEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::{Frame, Group};
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `activation(Â·X·Wᵀ + b)` with `Â = D^-1/2 (A + I) D^-1/2`; names as PyG's `GCNConv`.
///
/// From `T·N × in` to `T·N × out`. Parameters: `lin.weight` (`out × in`, glorot), `bias` (`out`,
/// zeros).
#[derive(Debug, Clone, Copy)]
pub struct Gcn {
    weight: ParameterId,
    bias: ParameterId,
    inputs: usize,
    outputs: usize,
    activation: Activation,
}

impl Gcn {
    /// Adds the parameters of a layer.
    pub fn new(
        builder: &mut Builder<'_>,
        inputs: usize,
        outputs: usize,
        activation: Activation,
    ) -> Self {
        let weight = builder.weight("lin.weight", &[outputs, inputs], Initialise::Glorot);
        let bias = builder.weight("bias", &[outputs], Initialise::Zeros);
        Self { weight, bias, inputs, outputs, activation }
    }

    /// The weight on the tape, `out × in`.
    pub fn weight(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.weight)
    }

    /// The bias on the tape, `1 × out`.
    pub fn bias(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.bias)
    }

    /// Runs the layer over a frame and moves what it finds to where time encoders want it, as
    /// [`Convolution::encode_to_time`].
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn encode_to_time(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        layer: usize,
        x: StructureRows<'_>,
    ) -> Result<Sequence, NnError> {
        self.convolution(forward).encode_to_time(forward, frame, layer, x)
    }

    /// Whether the rows of its aggregation move to time encoders, which multiply with the weight.
    pub fn moves_aggregations(&self, frame: &Frame<'_>, layer: usize) -> bool {
        moves_aggregations(frame, layer, self.inputs, self.outputs)
    }

    /// The layer with its parameters on the tape.
    pub fn convolution(&self, forward: &mut Forward<'_>) -> Convolution {
        Convolution {
            weight: self.weight(forward),
            bias: Some(self.bias(forward)),
            activation: self.activation,
            inputs: self.inputs,
            outputs: self.outputs,
        }
    }
}

impl StructureEncoder for Gcn {
    fn width(&self) -> usize {
        self.outputs
    }

    fn form(&self) -> Adjacency {
        Adjacency::Gcn
    }

    fn convolution_widths(&self) -> Option<(usize, usize)> {
        Some((self.inputs, self.outputs))
    }

    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError> {
        self.convolution(forward).encode(forward, group, x)
    }
}
