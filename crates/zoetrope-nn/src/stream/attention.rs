//! Attention over sampled neighbours, by two conventions.
//!
//! Keys and values are linear in `x_j = [h_j, e_ij, φ(Δt), 1]`, so a query is carried through the
//! keys' weight once for each distinct root (`W_kᵀ·q`), scores are its products with `x_j`, and the
//! values' weight is applied to `Σ α_j x_j`: nothing is projected for each neighbour.

use std::sync::Arc;

use zoetrope_tensor::{Activation, NeighbourAttention, Neighbourhood, Var};

use super::options::Convention;
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::layer::{LayerNorm, Linear};
use crate::parameters::{Builder, ParameterId};

/// The slope of the leaky ReLU of TGL's scores below zero.
pub(super) const SLOPE: f32 = 0.2;

/// What a layer reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level<'a> {
    /// The rows of the level below; None if vertices have neither memory nor features.
    pub(super) rows: Option<Var>,
    /// The features of events.
    pub(super) features: Option<Var>,
    /// The rows of the level below that are asked about, each once.
    pub(super) roots: &'a Arc<Vec<u32>>,
    /// The place of each target among the roots.
    pub(super) targets: &'a Arc<Vec<u32>>,
    /// Which slots each target reads.
    pub(super) layout: &'a Arc<Neighbourhood>,
    /// The time difference of each slot.
    pub(super) deltas: &'a Arc<Vec<f64>>,
}

impl Level<'_> {
    /// The rows of the roots.
    pub(super) fn root_rows(&self, forward: &mut Forward<'_>) -> Result<Option<Var>, NnError> {
        let rows = self.rows.map(|rows| forward.tape.gather(rows, self.roots));
        Ok(rows.transpose()?)
    }
}

/// The widths of what a layer reads and gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    /// Rows of the level below.
    pub(super) rows: usize,
    /// Features of an event.
    pub(super) features: usize,
    /// Rows that come out.
    pub(super) out: usize,
}

/// PyG's `TransformerConv` over `[φ(Δt), e_ij]`, with attention dropout.
///
/// `y_i = W_skip·h_i + b + Σ_j α_ij (W_value·h_j + b_value + W_edge·[φ_ij, e_ij])`, `α` the softmax
/// of `q·k/√d` for each head. Parameters: `lin_{key,query,value,skip}.*` (`out × in`) and
/// `lin_edge.weight` (`out × (T + F)`), uniform in `±1/√in`.
#[derive(Debug, Clone)]
pub(super) struct ConvolutionLayer {
    key: Linear,
    query: Linear,
    value: Linear,
    edge: ParameterId,
    skip: Linear,
    time: TimeEncoder,
    widths: Widths,
    heads: usize,
    dropout: f32,
}

impl ConvolutionLayer {
    /// Adds the parameters of a layer; the time encoding is that of the memory.
    pub(super) fn new(
        builder: &mut Builder<'_>,
        widths: Widths,
        time: TimeEncoder,
        heads: usize,
        dropout: f32,
    ) -> Self {
        let mut linear =
            |name: &str| Linear::new(&mut builder.child(name), widths.rows, widths.out);
        let (key, query, value) = (linear("lin_key"), linear("lin_query"), linear("lin_value"));
        let inputs = time.width() + widths.features;
        let edge =
            builder.weight("lin_edge.weight", &[widths.out, inputs], Initialise::linear(inputs));
        let skip = Linear::new(&mut builder.child("lin_skip"), widths.rows, widths.out);
        Self { key, query, value, edge, skip, time, widths, heads, dropout }
    }

    pub(super) fn apply(
        &self,
        forward: &mut Forward<'_>,
        level: &Level<'_>,
    ) -> Result<Var, NnError> {
        let Some(roots) = level.root_rows(forward)? else {
            return Err(missing("rows of memory or vertex features"));
        };
        let edge = forward.parameter(self.edge);
        let (time, end) = (self.time.width(), self.time.width() + self.widths.features);
        // In the order of a slot's row: features before the time encoding.
        let edge = match self.widths.features {
            0 => edge,
            _ => {
                let tape = &mut *forward.tape;
                let parts = [tape.columns(edge, time..end)?, tape.columns(edge, 0..time)?];
                tape.concat_columns(&parts)?
            }
        };
        let mut carried = |layer: Linear| -> Result<Var, NnError> {
            let (weight, bias) = (layer.weight(forward), layer.bias(forward));
            let bias = forward.tape.reshape(bias, self.widths.out, 1)?;
            Ok(forward.tape.concat_columns(&[weight, edge, bias])?)
        };
        let (key, value) = (carried(self.key)?, carried(self.value)?);
        let query = self.query.apply(forward, roots, Activation::Identity)?;
        let call = NeighbourAttention {
            queries: forward.tape.head_products(query, key, self.heads, false)?,
            rows: level.rows,
            features: level.features,
            time: Some(self.time.parameters(forward)),
            heads: self.heads,
            scale: 1.0 / ((self.widths.out / self.heads) as f32).sqrt(),
            slope: None,
            dropout: forward.dropout_mask(self.dropout),
        };
        let sums = forward.tape.neighbour_attention(call, level.layout, level.deltas)?;
        let read = forward.tape.head_products(sums, value, self.heads, true)?;
        let skip = self.skip.apply(forward, roots, Activation::Identity)?;
        let skip = forward.tape.gather(skip, level.targets)?;
        Ok(forward.tape.add(read, skip)?)
    }
}

