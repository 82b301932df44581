//! Batch and layer normalisation.

use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cpu::norm;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

/// Mean and variance of the columns of a batch, for the running statistics of a layer.
#[derive(Debug, Clone, Copy)]
pub struct BatchStatistics<'a> {
    /// The mean of each column.
    pub mean: &'a [f32],
    /// `1 / √(variance + ε)` of each column, the variance over the batch (not unbiased).
    pub inverse_deviation: &'a [f32],
}

impl Tape {
    fn expect_affine(
        &self,
        operator: &'static str,
        x: Shape,
        scale: Var,
        shift: Var,
    ) -> Result<(), TensorError> {
        let row = Shape::new(1, x.cols);
        expect_shape(operator, "the scale", row, self.shape(scale))?;
        expect_shape(operator, "the shift", row, self.shape(shift))
    }

    /// `(x - mean) / √(variance + ε) ∘ scale + shift` with the statistics of the columns of `x`,
    /// which [`Tape::batch_statistics`] tells afterwards.
    ///
    /// # Errors
    /// Where scale or shift are not one row as wide as `x`.
    pub fn batch_norm(
        &mut self,
        x: Var,
        scale: Var,
        shift: Var,
        epsilon: f32,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        self.expect_affine("batch_norm", shape, scale, shift)?;
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(2 * shape.cols);
        let (mean, inverse) = saved.as_mut_slice().split_at_mut(shape.cols);
        norm::batch_statistics(self.value(x), shape.rows, shape.cols, epsilon, mean, inverse);
        norm::batch_norm_forward(
            self.value(x),
            shape.cols,
            mean,
            inverse,
            Some(self.value(scale)),
            Some(self.value(shift)),
            y.as_mut_slice(),
        );
        let op = Op::BatchNorm { x, scale, shift, fixed: false };
        Ok(self.record(op, shape, y, Some(saved), &[x, scale, shift]))
    }

    /// The same with given mean and variance instead of those of `x`: evaluation.
    ///
    /// # Errors
    /// Where a row of numbers is not as wide as `x`.
    pub fn batch_norm_fixed(
        &mut self,
        x: Var,
        [scale, shift]: [Var; 2],
        mean: &[f32],
        variance: &[f32],
        epsilon: f32,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        self.expect_affine("batch_norm", shape, scale, shift)?;
        for given in [mean, variance] {
            let row = Shape::new(1, shape.cols);
            expect_shape("batch_norm", "a given statistic", row, Shape::new(1, given.len()))?;
        }
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(2 * shape.cols);
        let (kept_mean, inverse) = saved.as_mut_slice().split_at_mut(shape.cols);
        kept_mean.copy_from_slice(mean);
        for (inverse, variance) in inverse.iter_mut().zip(variance) {
            *inverse = 1.0 / (variance + epsilon).sqrt();
        }
        norm::batch_norm_forward(
            self.value(x),
            shape.cols,
            kept_mean,
            inverse,
            Some(self.value(scale)),
            Some(self.value(shift)),
            y.as_mut_slice(),
        );
        let op = Op::BatchNorm { x, scale, shift, fixed: true };
        Ok(self.record(op, shape, y, Some(saved), &[x, scale, shift]))
    }

    /// The statistics that a batch normalisation used; None for other matrices.
    pub fn batch_statistics(&self, normalised: Var) -> Option<BatchStatistics<'_>> {
        let node = self.node(normalised);
        let saved = node.saved.as_ref().filter(|_| matches!(node.op, Op::BatchNorm { .. }))?;
        let (mean, inverse_deviation) = saved.as_slice().split_at(node.shape.cols);
        Some(BatchStatistics { mean, inverse_deviation })
    }

    pub(super) fn batch_norm_backward(
        &mut self,
        node: Var,
        x: Var,
        scale: Var,
        shift: Var,
        fixed: bool,
        dy: &Buffer,
    ) {
        let shape = self.shape(x);
        let mut dx = if fixed { self.open(x) } else { self.open_to_overwrite(x) };
        let mode = dx.as_ref().map_or(Accumulate::Add, |dx| dx.mode);
        let mut d_scale = self.open(scale);
        let mut d_shift = self.open(shift);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its statistics");
        let (mean, inverse) = saved.as_slice().split_at(shape.cols);
        let weight = Some(self.value(scale));
        // Given statistics do not depend on x, so its gradient is a plain scaling.
        if let Some(dx) = dx.as_mut().filter(|_| fixed) {
            norm::batch_norm_fixed_backward(shape.cols, inverse, weight, dy.as_slice(), dx.slice());
        }
        norm::batch_norm_backward(
            self.value(x),
            shape.cols,
            mean,
            inverse,
            weight,
            dy.as_slice(),
            dx.as_mut().filter(|_| !fixed).map(|d| d.slice()),
            mode,
            d_scale.as_mut().map(|d| d.slice()),
            d_shift.as_mut().map(|d| d.slice()),
        );
        self.close([dx, d_scale, d_shift]);
    }

    /// `(x - mean) / √(variance + ε) ∘ scale + shift` with the statistics of each row.
    ///
    /// # Errors
    /// Where scale or shift are not one row as wide as `x`.
    pub fn layer_norm(
        &mut self,
        x: Var,
        scale: Var,
        shift: Var,
        epsilon: f32,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        self.expect_affine("layer_norm", shape, scale, shift)?;
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(2 * shape.rows);
        norm::layer_norm_forward(
            self.value(x),
            shape.cols,
            epsilon,
            Some(self.value(scale)),
            Some(self.value(shift)),
            y.as_mut_slice(),
            saved.as_mut_slice(),
        );
        let op = Op::LayerNorm { x, scale, shift };
        Ok(self.record(op, shape, y, Some(saved), &[x, scale, shift]))
    }

    pub(super) fn layer_norm_backward(
        &mut self,
        node: Var,
        x: Var,
        scale: Var,
        shift: Var,
        dy: &Buffer,
    ) {
        let shape = self.shape(x);
        let mut dx = self.open(x);
        let mut d_scale = self.open(scale);
        let mut d_shift = self.open(shift);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its statistics");
        norm::layer_norm_backward(
            self.value(x),
            shape.cols,
            saved.as_slice(),
            Some(self.value(scale)),
            dy.as_slice(),
            dx.as_mut().map(|d| d.slice()),
            d_scale.as_mut().map(|d| d.slice()),
            d_shift.as_mut().map(|d| d.slice()),
        );
        self.close([dx, d_scale, d_shift]);
    }
}
