//! Scores of pairs of rows: two linear layers with relu, without a row for each pair.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::gather::scatter_add_rows;
use crate::cpu::pairs::{self, PairScores};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::ops::gather::expect_rows;
use crate::tape::{Op, Opened, Tape, Value, Var, expect_shape};

/// The matrices that score pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairLayers {
    /// The share of each vertex as a source in the hidden layer, `N × H`.
    pub source: Var,
    /// Its share as a destination, `N × H`.
    pub destination: Var,
    /// The last layer, `outputs × H`.
    pub weight: Var,
    /// Its bias, one row.
    pub bias: Var,
}

impl Tape {
    /// `relu(source[src] + destination[dst])·weightᵀ + bias` for each pair, `pairs × outputs`.
    ///
    /// # Errors
    /// If shapes do not fit, the ends are not equally many, or one is beyond the last row.
    pub fn pair_scores(
        &mut self,
        layers: PairLayers,
        [src, dst]: [&Arc<Vec<u32>>; 2],
    ) -> Result<Var, TensorError> {
        let PairLayers { source, destination, weight, bias } = layers;
        let (rows, stored) = (self.shape(source), self.shape(weight));
        let other = self.shape(destination);
        expect_shape(
            "pair_scores",
            "the rows of destinations",
            Shape::new(other.rows, rows.cols),
            other,
        )?;
        expect_shape("pair_scores", "the weight", Shape::new(stored.rows, rows.cols), stored)?;
        expect_shape("pair_scores", "the bias", Shape::new(1, stored.rows), self.shape(bias))?;
        if src.len() != dst.len() {
            let (index, count) = (src.len(), dst.len());
            return Err(TensorError::OutOfRange {
                operator: "pair_scores",
                what: "pair",
                index,
                count,
            });
        }
        expect_rows("pair_scores", src, rows.rows)?;
        expect_rows("pair_scores", dst, other.rows)?;
        let shape = Shape::new(src.len(), stored.rows);
        let mut y = self.pool.take(shape.len());
        if shape.cols > 0 {
            match self.gpu() {
                None => pairs::pair_scores(self.pairs(layers, [src, dst]), y.as_mut_slice()),
                Some(gpu) => {
                    let pairs = self.pairs_on_gpu(layers, [src, dst]);
                    cuda::pairs::pair_scores(gpu, pairs, y.view_mut());
                }
            }
        }
        let inputs = [source, destination, weight, bias];
        if !inputs.iter().any(|&input| self.needs_gradient(input)) {
            // There is no backward pass from here: the caller's lists need not be kept.
            return Ok(self.push(Op::Leaf, shape, Value::Owned(y), None, false));
        }
        let ends = [Arc::clone(src), Arc::clone(dst)];
        Ok(self.record(Op::PairScores { layers, ends }, shape, y, None, &inputs))
    }

    fn pairs<'a>(&'a self, layers: PairLayers, [src, dst]: [&'a [u32]; 2]) -> PairScores<'a> {
        PairScores {
            source: self.value(layers.source),
            destination: self.value(layers.destination),
            width: self.shape(layers.source).cols,
            ends: [src, dst],
            weight: self.value(layers.weight),
            bias: self.value(layers.bias),
        }
    }

    fn pairs_on_gpu<'a>(
        &'a self,
        layers: PairLayers,
        ends: [&'a Arc<Vec<u32>>; 2],
    ) -> cuda::pairs::PairScores<'a> {
        cuda::pairs::PairScores {
            rows: [self.view(layers.source), self.view(layers.destination)],
            width: self.shape(layers.source).cols,
            ends,
            weight: self.view(layers.weight),
            bias: self.view(layers.bias),
        }
    }

    pub(super) fn pair_scores_backward(
        &mut self,
        layers: PairLayers,
        [src, dst]: [&Arc<Vec<u32>>; 2],
        dy: &Buffer,
    ) {
        let PairLayers { source, destination, weight, bias } = layers;
        if self.gpu().is_some() {
            let mut opened = [source, destination, weight, bias].map(|operand| self.open(operand));
            let [d_source, d_destination, d_weight, d_bias] =
                opened.each_mut().map(|d| d.as_mut().map(Opened::view));
            if let Some(gpu) = self.gpu() {
                let (pairs, rows) =
                    (self.pairs_on_gpu(layers, [src, dst]), [d_source, d_destination]);
                cuda::pairs::pair_scores_backward(gpu, pairs, dy.view(), rows, d_weight, d_bias);
            }
            return self.close(opened);
        }
        let (width, outputs) = (self.shape(source).cols, self.shape(weight).rows);
        let mut d_rows = self.pool.take(src.len() * width);
        let mut d_layer = self.pool.take_zeroed(outputs * (width + 1));
        if outputs > 0 {
            let pairs = self.pairs(layers, [src, dst]);
            let (d_rows, d_layer) = (d_rows.as_mut_slice(), d_layer.as_mut_slice());
            pairs::pair_scores_backward(pairs, dy.as_slice(), d_rows, d_layer);
        }
        for (operand, ends) in [(source, src), (destination, dst)] {
            if let Some(mut d) = self.open(operand) {
                scatter_add_rows(d_rows.as_slice(), width, ends, d.slice());
                self.close([Some(d)]);
            }
        }
        let (d_weight, d_bias) = d_layer.as_slice().split_at(outputs * width);
        for (operand, gradient) in [(weight, d_weight), (bias, d_bias)] {
            if let Some(mut d) = self.open(operand) {
                crate::cpu::elementwise::scale_add(1.0, gradient, d.slice());
                self.close([Some(d)]);
            }
        }
        self.pool.give(d_rows);
        self.pool.give(d_layer);
    }
}
