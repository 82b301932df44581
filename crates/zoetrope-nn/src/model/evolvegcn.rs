//! EvolveGCN: a graph convolution whose weights move from snapshot to snapshot.
//!
//! Pareja and others, "EvolveGCN: evolving graph convolutional networks for dynamic graphs", AAAI
//! 2020. For each layer and snapshot:
//!
//! ```text
//! -O: W_t = RNN(W_{t-1})                     -H: W_t = GRU(summary(X_t), W_{t-1})
//! Y_t = relu(Â_t·X_t·W_t)
//! ```
//!
//! - reference (PyG-Temporal's `EvolveGCNO`, `EvolveGCNH`): square weights, so that embeddings are
//!   as wide as the features; the recurrence is PyTorch's GRU over the rows of the weight; one
//!   layer, or several with a ReLU between them. Its layers keep the weight from call to call
//!   until told otherwise; here a frame starts anew unless the state is carried.
//! - paper: rectangular weights, the columns of which go through an LSTM (-O) or a GRU (-H) with a
//!   matrix of biases; two layers.
//!
//! The weights do not depend on other vertices (-O) or on a summary only (-H): the convolutions of
//! the frame share one aggregation.

use zoetrope_tensor::{Activation, Var};

use super::{Embedding, Model, ModelOptions};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::{Frame, Order};
use crate::graph::Adjacency;
use crate::parameters::Builder;
use crate::stage::StageKind;
use crate::state::State;
use crate::structure::Aggregation;
use crate::time::{ColumnGru, ColumnLstm, RowGru, Summary};

#[derive(Debug)]
enum Evolution {
    Rows { evolution: RowGru, summary: Option<Summary> },
    ColumnLstm(ColumnLstm),
    ColumnGru { evolution: ColumnGru, summary: Summary },
}

#[derive(Debug)]
struct Layer {
    evolution: Evolution,
    inputs: usize,
    outputs: usize,
}

/// The places of a layer in a [`State`]: its weight and its cell state.
const PLACES: usize = 2;

impl Layer {
    fn reference(builder: &mut Builder<'_>, name: &str, width: usize, summarised: bool) -> Self {
        let mut builder = builder.child(name);
        let summary = summarised
            .then(|| Summary::new(&mut builder, "pooling_layer.select.weight", width, width));
        let evolution = RowGru::new(&mut builder, width);
        let evolution = Evolution::Rows { evolution, summary };
        Self { evolution, inputs: width, outputs: width }
    }

    fn paper(builder: &mut Builder<'_>, inputs: usize, outputs: usize, summarised: bool) -> Self {
        let evolution = if summarised {
            Evolution::ColumnGru {
                evolution: ColumnGru::new(builder, inputs, outputs),
                summary: Summary::new(builder, "scorer", inputs, outputs),
            }
        } else {
            Evolution::ColumnLstm(ColumnLstm::new(builder, inputs, outputs))
        };
        Self { evolution, inputs, outputs }
    }

    /// The weights of all snapshots below each other; the last one and the cell state stay in `state`.
    fn weights(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        x: Var,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let mut weight = state.get(place).unwrap_or_else(|| self.initial(forward));
        let steps = frame.all_steps();
        let all = match &self.evolution {
            Evolution::Rows { evolution, summary: None } => {
                let evolved = evolution.evolve(forward, weight, steps)?;
                weight = evolved.cell;
                evolved.hidden
            }
            Evolution::ColumnLstm(evolution) => {
                let cell = state.or_zeros(place + 1, forward.tape, self.outputs, self.inputs);
                let evolved = evolution.evolve(forward, weight, cell, steps)?;
                let rows = steps * self.outputs;
                weight = match steps {
                    0 => weight,
                    _ => forward.tape.rows(evolved.hidden, rows - self.outputs..rows)?,
                };
                state.set(place + 1, evolved.cell);
                evolved.hidden
            }
            Evolution::Rows { evolution, summary: Some(summary) } => self.by_summaries(
                forward,
                frame,
                x,
                summary,
                &mut weight,
                |forward, input, weight| evolution.step(forward, input, weight),
            )?,
            Evolution::ColumnGru { evolution, summary } => self.by_summaries(
                forward,
                frame,
                x,
                summary,
                &mut weight,
                |forward, input, weight| evolution.step(forward, input, weight),
            )?,
        };
        state.set(place, weight);
        Ok(all)
    }

