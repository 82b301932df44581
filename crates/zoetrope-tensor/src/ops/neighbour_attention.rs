//! Attention over sampled neighbours: weighted sums of what the slots of a target hold.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::dropout::Dropout;
use crate::cpu::neighbour_attention::{
    NeighbourCall, NeighbourGradients, neighbour_attention_backward, neighbour_attention_forward,
};
use crate::cuda::neighbour_attention::{self as device, Lists};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::neighbourhood::Neighbourhood;
use crate::ops::dropout::expect_rate;
use crate::ops::gather::expect_rows;
use crate::ops::recurrent::lent;
use crate::tape::{Op, Opened, Tape, Var, expect_shape, sink};

const NAME: &str = "neighbour_attention";

/// Operands and options of [`Tape::neighbour_attention`].
///
/// A slot holds `x = [row | features | cos(w·Δt + b) | 1]`, `X` wide; a part that is absent is 0
/// wide.
#[derive(Debug, Clone, Copy)]
pub struct NeighbourAttention {
    /// What targets ask with: `R × heads·X`. The last column of a head multiplies the 1.
    pub queries: Var,
    /// The neighbours' rows, `U × M`.
    pub rows: Option<Var>,
    /// The events' features, `E × F`; no gradient flows into them.
    pub features: Option<Var>,
    /// Weight and bias of the time encoding, each `T × 1` or `1 × T`.
    pub time: Option<[Var; 2]>,
    /// The number of heads.
    pub heads: usize,
    /// The factor of the scores.
    pub scale: f32,
    /// The slope below 0 of a leaky relu on the scores, or none.
    pub slope: Option<f32>,
    /// Dropout on the attention weights.
    pub dropout: Option<Dropout>,
}

impl Tape {
    /// For each target and head the sum of what its slots hold, weighted by attention.
    ///
    /// The score of a slot is `leaky_relu(scale · q·x)`, the weights are the softmax of the scores
    /// over the slots of the target, after dropout if that is asked for. `deltas` has the time
    /// difference of each slot, and is not read if there is no time encoding. Returns
    /// `targets × heads·X`, in the order of `x`, so that the last column of a head is the sum of
    /// its weights; 0 for a target without slots.
    ///
    /// # Errors
    /// If the shapes do not fit each other or the layout, a position of the layout is out of
    /// range, the layout was not indexed though rows or queries get a gradient, or the dropout
    /// rate is not in `[0, 1)`.
    pub fn neighbour_attention(
        &mut self,
        call: NeighbourAttention,
        layout: &Arc<Neighbourhood>,
        deltas: &Arc<Vec<f64>>,
    ) -> Result<Var, TensorError> {
        self.expect_neighbours(&call, layout, deltas)?;
        let cols = self.shape(call.queries).cols;
        let shape = Shape::new(layout.targets(), cols);
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(layout.slots() * call.heads);
        let mut lists = None;
        match self.gpu() {
            None => {
                let kernel = self.neighbour_call(&call, layout, deltas);
                neighbour_attention_forward(&kernel, y.as_mut_slice(), saved.as_mut_slice());
            }
            Some(gpu) => {
                let deltas = if call.time.is_some() { &deltas[..] } else { &[] };
                let lists = lists.insert(Box::new(Lists::new(gpu, layout, deltas)));
                let kernel = self.neighbour_call_on_gpu(&call, lists);
                device::neighbour_attention_forward(gpu, &kernel, y.view_mut(), saved.view_mut());
            }
        }
        let [weight, bias] = call.time.unwrap_or([call.queries; 2]);
        let inputs = [call.queries, call.rows.unwrap_or(call.queries), weight, bias];
        let (layout, deltas) = (Arc::clone(layout), Arc::clone(deltas));
        let op = Op::NeighbourAttention { call, layout, deltas, lists };
        Ok(self.record(op, shape, y, Some(saved), &inputs))
    }

    fn expect_neighbours(
        &self,
        call: &NeighbourAttention,
        layout: &Neighbourhood,
        deltas: &[f64],
    ) -> Result<(), TensorError> {
        let queries = self.shape(call.queries);
        let mut width = 1;
        for part in [call.rows, call.features].into_iter().flatten() {
            width += self.shape(part).cols;
        }
        if let Some(encoder) = call.time {
            width += self.expect_encoder(NAME, encoder)?;
            expect_count("the number of time differences", layout.slots(), deltas.len())?;
        }
        if call.heads == 0 {
            return argument("the number of heads", "at least 1", 0);
        }
        let expected = Shape::new(queries.rows, call.heads * width);
        expect_shape(NAME, "the queries", expected, queries)?;
        if let Some(dropout) = call.dropout {
            expect_rate(NAME, dropout.p)?;
        }
        let ascending =
            layout.offsets.first().is_none_or(|&at| at == 0) && layout.offsets.is_sorted();
        let end = layout.offsets.last().map_or(0, |&end| end as usize);
        if !ascending || end != layout.slots() {
            return argument("the last offset", "the number of slots, from 0 on", end);
        }
        expect_count("the number of targets' queries", layout.targets(), layout.query.len())?;
        expect_rows(NAME, &layout.query, queries.rows)?;
        if let Some(rows) = call.rows {
            expect_rows(NAME, &layout.source, self.shape(rows).rows)?;
        }
        if let Some(features) = call.features {
            expect_count("the number of slots' events", layout.slots(), layout.event.len())?;
            expect_rows(NAME, &layout.event, self.shape(features).rows)?;
        }
        self.expect_indexed(call, layout)
    }