/// TGL's `TransfomerAttentionLayer`, which is the TGN paper's and TGAT's.
///
/// `q = W_q·[h_i, φ(0)] + b_q`, `k, v = W·[h_j, e_ij, φ(Δt)] + b`, `α` the softmax of
/// `leaky_relu(q·k)` for each head, `y_i = norm(relu(dropout(W_out·[Σ α v, h_i] + b_out)))`.
/// Parameters: `w_q`, `w_k`, `w_v`, `w_out` with `weight` and `bias`, `layer_norm.*`,
/// `time_enc.w.*`.
#[derive(Debug, Clone)]
pub(super) struct AttentionLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    last: Linear,
    norm: LayerNorm,
    time: TimeEncoder,
    widths: Widths,
    heads: usize,
    dropout: f32,
}

impl AttentionLayer {
    pub(super) fn new(
        builder: &mut Builder<'_>,
        widths: Widths,
        time_width: usize,
        heads: usize,
        dropout: f32,
    ) -> Self {
        let Widths { rows, features, out } = widths;
        let time = TimeEncoder::new(&mut builder.child("time_enc"), Convention::Tgl, time_width);
        let inputs = rows + features + time_width;
        Self {
            query: Linear::new(&mut builder.child("w_q"), rows + time_width, out),
            key: Linear::new(&mut builder.child("w_k"), inputs, out),
            value: Linear::new(&mut builder.child("w_v"), inputs, out),
            last: Linear::new(&mut builder.child("w_out"), rows + out, out),
            norm: LayerNorm::new(&mut builder.child("layer_norm"), out),
            time,
            widths,
            heads,
            dropout,
        }
    }

    pub(super) fn apply(
        &self,
        forward: &mut Forward<'_>,
        level: &Level<'_>,
    ) -> Result<Var, NnError> {
        let Widths { rows: inner, out, .. } = self.widths;
        let roots = level.root_rows(forward)?;
        let query = self.queries(forward, level, roots)?;
        let key = with_bias(forward, self.key)?;
        let call = NeighbourAttention {
            queries: forward.tape.head_products(query, key, self.heads, false)?,
            rows: level.rows,
            features: level.features,
            time: Some(self.time.parameters(forward)),
            heads: self.heads,
            scale: 1.0,
            slope: Some(SLOPE),
            dropout: forward.dropout_mask(self.dropout),
        };
        let sums = forward.tape.neighbour_attention(call, level.layout, level.deltas)?;
        let value = with_bias(forward, self.value)?;
        let read = forward.tape.head_products(sums, value, self.heads, true)?;
        let (weight, bias) = (self.last.weight(forward), self.last.bias(forward));
        let tape = &mut *forward.tape;
        let (weight, own) = match roots {
            None => (weight, None),
            Some(roots) => {
                let right = tape.columns(weight, out..out + inner)?;
                let own = tape.linear(roots, right, None, Activation::Identity)?;
                (tape.columns(weight, 0..out)?, Some(tape.gather(own, level.targets)?))
            }
        };
        // Dropout before relu, as the reference has it, is the same: it scales by what is not
        // negative.
        let y = tape.linear_plus(read, weight, Some(bias), own, Activation::Relu)?;
        let y = forward.dropout(y, self.dropout)?;
        self.norm.apply(forward, y)
    }

    /// `W_q·[h, φ(0)] + b_q` for each root.
    fn queries(
        &self,
        forward: &mut Forward<'_>,
        level: &Level<'_>,
        roots: Option<Var>,
    ) -> Result<Var, NnError> {
        let inner = self.widths.rows;
        let zero = self.time.at_zero(forward)?;
        let (weight, bias) = (self.query.weight(forward), self.query.bias(forward));
        let tape = &mut *forward.tape;
        let Some(roots) = roots else {
            // All roots ask the same.
            let query = tape.linear(zero, weight, Some(bias), Activation::Identity)?;
            let ones = tape.ones(level.roots.len(), 1);
            return Ok(tape.matmul(ones, query)?);
        };
        let right = tape.columns(weight, inner..inner + self.time.width())?;
        let offset = tape.linear(zero, right, Some(bias), Activation::Identity)?;
        let left = tape.columns(weight, 0..inner)?;
        Ok(tape.linear(roots, left, Some(offset), Activation::Identity)?)
    }
}

/// The weight of a layer with its bias as one more column.
pub(super) fn with_bias(forward: &mut Forward<'_>, layer: Linear) -> Result<Var, NnError> {
    let (weight, bias) = (layer.weight(forward), layer.bias(forward));
    let rows = forward.tape.shape(weight).rows;
    let bias = forward.tape.reshape(bias, rows, 1)?;
    Ok(forward.tape.concat_columns(&[weight, bias])?)
}

/// The batch lacks what a layer reads.
pub(super) fn missing(what: &str) -> NnError {
    NnError::Option {
        model: "a model over events",
        option: "the batch",
        expected: format!("given with {what}"),
        got: "without".to_owned(),
    }
}
