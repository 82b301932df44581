//! A graph convolution with weights that are on the tape already.
//!
//! Models that derive their weights (several convolutions in one product, weights composed with
//! the layer that follows, weights that evolve) use it directly; [`Gcn`](super::Gcn) is the layer
//! with parameters of its own.

use zoetrope_tensor::{Activation, Var};

use super::Aggregation;
use crate::encoder::{Sequence, StructureEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::{Frame, Group, Order};
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;

/// `activation(Â·X·Wᵀ + b)`, in the order of products that the plan says.
#[derive(Debug, Clone, Copy)]
pub struct Convolution {
    /// `out × in`.
    pub weight: Var,
    /// `1 × out`.
    pub bias: Option<Var>,
    /// What the result passes through.
    pub activation: Activation,
    /// The width of the features.
    pub inputs: usize,
    /// The width of the result.
    pub outputs: usize,
}

impl Convolution {
    /// Runs the layer over a frame and moves what it finds to where time encoders want it.
    ///
    /// If the layer aggregates first, the rows of the aggregation move and the product with the weights is
    /// computed at their destination: these rows are no wider than the result, and aggregated features need
    /// no gradient.
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
        if !moves_aggregations(frame, layer, self.inputs, self.outputs) {
            return frame.encode_to_time(forward, self, layer, x);
        }
        let aggregation = Aggregation { width: self.inputs };
        let sequence = frame.encode_to_time(forward, &aggregation, layer, x)?;
        let rows = forward.tape.linear(sequence.rows, self.weight, self.bias, self.activation)?;
        Ok(Sequence { rows, ..sequence })
    }
}

/// Whether a convolution of these widths moves the rows of its aggregation, without weights, to time encoders.
pub(crate) fn moves_aggregations(
    frame: &Frame<'_>,
    layer: usize,
    inputs: usize,
    outputs: usize,
) -> bool {
    let kept = layer == 0 && frame.aggregated.is_some();
    kept || frame.order(layer, inputs, outputs) == Some(Order::AggregateFirst)
}

impl StructureEncoder for Convolution {
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
        let Self { weight, bias, activation, .. } = *self;
        if let Some(kept) = group.aggregated {
            return Ok(forward.tape.linear(kept, weight, bias, activation)?);
        }
        if group.order(self.inputs, self.outputs) == Order::AggregateFirst {
            let aggregated = group.multiply(forward, Adjacency::Gcn, x)?;
            return Ok(forward.tape.linear(aggregated, weight, bias, activation)?);
        }
        let updated = forward.tape.linear(x, weight, None, Activation::Identity)?;
        let mut y = group.multiply(forward, Adjacency::Gcn, updated)?;
        let tape = &mut *forward.tape;
        if let Some(bias) = bias {
            y = tape.add_bias(y, bias)?;
        }
        if activation != Activation::Identity {
            y = tape.activate(y, activation);
        }
        Ok(y)
    }
}