    /// The same if each step takes a summary of its snapshot.
    fn by_summaries(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        x: Var,
        summary: &Summary,
        weight: &mut Var,
        step_of: impl Fn(&mut Forward<'_>, Var, Var) -> Result<Var, NnError>,
    ) -> Result<Var, NnError> {
        let mut all = Vec::with_capacity(frame.all_steps());
        let of_all = match frame.shared {
            None => {
                summary.may_move(forward, x);
                None
            }
            Some(shared) => Some(summary.candidates(forward, frame, &shared, x)?),
        };
        for step in 0..frame.all_steps() {
            let input = match &of_all {
                Some(candidates) => candidates.summary(forward, step)?,
                None => {
                    let own = step * frame.vertices()..(step + 1) * frame.vertices();
                    let mask = frame.mask.map(|mask| forward.tape.rows(mask, own.clone()));
                    let x = forward.tape.rows(x, own)?;
                    summary.of(forward, x, mask.transpose()?)?
                }
            };
            *weight = step_of(forward, input, *weight)?;
            all.push(*weight);
        }
        Ok(forward.tape.concat_rows(&all)?)
    }

    fn is_summarised(&self) -> bool {
        matches!(
            self.evolution,
            Evolution::Rows { summary: Some(_), .. } | Evolution::ColumnGru { .. }
        )
    }

    fn initial(&self, forward: &mut Forward<'_>) -> Var {
        match &self.evolution {
            Evolution::Rows { evolution, .. } => evolution.initial(forward),
            Evolution::ColumnLstm(evolution) => evolution.initial(forward),
            Evolution::ColumnGru { evolution, .. } => evolution.initial(forward),
        }
    }

    /// The rows of each snapshot times its weight.
    fn update(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        x: Var,
        weights: Var,
    ) -> Result<Var, NnError> {
        let by_rows = matches!(self.evolution, Evolution::Rows { .. });
        // Weights of all snapshots are computed on every rank: they are small, rows are not.
        let (own, rows) = (frame.own_steps(), if by_rows { self.inputs } else { self.outputs });
        if own.is_empty() {
            return Ok(forward.tape.variable(0, self.outputs, &[])?);
        }
        let weights = forward.tape.rows(weights, own.start * rows..own.end * rows)?;
        Ok(forward.tape.matmul_steps(x, weights, frame.steps(), !by_rows)?)
    }

    /// `Â_t·X_t·W_t` for all snapshots, without the ReLU.
    fn encode(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        x: Var,
        layer: usize,
        state: &mut State,
    ) -> Result<Var, NnError> {
        let weights = forward.stage(StageKind::Time, layer, x, |forward| {
            self.weights(forward, frame, x, state, layer * PLACES)
        })?;
        let kept = layer == 0 && frame.aggregated.is_some();
        // Plans of models whose weights change from snapshot to snapshot mix no orders.
        let order = frame.order(layer, self.inputs, self.outputs);
        if kept || order != Some(Order::UpdateFirst) {
            let x = frame.encode(forward, &Aggregation { width: self.inputs }, layer, x)?;
            return self.update(forward, frame, x, weights);
        }
        let x = self.update(forward, frame, x, weights)?;
        frame.encode(forward, &Aggregation { width: self.outputs }, layer, x)
    }
}

/// EvolveGCN: from `T·N × F` features to `T·N × F` (reference) or `T·N × H` (paper).
///
/// Reference parameters, under `recurrent.` or, for several layers, `recurrent_1.`, …:
/// `initial_weight` (`1 × F × F`), `recurrent_layer.*` (a GRU of `F` inputs and `F` states) and for
/// -H `pooling_layer.select.weight` (`1 × F`). The paper's are under `recurrent.layers.0.`, …: see
/// [`ColumnLstm`] and [`ColumnGru`], and `scorer` (`1 × in`) for -H.
#[derive(Debug)]
pub struct EvolveGcn {
    name: &'static str,
    layers: Vec<Layer>,
    dropout: f32,
}

impl EvolveGcn {
    /// Adds the parameters of the version that evolves weights by themselves.
    ///
    /// # Errors
    /// If there would be more layers than states can be carried.
    pub fn weights_only(
        builder: &mut Builder<'_>,
        options: &ModelOptions,
    ) -> Result<Self, NnError> {
        Self::new(builder, options, "evolvegcn-o")
    }

