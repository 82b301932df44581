//! From rows of vertices to embeddings of questions: the layers of a model, and the lists that they
//! read of a batch.

use std::sync::Arc;

use zoetrope_graph::Time;
use zoetrope_tensor::{Activation, Matrix, Var};

use super::attention::{AttentionLayer, ConvolutionLayer, Level, Widths};
use super::batch::{EventBatch, LayerBatch};
use super::choices::Choices;
use super::options::{Convention, EmbeddingKind};
use super::projection::Projection;
use super::reused::Reused;
use super::sum::SumLayer;
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::memory::EventData;
use crate::parameters::Builder;

/// One layer over sampled neighbours.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    Convolution(ConvolutionLayer),
    Attention(AttentionLayer),
    Sum(SumLayer),
}

/// The layers of a model, the first one first.
#[derive(Debug)]
pub(super) enum Embedding {
    Projection(Projection),
    Neighbours { layers: Vec<Layer>, convention: Convention, lists: Vec<BlockLists> },
}

/// Lists that a layer shares with the tape.
#[derive(Debug, Default)]
pub(super) struct BlockLists {
    targets: Reused<Vec<u32>>,
    deltas: Reused<Vec<f64>>,
    /// The time up to which each target remembers (PyG's convention).
    times: Vec<Time>,
}

/// The rows that layers begin with.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseRows<'a> {
    /// A row for each vertex of the batch, or for each question if `per_query`.
    pub(super) rows: Option<Var>,
    pub(super) per_query: bool,
    /// The time up to which each row remembers; empty without memory.
    pub(super) times: &'a [Time],
    pub(super) origin: Time,
}

impl Embedding {
    /// Adds the parameters. `memory_time` is the time encoding of the memory, which PyG shares;
    /// `inputs` the width of the rows of vertices.
    pub(super) fn new(
        builder: &mut Builder<'_>,
        choices: &Choices,
        memory_time: Option<&TimeEncoder>,
        inputs: usize,
    ) -> Self {
        let Choices { convention, time_width, given, .. } = *choices;
        let by_time = match choices.embedding {
            EmbeddingKind::Identity => Some(false),
            EmbeddingKind::Time => Some(true),
            EmbeddingKind::Attention | EmbeddingKind::Sum => None,
        };
        if let Some(by_time) = by_time {
            let mut builder = builder.child("layers");
            return Self::Projection(Projection::new(&mut builder, inputs, by_time));
        }
        let shared = memory_time.filter(|_| convention == Convention::Pyg).cloned();
        let sum_time = match (choices.embedding, &shared) {
            (EmbeddingKind::Sum, None) => {
                let mut builder = builder.child("embedding_module.time_enc");
                Some(TimeEncoder::new(&mut builder, convention, time_width))
            }
            _ => shared.clone(),
        };
        let layers = (0..choices.layers).map(|at| {
            let rows = if at == 0 { inputs } else { given.hidden };
            let widths = Widths { rows, features: given.event_features, out: given.hidden };
            match (choices.embedding, &shared, &sum_time) {
                (EmbeddingKind::Sum, _, Some(time)) => {
                    let mut builder = builder.child("embedding_module");
                    Layer::Sum(SumLayer::new(&mut builder, at, widths, time.clone()))
                }
                (_, Some(time), _) => {
                    let name = match choices.layers {
                        1 => "gnn.conv".to_owned(),
                        _ => format!("gnn.convs.{at}"),
                    };
                    let (heads, dropout) = (given.heads, given.dropout);
                    let mut builder = builder.child(&name);
                    let time = time.clone();
                    Layer::Convolution(ConvolutionLayer::new(
                        &mut builder,
                        widths,
                        time,
                        heads,
                        dropout,
                    ))
                }
                _ => {
                    let mut builder = builder.child(&format!("layers.l{at}h0"));
                    let (heads, dropout) = (given.heads, given.dropout);
                    Layer::Attention(AttentionLayer::new(
                        &mut builder,
                        widths,
                        time_width,
                        heads,
                        dropout,
                    ))
                }
            }
        });
        Self::Neighbours { layers: layers.collect(), convention, lists: Vec::new() }
    }

