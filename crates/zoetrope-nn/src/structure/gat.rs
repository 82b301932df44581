//! Graph attention (Veličković and others, ICLR 2018).

use zoetrope_tensor::{Activation, GatOptions, Var};

use crate::encoder::StructureEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Group;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// The slope of the leaky ReLU of the scores below zero, in the paper as in DySAT's.
pub(crate) const HEAD_SLOPE: f32 = 0.2;

/// Attention over the in-edges of a vertex and itself; names as PyG's `GATConv`.
///
/// `y_r = Σ_c α_rc W·x_c + b` with `α_r = softmax_c(leaky_relu(a_src·W·x_c + a_dst·W·x_r))` for each
/// head, heads side by side. From `T·N × in` to `T·N × heads·out`. Parameters: `lin.weight`
/// (`heads·out × in`), `att_src`, `att_dst` (`1 × heads × out`), all glorot, `bias` (`heads·out`,
/// zeros).
#[derive(Debug, Clone, Copy)]
pub struct Gat {
    weight: ParameterId,
    source: ParameterId,
    destination: ParameterId,
    bias: ParameterId,
    heads: usize,
    outputs: usize,
}

impl Gat {
    /// Adds the parameters of a layer with `heads` heads of `outputs` columns each.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize, heads: usize) -> Self {
        let attention = [1, heads, outputs];
        Self {
            weight: builder.weight("lin.weight", &[heads * outputs, inputs], Initialise::Glorot),
            source: builder.weight("att_src", &attention, Initialise::Glorot),
            destination: builder.weight("att_dst", &attention, Initialise::Glorot),
            bias: builder.weight("bias", &[heads * outputs], Initialise::Zeros),
            heads,
            outputs,
        }
    }
}

impl StructureEncoder for Gat {
    fn width(&self) -> usize {
        self.heads * self.outputs
    }

    fn form(&self) -> Adjacency {
        Adjacency::SelfLoops
    }

    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError> {
        let weight = forward.parameter(self.weight);
        let source = forward.parameter(self.source);
        let destination = forward.parameter(self.destination);
        let bias = forward.parameter(self.bias);
        let all = group.gather(forward, x)?;
        let source = head_scores(forward, all, weight, source)?;
        let destination = head_scores(forward, x, weight, destination)?;
        let features = forward.tape.linear(all, weight, None, Activation::Identity)?;
        let options =
            GatOptions { heads: self.heads, slope: HEAD_SLOPE, weighted: false, dropout: None };
        let operands = [features, source, destination];
        let y = group.attend(forward, Adjacency::SelfLoops, operands, options)?;
        Ok(forward.tape.add_bias(y, bias)?)
    }
}

/// The share of a vertex in the scores of each head: `x·(a_h·W_h)ᵀ`, `T·N × heads`.
///
/// `weight` is `heads·D × in`, `attention` is `heads × D`. Folding the attention vector into the
/// weight first reads the narrow input instead of the wide features.
pub(crate) fn head_scores(
    forward: &mut Forward<'_>,
    x: Var,
    weight: Var,
    attention: Var,
) -> Result<Var, NnError> {
    let tape = &mut *forward.tape;
    let shape = tape.shape(attention);
    let (heads, width) = (shape.rows, shape.cols);
    let mut folded = Vec::with_capacity(heads);
    for head in 0..heads {
        let vector = tape.rows(attention, head..head + 1)?;
        let block = tape.rows(weight, head * width..(head + 1) * width)?;
        folded.push(tape.matmul(vector, block)?);
    }
    let folded = tape.concat_rows(&folded)?;
    Ok(tape.linear(x, folded, None, Activation::Identity)?)
}