    /// Adds the parameters of the version that evolves weights by the embeddings.
    ///
    /// # Errors
    /// If a layer would be wider than there are vertices to choose, or as
    /// [`weights_only`](Self::weights_only).
    pub fn by_embeddings(
        builder: &mut Builder<'_>,
        options: &ModelOptions,
    ) -> Result<Self, NnError> {
        Self::new(builder, options, "evolvegcn-h")
    }

    fn new(
        builder: &mut Builder<'_>,
        options: &ModelOptions,
        name: &'static str,
    ) -> Result<Self, NnError> {
        let &ModelOptions { features, hidden, paper, vertices, dropout, .. } = options;
        let summarised = name == "evolvegcn-h";
        let default = if paper { 2 } else { 1 };
        let count = options.layers_within(name, default, PLACES)?;
        let widest = if paper { hidden } else { features };
        if summarised && widest > vertices {
            return Err(NnError::Option {
                model: name,
                option: "the width of a layer",
                expected: format!("at most the number of vertices, {vertices}"),
                got: widest.to_string(),
            });
        }
        let layer = |at| match (paper, count) {
            (false, 1) => Layer::reference(builder, "recurrent", features, summarised),
            (false, _) => {
                let name = format!("recurrent_{}", at + 1);
                Layer::reference(builder, &name, features, summarised)
            }
            (true, _) => {
                let inputs = if at == 0 { features } else { hidden };
                let mut builder = builder.child(&format!("recurrent.layers.{at}"));
                Layer::paper(&mut builder, inputs, hidden, summarised)
            }
        };
        Ok(Self { name, layers: (0..count).map(layer).collect(), dropout })
    }
}

impl Model for EvolveGcn {
    fn name(&self) -> &'static str {
        self.name
    }

    fn width(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::Gcn]
    }

    /// A summary has as many vertices as a layer has inputs, or outputs.
    fn least_vertices(&self) -> usize {
        let widest = self.layers.iter().map(|layer| layer.inputs.max(layer.outputs)).max();
        if self.name == "evolvegcn-h" { widest.unwrap_or(1) } else { 1 }
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        self.layers.iter().map(|layer| (layer.inputs, layer.outputs)).collect()
    }

    fn can_reuse(&self) -> bool {
        true
    }

    fn carries_state(&self) -> bool {
        true
    }

    /// Which vertices are summarised follows from weights that change.
    fn is_recordable(&self) -> bool {
        !self.layers.iter().any(Layer::is_summarised)
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let mut x = frame.features;
        for (at, layer) in self.layers.iter().enumerate() {
            x = layer.encode(forward, frame, x, at, &mut state)?;
            if at + 1 < self.layers.len() {
                x = forward.tape.activate(x, Activation::Relu);
                x = frame.dropout(forward, x, self.dropout)?;
            }
        }
        let rows = frame.dropout(forward, x, self.dropout)?;
        Ok(Embedding { rows, state })
    }
}
