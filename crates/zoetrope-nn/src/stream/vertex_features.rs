//! Features of vertices beside their memory.

use std::sync::Arc;

use zoetrope_graph::VertexId;
use zoetrope_tensor::{Activation, Matrix, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::layer::Linear;
use crate::parameters::{Builder, ParameterId};

/// Features of vertices, given or learned.
#[derive(Debug, Clone, Copy)]
pub(super) struct VertexFeatures {
    join: Join,
    /// The rows of all vertices, if they are learned: `vertex_embedding.weight` (`N × V`).
    learned: Option<ParameterId>,
}

/// How features of vertices join rows of memory.
#[derive(Debug, Clone, Copy)]
enum Join {
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
        Self { join: if width == 0 { Join::None } else { Join::Plain }, learned: None }
    }

    /// Beside rows of memory of another width.
    pub(super) fn beside(builder: &mut Builder<'_>, width: usize, memory: usize) -> Self {
        let join = match width {
            0 => Join::None,
            _ if width == memory => Join::Plain,
            _ => Join::Mapped(Linear::new(&mut builder.child("node_feat_map"), width, memory)),
        };
        Self { join, learned: None }
    }

    /// Learns the features of so many vertices. All of them begin at 0: a vertex that training never
    /// sees stays one without features.
    pub(super) fn learn(&mut self, builder: &mut Builder<'_>, vertices: usize, width: usize) {
        let mut builder = builder.child("vertex_embedding");
        self.learned = Some(builder.weight("weight", &[vertices, width], Initialise::Zeros));
    }

    /// Whether they are learned.
    pub(super) fn are_learned(self) -> bool {
        self.learned.is_some()
    }

    /// The rows that embeddings begin with; None if there are neither features nor memory.
    pub(super) fn combine(
        self,
        forward: &mut Forward<'_>,
        features: Option<&Arc<Matrix>>,
        vertices: &Arc<Vec<VertexId>>,
        memory: Option<Var>,
    ) -> Result<Option<Var>, NnError> {
        let all = match (self.join, self.learned, features) {
            (Join::None, ..) | (_, None, None) => return Ok(memory),
            (_, Some(learned), _) => forward.parameter(learned),
            (_, None, Some(features)) => {
                forward.tape.constant(features, 0..features.shape().rows)?
            }
        };
        let own = forward.tape.gather(all, vertices)?;
        let rows = match (self.join, memory) {
            (Join::Mapped(map), memory) => {
                let (weight, bias) = (map.weight(forward), Some(map.bias(forward)));
                forward.tape.linear_plus(own, weight, bias, memory, Activation::Identity)?
            }
            (_, Some(memory)) => forward.tape.add(memory, own)?,
            (_, None) => own,
        };
        Ok(Some(rows))
    }
}
