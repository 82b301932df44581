//! CD-GCN and WD-GCN: layers of a graph convolution and an LSTM over the sequence of each vertex.
//!
//! Manessi, Rozza and Manzo, "Dynamic graph convolutional networks", Pattern Recognition 2020.
//!
//! - `wd-gcn` (waterfall): `LSTM(relu(Â·X·Wᵀ + b))`.
//! - `cd-gcn` (concatenate): the LSTM also gets the features past the convolution. By the paper,
//!   `LSTM([X, relu(Â·X·Wᵀ + b)])`; by the reference, ESDG section 5.1,
//!   `LSTM(relu([Â·X, Â·X·Wᵀ + b]))`, which needs the aggregation only.
//!
//! Manessi's networks have one such layer, ESDG's CD-GCN has two.

use zoetrope_tensor::{Activation, Var};

use super::{Embedding, Model, ModelOptions};
use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::frame_pieces::Next;
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;
use crate::parameters::Builder;
use crate::state::State;
use crate::structure::{Aggregation, Convolution, Gcn};
use crate::time::Lstm;

/// What the LSTM sees besides the convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    Nothing,
    Features,
    Aggregated,
}

#[derive(Debug, Clone, Copy)]
struct Layer {
    convolution: Gcn,
    memory: Lstm,
    inputs: usize,
}

/// CD-GCN or WD-GCN: from `T·N × F` features to `T·N × H` states.
///
/// Parameters under `recurrent.layers.0.`, …: a [`Gcn`] `conv` and an [`Lstm`] `lstm`.
#[derive(Debug)]
pub struct DynamicGcn {
    name: &'static str,
    skip: Skip,
    layers: Vec<Layer>,
    hidden: usize,
    dropout: f32,
}

impl DynamicGcn {
    /// Adds the parameters of CD-GCN.
    ///
    /// # Errors
    /// If there would be more layers than states can be carried.
    pub fn concatenate(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        if options.paper {
            Self::new(builder, options, "cd-gcn", Skip::Features, 1)
        } else {
            Self::new(builder, options, "cd-gcn", Skip::Aggregated, 2)
        }
    }

    /// Adds the parameters of WD-GCN.
    ///
    /// # Errors
    /// If there would be more layers than states can be carried.
    pub fn waterfall(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        Self::new(builder, options, "wd-gcn", Skip::Nothing, 1)
    }

    fn new(
        builder: &mut Builder<'_>,
        options: &ModelOptions,
        name: &'static str,
        skip: Skip,
        default: usize,
    ) -> Result<Self, NnError> {
        let &ModelOptions { features, hidden, dropout, .. } = options;
        let count = options.layers_within(name, default, 2)?;
        // The reference applies its ReLU to the concatenation.
        let activation = match skip {
            Skip::Aggregated => Activation::Identity,
            Skip::Nothing | Skip::Features => Activation::Relu,
        };
        let layer = |at| {
            let inputs = if at == 0 { features } else { hidden };
            let mut builder = builder.child(&format!("recurrent.layers.{at}"));
            let convolution = Gcn::new(&mut builder.child("conv"), inputs, hidden, activation);
            let seen = if skip == Skip::Nothing { hidden } else { hidden + inputs };
            let memory = Lstm::new(&mut builder.child("lstm"), seen, hidden);
            Layer { convolution, memory, inputs }
        };
        let layers = (0..count).map(layer).collect();
        Ok(Self { name, skip, layers, hidden, dropout })
    }

    /// Whether the aggregation of a layer moves, and what follows from it row by row is computed where the LSTM
    /// runs: fewer values move there.
    fn moves_aggregations(&self, frame: &Frame<'_>, at: usize) -> bool {
        match self.skip {
            Skip::Nothing => self.layers[at].convolution.moves_aggregations(frame, at),
            Skip::Features => false,
            Skip::Aggregated => true,
        }
    }

    /// What the LSTM of a layer sees, given the aggregation that has moved.
    fn seen(&self, forward: &mut Forward<'_>, rows: Var, at: usize) -> Result<Var, NnError> {
        let layer = &self.layers[at];
        let Convolution { weight, bias, activation, .. } = layer.convolution.convolution(forward);
        let updated = forward.tape.linear(rows, weight, bias, activation)?;
        if self.skip == Skip::Nothing {
            return Ok(updated);
        }
        let both = forward.tape.concat_columns(&[rows, updated])?;
        Ok(forward.tape.activate(both, Activation::Relu))
    }

    /// What the LSTM of a layer sees if rows with weights behind them move.
    fn structure(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        x: StructureRows<'_>,
        at: usize,
    ) -> Result<Sequence, NnError> {
        let layer = &self.layers[at];
        if self.skip == Skip::Nothing {
            return layer.convolution.encode_to_time(forward, frame, at, x);
        }
        let x = x.here(forward.tape)?;
        let convolved = frame.encode(forward, &layer.convolution, at, x)?;
        let rows = forward.tape.concat_columns(&[x, convolved])?;
        frame.to_time(forward, rows)
    }

    /// The LSTM of a layer over sequences.
    fn remember(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        sequence: Sequence,
        state: &mut State,
        at: usize,
    ) -> Result<Var, NnError> {
        let memory = &self.layers[at].memory;
        frame.follow(forward, memory, (at, at * memory.carried()), sequence, state)
    }
}

impl Model for DynamicGcn {
    fn name(&self) -> &'static str {
        self.name
    }

    fn width(&self) -> usize {
        self.hidden
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::Gcn]
    }

    /// What is aggregated for itself stands before the weights of its layer: there is no choice.
    fn structure_widths(&self) -> Vec<(usize, usize)> {
        if self.skip == Skip::Aggregated {
            return Vec::new();
        }
        self.layers.iter().map(|layer| (layer.inputs, self.hidden)).collect()
    }

    fn can_reuse(&self) -> bool {
        true
    }

    fn carries_state(&self) -> bool {
        true
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let mut x = StructureRows::Here(frame.features);
        for (at, layer) in self.layers.iter().enumerate() {
            let goes_on = at + 1 < self.layers.len() && self.moves_aggregations(frame, at + 1);
            let next = if goes_on { Next::Parts } else { Next::Rows };
            // Dropout counts the cells of all vertices.
            if self.moves_aggregations(frame, at) && self.dropout == 0.0 {
                let encoder = Aggregation { width: layer.inputs };
                let follow = |forward: &mut Forward<'_>, sequence: Sequence, state: &mut State| {
                    let rows = self.seen(forward, sequence.rows, at)?;
                    self.remember(forward, frame, Sequence { rows, ..sequence }, state, at)
                };
                x = frame.layer(forward, (&encoder, at), x, next, &mut state, follow)?;
                continue;
            }
            let sequence = if self.moves_aggregations(frame, at) {
                let encoder = Aggregation { width: layer.inputs };
                let sequence = frame.encode_to_time(forward, &encoder, at, x)?;
                Sequence { rows: self.seen(forward, sequence.rows, at)?, ..sequence }
            } else {
                self.structure(forward, frame, x, at)?
            };
            let rows = frame.dropout_in_time(forward, sequence.rows, self.dropout)?;
            let sequence = Sequence { rows, ..sequence };
            let rows = self.remember(forward, frame, sequence, &mut state, at)?;
            x = frame.leave(forward, rows, next)?;
        }
        Ok(Embedding { rows: x.here(forward.tape)?, state })
    }
}
