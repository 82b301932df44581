//! Models composed of encoders: what a user needs for a network of one's own.

use super::{Embedding, Model};
use crate::encoder::{StructureEncoder, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;
use crate::state::{MAX_CARRIED, State};

/// A structure encoder and the time encoder that reads its result.
struct StackedLayer {
    structure: Box<dyn StructureEncoder>,
    time: Box<dyn TimeEncoder>,
}

/// Blocks of a structure encoder and a time encoder, one after another.
///
/// ```
/// use zoetrope_nn::model::{Model, Stack};
/// use zoetrope_nn::structure::{Gcn, Sage};
/// use zoetrope_nn::time::{Gru, Lstm};
/// use zoetrope_nn::{Builder, Parameters};
/// use zoetrope_tensor::Activation;
///
/// // Eight features, GraphSAGE and a GRU, then a convolution and an LSTM.
/// let mut parameters = Parameters::default();
/// let mut builder = Builder::new(&mut parameters, 42);
/// let model = Stack::new("sage-gru")
///     .block(
///         Sage::new(&mut builder.child("sage"), 8, 32),
///         Gru::new(&mut builder.child("gru"), 32, 32),
///     )?
///     .block(
///         Gcn::new(&mut builder.child("gcn"), 32, 16, Activation::Relu),
///         Lstm::new(&mut builder.child("lstm"), 16, 16),
///     )?;
/// assert_eq!(model.width(), 16);
/// assert!(parameters.find("gru.weight_hh_l0").is_some());
/// # Ok::<(), zoetrope_nn::NnError>(())
/// ```
pub struct Stack {
    name: &'static str,
    blocks: Vec<StackedLayer>,
    carried: usize,
}

impl Stack {
    /// A model without blocks, under a name for messages.
    pub fn new(name: &'static str) -> Self {
        Self { name, blocks: Vec::new(), carried: 0 }
    }

    /// The model with one more block.
    ///
    /// # Errors
    /// If its time encoders would carry more matrices than a [`State`] holds.
    pub fn block(
        mut self,
        structure: impl StructureEncoder + 'static,
        time: impl TimeEncoder + 'static,
    ) -> Result<Self, NnError> {
        self.carried += time.carried();
        if self.carried > MAX_CARRIED {
            return Err(NnError::Option {
                model: self.name,
                option: "the number of carried matrices",
                expected: format!("at most {MAX_CARRIED}"),
                got: self.carried.to_string(),
            });
        }
        self.blocks.push(StackedLayer { structure: Box::new(structure), time: Box::new(time) });
        Ok(self)
    }
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let blocks = self.blocks.len();
        f.debug_struct("Stack").field("name", &self.name).field("blocks", &blocks).finish()
    }
}

impl Model for Stack {
    fn name(&self) -> &'static str {
        self.name
    }

    fn width(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.time.width())
    }

    fn forms(&self) -> Vec<Adjacency> {
        let mut forms: Vec<_> = self.blocks.iter().map(|block| block.structure.form()).collect();
        forms.sort();
        forms.dedup();
        forms
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        // A layer without a choice keeps its place among the planned orders.
        let widths = |block: &StackedLayer| {
            let width = block.structure.width();
            block.structure.convolution_widths().unwrap_or((width, width))
        };
        self.blocks.iter().map(widths).collect()
    }

    fn can_reuse(&self) -> bool {
        let first = self.blocks.first();
        first.is_some_and(|block| block.structure.convolution_widths().is_some())
    }

    fn carries_state(&self) -> bool {
        self.carried > 0
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let (mut x, mut place) = (frame.features, 0);
        for (layer, block) in self.blocks.iter().enumerate() {
            let x_here = StructureRows::Here(x);
            let sequence =
                frame.encode_to_time(forward, block.structure.as_ref(), layer, x_here)?;
            let time = block.time.as_ref();
            let rows = frame.follow(forward, time, (layer, place), sequence, &mut state)?;
            x = frame.to_structure(forward, rows)?;
            place += block.time.carried();
        }
        Ok(Embedding { rows: x, state })
    }
}
