//! Features of vertices beside their memory.

use std::sync::Arc;

use zoetrope_graph::VertexId;
use zoetrope_tensor::{Activation, Matrix, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Linear;
use crate::parameters::Builder;

/// How features of vertices join rows of memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum VertexFeatures {
    /// There are none.
    None,
    /// They are all there is, or are as wide as memory and are added to it.
    Plain,
    /// They pass a linear layer first: `node_feat_map.*` (`M × V`).
    Mapped(Linear),
}

impl VertexFeatures {
    /// Without memory.
    pub(super) fn alone(width: usize) -> Self {
        if width == 0 { Self::None } else { Self::Plain }
    }

    /// Beside rows of memory of another width.
    pub(super) fn beside(builder: &mut Builder<'_>, width: usize, memory: usize) -> Self {
        match width {
            0 => Self::None,
            _ if width == memory => Self::Plain,
            _ => Self::Mapped(Linear::new(&mut builder.child("node_feat_map"), width, memory)),
        }
    }

    /// The rows that embeddings begin with; None where there are neither features nor memory.
    pub(super) fn combine(
        self,
        forward: &mut Forward<'_>,
        features: Option<&Arc<Matrix>>,
        vertices: &Arc<Vec<VertexId>>,
        memory: Option<Var>,
    ) -> Result<Option<Var>, NnError> {
        let Some(features) = features.filter(|_| !matches!(self, Self::None)) else {
            return Ok(memory);
        };
        let all = forward.tape.constant(features, 0..features.shape().rows)?;
        let own = forward.tape.gather(all, vertices)?;
        let rows = match (self, memory) {
            (Self::Mapped(map), memory) => {
                let (weight, bias) = (map.weight(forward), Some(map.bias(forward)));
                forward.tape.linear_plus(own, weight, bias, memory, Activation::Identity)?
            }
            (_, Some(memory)) => forward.tape.add(memory, own)?,
            (_, None) => own,
        };
        Ok(Some(rows))
    }
}
