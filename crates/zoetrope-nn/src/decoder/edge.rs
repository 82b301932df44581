//! Heads that answer for pairs of vertices.

use std::sync::Arc;

use zoetrope_tensor::{Activation, Matrix, PairLayers, Var};

use crate::decoder::vertex::linear;
use crate::error::NnError;
use crate::forward::Forward;
use crate::parameters::{Builder, ParameterId};

/// Which head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeRule {
    /// `h_u · h_v`, without parameters; one number only.
    Dot,
    /// `relu([h_u, h_v]·W₁ᵀ + b₁)·W₂ᵀ + b₂`, the classifier of EvolveGCN; parameters under
    /// `decoder.0.` and `decoder.2.`. With features of the pairs themselves
    /// ([`EdgeDecoder::with_features`]) the first layer reads `[h_u, h_v, x]`.
    Concat,
}

/// Pairs by the rows of their two ends.
#[derive(Debug, Clone, Default)]
pub struct Ends {
    /// The row of each source.
    pub src: Arc<Vec<u32>>,
    /// The row of each destination.
    pub dst: Arc<Vec<u32>>,
}

/// A scalar product or two linear layers.
#[derive(Debug)]
pub struct EdgeDecoder {
    layers: Option<[[ParameterId; 2]; 2]>,
    width: usize,
    /// The features of a pair itself.
    features: usize,
    /// One row, which adds up a product.
    ones: Arc<Matrix>,
}

impl EdgeDecoder {
    /// A head from embeddings of `width` to `outputs` numbers for each pair.
    pub fn new(builder: &mut Builder<'_>, rule: EdgeRule, width: usize, outputs: usize) -> Self {
        let layers = (rule == EdgeRule::Concat).then(|| layers(builder, width, 0, outputs));
        let mut ones = Matrix::zeros(1, width);
        ones.as_mut_slice().fill(1.0);
        Self { layers, width, features: 0, ones: Arc::new(ones) }
    }

    /// A head with [`EdgeRule::Concat`] that reads `features` numbers of each pair besides its ends.
    pub fn with_features(
        builder: &mut Builder<'_>,
        width: usize,
        features: usize,
        outputs: usize,
    ) -> Self {
        let layers = Some(layers(builder, width, features, outputs));
        Self { layers, width, features, ones: Arc::new(Matrix::zeros(1, width)) }
    }

    /// From `rows × width` to `pairs × outputs`.
    ///
    /// # Errors
    /// If the embeddings have another width, a pair names a row that is not there, or the head reads
    /// features of pairs.
    pub fn decode(
        &self,
        forward: &mut Forward<'_>,
        embeddings: Var,
        ends: &Ends,
    ) -> Result<Var, NnError> {
        self.decode_with(forward, embeddings, ends, None)
    }

    /// What scores pairs of vertices, computed once for all pairs of these embeddings; None if the head
    /// scores them otherwise: by a product, or with features of the pairs.
    ///
    /// # Errors
    /// If the embeddings have another width.
    pub fn pair_layers(
        &self,
        forward: &mut Forward<'_>,
        embeddings: Var,
    ) -> Result<Option<PairLayers>, NnError> {
        let Some([first, [second, second_bias]]) = self.layers.filter(|_| self.features == 0)
        else {
            return Ok(None);
        };
        let [source, destination] = self.hidden(forward, embeddings, first)?;
        let (weight, bias) = (forward.parameter(second), forward.parameter(second_bias));
        Ok(Some(PairLayers { source, destination, weight, bias }))
    }

    /// The shares of both ends in the hidden layer. It is linear in each end, so it runs over vertices and
    /// not over pairs, of which there are many more.
    fn hidden(
        &self,
        forward: &mut Forward<'_>,
        embeddings: Var,
        [weight, bias]: [ParameterId; 2],
    ) -> Result<[Var; 2], NnError> {
        let weight = forward.parameter(weight);
        let left = forward.tape.columns(weight, 0..self.width)?;
        let right = forward.tape.columns(weight, self.width..2 * self.width)?;
        let bias = forward.parameter(bias);
        let source = forward.tape.linear(embeddings, left, Some(bias), Activation::Identity)?;
        Ok([source, forward.tape.linear(embeddings, right, None, Activation::Identity)?])
    }

    /// As [`EdgeDecoder::decode`] with the features of the pairs themselves (`pairs × features`), if the
    /// head was made to read them.
    ///
    /// # Errors
    /// If the embeddings or the features have another width, or a pair names a row that is not there.
    pub fn decode_with(
        &self,
        forward: &mut Forward<'_>,
        embeddings: Var,
        ends: &Ends,
        features: Option<Var>,
    ) -> Result<Var, NnError> {
        if let Some(layers) = self.pair_layers(forward, embeddings)? {
            return Ok(forward.tape.pair_scores(layers, [&ends.src, &ends.dst])?);
        }
        let Some([first, [second, second_bias]]) = self.layers else {
            return dot(forward, embeddings, ends, &self.ones);
        };
        let [source, destination] = self.hidden(forward, embeddings, first)?;
        let weight = forward.parameter(first[0]);
        let (last, last_bias) = (forward.parameter(second), forward.parameter(second_bias));
        let own = forward.tape.columns(weight, 2 * self.width..2 * self.width + self.features)?;
        let given = features.unwrap_or_else(|| forward.tape.zeros(ends.src.len(), 0));
        let own = forward.tape.linear(given, own, None, Activation::Identity)?;
        // Each pair has a row of its own in the hidden layer.
        let source = forward.tape.gather(source, &ends.src)?;
        let destination = forward.tape.gather(destination, &ends.dst)?;
        let ends = forward.tape.add(source, destination)?;
        let hidden = forward.tape.add(ends, own)?;
        Ok(forward.tape.readout(hidden, last, last_bias)?)
    }
}

/// Weights and biases of the two layers.
fn layers(
    builder: &mut Builder<'_>,
    width: usize,
    features: usize,
    outputs: usize,
) -> [[ParameterId; 2]; 2] {
    [
        linear(&mut builder.child("decoder.0"), 2 * width + features, width),
        linear(&mut builder.child("decoder.2"), width, outputs),
    ]
}

fn dot(
    forward: &mut Forward<'_>,
    embeddings: Var,
    ends: &Ends,
    ones: &Arc<Matrix>,
) -> Result<Var, NnError> {
    let src = forward.tape.gather(embeddings, &ends.src)?;
    let dst = forward.tape.gather(embeddings, &ends.dst)?;
    let product = forward.tape.mul(src, dst)?;
    let ones = forward.tape.constant(ones, 0..1)?;
    Ok(forward.tape.linear(product, ones, None, Activation::Identity)?)
}
