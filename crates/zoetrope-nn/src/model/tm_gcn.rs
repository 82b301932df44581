//! TM-GCN: layers of a graph convolution and the M-product, an average along time.
//!
//! Malik, Ubaru, Horesh, Kilmer and Avron, "Dynamic graph convolutional networks using the tensor
//! M-product", SDM 2021, in the form of ESDG section 5.3: `Y = relu(Â·X·Wᵀ + b)` for each snapshot,
//! then `Z_t` = mean of the last `w` of them. ESDG also smooths the snapshots and the features by
//! the same average before training: that is preparation of data
//! (`zoetrope_graph::smooth::m_product`), not part of the model.
//!
//! Both variants are the same.

use zoetrope_tensor::Activation;

use super::{Embedding, Model, ModelOptions};
use crate::encoder::Sequence;
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::frame_pieces::Next;
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;
use crate::parameters::Builder;
use crate::state::State;
use crate::structure::Gcn;
use crate::time::MProduct;

/// TM-GCN: from `T·N × F` features to `T·N × H`.
///
/// Parameters under `recurrent.layers.0.`, …: a [`Gcn`] `conv`. Two layers if not said
/// otherwise.
#[derive(Debug)]
pub struct TmGcn {
    convolutions: Vec<Gcn>,
    average: MProduct,
    features: usize,
    hidden: usize,
    dropout: f32,
}

impl TmGcn {
    /// Adds the parameters of the model.
    ///
    /// # Errors
    /// If no layer is asked for.
    pub fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        let &ModelOptions { features, hidden, bandwidth, dropout, .. } = options;
        let count = options.layers_within("tm-gcn", 2, 1)?;
        let convolution = |at| {
            let inputs = if at == 0 { features } else { hidden };
            let mut builder = builder.child(&format!("recurrent.layers.{at}.conv"));
            Gcn::new(&mut builder, inputs, hidden, Activation::Relu)
        };
        Ok(Self {
            convolutions: (0..count).map(convolution).collect(),
            average: MProduct::new(bandwidth, hidden),
            features,
            hidden,
            dropout,
        })
    }
}

impl Model for TmGcn {
    fn name(&self) -> &'static str {
        "tm-gcn"
    }

    fn width(&self) -> usize {
        self.hidden
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::Gcn]
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        let inputs = |at| if at == 0 { self.features } else { self.hidden };
        (0..self.convolutions.len()).map(|at| (inputs(at), self.hidden)).collect()
    }

    fn can_reuse(&self) -> bool {
        true
    }

    /// Frames average over their own snapshots only.
    fn carries_state(&self) -> bool {
        false
    }

    fn works_in_blocks(&self) -> bool {
        true
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let mut x = StructureRows::Here(frame.features);
        for (at, convolution) in self.convolutions.iter().enumerate() {
            let sequence = convolution.encode_to_time(forward, frame, at, x)?;
            let rows = frame.dropout_in_time(forward, sequence.rows, self.dropout)?;
            let sequence = Sequence { rows, ..sequence };
            let rows = frame.follow(forward, &self.average, (at, at), sequence, &mut state)?;
            let next = self.convolutions.get(at + 1);
            let in_parts = next.is_some_and(|next| next.moves_aggregations(frame, at + 1));
            x = frame.leave(forward, rows, if in_parts { Next::Parts } else { Next::Rows })?;
        }
        Ok(Embedding { rows: x.here(forward.tape)?, state })
    }
}
