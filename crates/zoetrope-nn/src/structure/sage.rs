//! GraphSAGE with the mean of the neighbours (Hamilton, Ying and Leskovec, NeurIPS 2017).

use zoetrope_tensor::{Activation, Var};

use crate::encoder::StructureEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Group;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `mean(x_c over in-edges)·W_lᵀ + b + x·W_rᵀ`; names as PyG's `SAGEConv`.
///
/// From `T·N × in` to `T·N × out`. Weights of edges are not used. Parameters: `lin_l.weight`
/// (`out × in`), `lin_l.bias` (`out`), `lin_r.weight` (`out × in`), uniform in `±1/√in`.
#[derive(Debug, Clone, Copy)]
pub struct Sage {
    neighbours: ParameterId,
    bias: ParameterId,
    own: ParameterId,
    outputs: usize,
}

impl Sage {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize) -> Self {
        let initialise = Initialise::linear(inputs);
        Self {
            neighbours: builder.weight("lin_l.weight", &[outputs, inputs], initialise),
            bias: builder.weight("lin_l.bias", &[outputs], initialise),
            own: builder.weight("lin_r.weight", &[outputs, inputs], initialise),
            outputs,
        }
    }
}

impl StructureEncoder for Sage {
    fn width(&self) -> usize {
        self.outputs
    }

    fn form(&self) -> Adjacency {
        Adjacency::Mean
    }

    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError> {
        let neighbours = forward.parameter(self.neighbours);
        let bias = forward.parameter(self.bias);
        let own = forward.parameter(self.own);
        let mean = group.multiply(forward, Adjacency::Mean, x)?;
        let tape = &mut *forward.tape;
        let root = tape.linear(x, own, None, Activation::Identity)?;
        let sum =
            tape.linear_plus(mean, neighbours, Some(bias), Some(root), Activation::Identity)?;
        Ok(sum)
    }
}