    /// A row for each question.
    pub(super) fn embed(
        &mut self,
        forward: &mut Forward<'_>,
        batch: &EventBatch,
        base: BaseRows<'_>,
        features: Option<Var>,
    ) -> Result<Var, NnError> {
        let (layers, convention, lists) = match self {
            Self::Projection(projection) => {
                let rows = base.rows.ok_or_else(|| super::attention::missing("memory"))?;
                let BaseRows { per_query, times, origin, .. } = base;
                return projection.apply(forward, rows, per_query, batch, times, origin);
            }
            Self::Neighbours { layers, convention, lists } => (layers, *convention, lists),
        };
        if batch.blocks.len() != layers.len() {
            return Err(super::attention::missing("the neighbours of each layer"));
        }
        lists.resize_with(layers.len(), BlockLists::default);
        let mut rows = base.rows;
        let count = layers.len();
        // Blocks are listed from the last layer on.
        for (at, (layer, block)) in layers.iter().zip(batch.blocks.iter().rev()).enumerate() {
            let (below, lists) = lists.split_at_mut(at);
            let times = below.last().map_or(base.times, |below| &below.times);
            lists[0].fill(block, convention, times);
            let level = Level {
                rows,
                features,
                roots: &block.roots,
                targets: lists[0].targets.shared(),
                layout: &block.layout,
                deltas: lists[0].deltas.shared(),
            };
            rows = Some(layer.apply(forward, &level, at + 1 == count)?);
        }
        rows.ok_or_else(|| super::attention::missing("layers"))
    }
}

impl Layer {
    fn apply(
        &self,
        forward: &mut Forward<'_>,
        level: &Level<'_>,
        last: bool,
    ) -> Result<Var, NnError> {
        match self {
            Self::Attention(layer) => layer.apply(forward, level),
            Self::Convolution(layer) => {
                let y = layer.apply(forward, level)?;
                Ok(if last { y } else { forward.tape.activate(y, Activation::Relu) })
            }
            Self::Sum(layer) => layer.apply(forward, level),
        }
    }
}

impl BlockLists {
    /// The place of each target among the roots and the time difference of each slot: from the
    /// event to the question (TGL), or from the event to the neighbour's last update (PyG).
    fn fill(&mut self, block: &LayerBatch, convention: Convention, times: &[Time]) {
        let layout = &*block.layout;
        self.targets.refill().extend_from_slice(&layout.query);
        let deltas = self.deltas.refill();
        let slots = 0..layout.slots();
        match convention {
            Convention::Tgl => deltas.extend(slots.map(|slot| {
                let asked = block.target_time[layout.target_of_slot[slot] as usize];
                asked.wrapping_sub(block.slot_time[slot]) as f64
            })),
            Convention::Pyg => {
                deltas.extend(slots.map(|slot| {
                    let heard = times[layout.source[slot] as usize];
                    heard.wrapping_sub(block.slot_time[slot]) as f64
                }));
                self.times.clear();
                let roots = layout.query.iter().map(|&query| block.roots[query as usize]);
                self.times.extend(roots.map(|root| times[root as usize]));
            }
        }
    }
}

/// The features of the events that slots name, as a constant.
pub(super) fn event_features(
    forward: &mut Forward<'_>,
    features: Option<&Arc<Matrix>>,
    events: EventData<'_>,
    width: usize,
) -> Result<Option<Var>, NnError> {
    if width == 0 {
        return Ok(None);
    }
    Ok(Some(match (features, events.on_gpu) {
        (Some(features), _) => forward.tape.constant(features, 0..features.shape().rows)?,
        (None, Some(all)) => forward.tape.fixed(all),
        // A batch without neighbours names no events.
        (None, None) => forward.tape.zeros(0, width),
    }))
}
