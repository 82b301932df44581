//! The aggregation of a graph convolution alone: `Â·X`.

use zoetrope_tensor::Var;

use crate::encoder::StructureEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Group;
use crate::graph::Adjacency;

/// `Â·X` with the matrix of graph convolutions; what was kept of an earlier epoch is used.
#[derive(Debug, Clone, Copy)]
pub struct Aggregation {
    /// The width of the features.
    pub width: usize,
}

impl StructureEncoder for Aggregation {
    fn width(&self) -> usize {
        self.width
    }

    fn form(&self) -> Adjacency {
        Adjacency::Gcn
    }

    fn has_weights(&self) -> bool {
        false
    }

    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError> {
        match group.aggregated {
            Some(kept) => Ok(kept),
            None => group.multiply(forward, Adjacency::Gcn, x),
        }
    }
}