    /// Requires the inverted positions if the backward pass will read them.
    fn expect_indexed(
        &self,
        call: &NeighbourAttention,
        layout: &Neighbourhood,
    ) -> Result<(), TensorError> {
        let needs = |var: Option<Var>| var.is_some_and(|var| self.needs_gradient(var));
        let [weight, bias] = call.time.map_or([None; 2], |time| time.map(Some));
        let rows = needs(call.rows);
        if !(rows || needs(Some(call.queries)) || needs(weight) || needs(bias)) {
            return Ok(());
        }
        let count = self.shape(call.queries).rows + 1;
        let name = "the number of queries in the index, and 1";
        expect_count(name, count, layout.targets_of_query_offsets.len())?;
        let name = "the number of targets in the index";
        expect_count(name, layout.targets(), layout.targets_of_query.len())?;
        if rows {
            let count = call.rows.map_or(0, |rows| self.shape(rows).rows) + 1;
            let name = "the number of rows in the index, and 1";
            expect_count(name, count, layout.slots_of_source_offsets.len())?;
            let name = "the number of slots in the index";
            expect_count(name, layout.slots(), layout.slots_of_source.len())?;
            expect_count(name, layout.slots(), layout.target_of_slot.len())?;
        }
        Ok(())
    }

    /// The operands as the kernels read them.
    fn neighbour_call<'a>(
        &'a self,
        call: &NeighbourAttention,
        layout: &'a Neighbourhood,
        deltas: &'a [f64],
    ) -> NeighbourCall<'a> {
        let part = |var: Option<Var>| {
            var.map_or((&[][..], 0), |var| (self.value(var), self.shape(var).cols))
        };
        NeighbourCall {
            layout,
            heads: call.heads,
            scale: call.scale,
            slope: call.slope,
            dropout: call.dropout.filter(|dropout| dropout.p > 0.0),
            queries: self.value(call.queries),
            rows: part(call.rows),
            features: part(call.features),
            time: call.time.map(|time| time.map(|var| self.value(var))),
            deltas,
        }
    }

    /// The operands as the kernels of a GPU read them.
    fn neighbour_call_on_gpu<'a>(
        &'a self,
        call: &NeighbourAttention,
        lists: &'a Lists,
    ) -> device::NeighbourCall<'a> {
        let part = |var: Option<Var>| {
            var.map_or((None, 0), |var| (Some(self.view(var)), self.shape(var).cols))
        };
        device::NeighbourCall {
            lists,
            heads: call.heads,
            scale: call.scale,
            slope: call.slope,
            dropout: call.dropout,
            queries: self.view(call.queries),
            rows: part(call.rows),
            features: part(call.features),
            time: call.time.map(|time| time.map(|var| self.view(var))),
        }
    }

    pub(super) fn neighbour_attention_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::NeighbourAttention { ref call, ref layout, ref deltas, ref lists } = *op else {
            unreachable!()
        };
        let mut d_queries = self.open_to_overwrite(call.queries);
        let mut d_rows = call.rows.and_then(|rows| self.open_to_overwrite(rows));
        let mut d_weight = self.open_optional(call.time.map(|[weight, _]| weight));
        let mut d_bias = self.open_optional(call.time.map(|[_, bias]| bias));
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its weights");
        match (self.gpu(), lists) {
            (Some(gpu), Some(lists)) => device::neighbour_attention_backward(
                gpu,
                &self.neighbour_call_on_gpu(call, lists),
                saved.view(),
                self.view(node),
                dy.view(),
                device::NeighbourGradients {
                    queries: sink(&mut d_queries),
                    rows: sink(&mut d_rows),
                    weight: d_weight.as_mut().map(Opened::view),
                    bias: d_bias.as_mut().map(Opened::view),
                },
            ),
            _ => neighbour_attention_backward(
                &self.neighbour_call(call, layout, deltas),
                saved.as_slice(),
                dy.as_slice(),
                NeighbourGradients {
                    queries: lent(&mut d_queries),
                    rows: lent(&mut d_rows),
                    weight: d_weight.as_mut().map(Opened::slice),
                    bias: d_bias.as_mut().map(Opened::slice),
                },
            ),
        }
        self.close([d_queries, d_rows, d_weight, d_bias]);
    }
}

fn argument<T>(name: &'static str, expected: &'static str, got: usize) -> Result<T, TensorError> {
    Err(TensorError::Argument { operator: NAME, name, expected, got: got.to_string() })
}

fn expect_count(name: &'static str, expected: usize, got: usize) -> Result<(), TensorError> {
    if expected == got {
        Ok(())
    } else {
        argument(name, "that of the layout and the operands", got)
    }
}
