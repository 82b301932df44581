//! Batch and layer normalisation.

use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cpu::norm;
use crate::cuda::recurrent::Norm;
use crate::cuda::{self, View, ViewMut};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Tape, Value, Var, expect_shape, sink};

/// Mean and variance of the columns of a batch, for the running statistics of a layer.
#[derive(Debug, Clone, Copy)]
pub struct BatchStatistics<'a> {
    /// The mean of each column.
    pub mean: &'a [f32],
    /// `1 / √(variance + ε)` of each column, the variance over the batch (not unbiased).
    pub inverse_deviation: &'a [f32],
}

impl Tape {
    pub(super) fn expect_affine(
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
    /// If scale or shift are not one row as wide as `x`.
    pub fn batch_norm(
        &mut self,
        x: Var,
        scale: Var,
        shift: Var,
        epsilon: f32,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        self.expect_affine("batch_norm", shape, scale, shift)?;
        let mut saved = self.pool.take(2 * shape.cols);
        let Shape { rows, cols } = shape;
        match self.gpu() {
            None => {
                let (mean, inverse) = saved.as_mut_slice().split_at_mut(cols);
                norm::batch_statistics(self.value(x), rows, cols, epsilon, mean, inverse);
            }
            Some(gpu) => {
                let (x, saved) = (self.view(x), saved.view_mut());
                cuda::norm::batch_statistics(gpu, x, rows, cols, epsilon, saved);
            }
        }
        Ok(self.record_norm(
            Op::BatchNorm { x, scale, shift, fixed: false, shared: None },
            shape,
            saved,
        ))
    }

    /// The same with given mean and variance instead of those of `x`: evaluation.
    ///
    /// # Errors
    /// If a row of numbers is not as wide as `x`.
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
        let mut saved = self.pool.take(2 * shape.cols);
        match self.gpu() {
            None => {
                let (kept_mean, inverse) = saved.as_mut_slice().split_at_mut(shape.cols);
                kept_mean.copy_from_slice(mean);
                for (inverse, variance) in inverse.iter_mut().zip(variance) {
                    *inverse = 1.0 / (variance + epsilon).sqrt();
                }
            }
            Some(gpu) => {
                let given = [mean, variance].map(|given| gpu.uploaded(given));
                let given = given.each_ref().map(|given| given.view());
                cuda::norm::given_statistics(gpu, given, epsilon, saved.view_mut());
            }
        }
        Ok(self.record_norm(
            Op::BatchNorm { x, scale, shift, fixed: true, shared: None },
            shape,
            saved,
        ))
    }

    /// Appends a batch norm: on a GPU it is computed when it is first read, because some readers
    /// rather apply it themselves ([`Tape::unnormalised`]).
    pub(super) fn record_norm(&mut self, op: Op, shape: Shape, saved: Buffer) -> Var {
        let Op::BatchNorm { x, scale, shift, .. } = op else { unreachable!("a batch norm") };
        let inputs = [x, scale, shift];
        if self.gpu().is_some() {
            return self.record_deferred(op, shape, saved, &inputs);
        }
        let y = self.normalised(&op, Some(&saved));
        self.record(op, shape, y, Some(saved), &inputs)
    }

    /// What a batch norm that is computed when it is read was given, and how to apply it.
    pub(crate) fn unnormalised(&self, var: Var) -> Option<(View<'_>, Norm<'_>)> {
        let node = self.node(var);
        let (&Op::BatchNorm { x, scale, shift, .. }, Value::Deferred(_)) = (&node.op, &node.value)
        else {
            return None;
        };
        let statistics = node.saved.as_ref()?.view();
        let affine = [self.view(scale), self.view(shift)];
        Some((self.view(x), Norm { statistics, affine }))
    }

    /// `(x - mean) · inverse · scale + shift`, mean and inverse as they were saved.
    pub(crate) fn normalised(&self, op: &Op, saved: Option<&Buffer>) -> Buffer {
        let (&Op::BatchNorm { x, scale, shift, .. }, Some(saved)) = (op, saved) else {
            unreachable!("only batch norms are computed later")
        };
        let Shape { cols, .. } = self.shape(x);
        let mut y = self.pool.take(self.shape(x).len());
        match self.gpu() {
            None => {
                let (mean, inverse) = saved.as_slice().split_at(cols);
                let [scale, shift] = [scale, shift].map(|var| Some(self.value(var)));
                let (x, y) = (self.value(x), y.as_mut_slice());
                norm::batch_norm_forward(x, cols, mean, inverse, scale, shift, y);
            }
            Some(gpu) => {
                let affine = [self.view(scale), self.view(shift)];
                let (x, y) = (self.view(x), y.view_mut());
                cuda::norm::batch_norm_forward(gpu, x, cols, saved.view(), affine, y);
            }
        }
        y
    }

    /// The statistics that a batch normalisation used; None for other matrices, and on a GPU, where
    /// [`Tape::update_running_statistics`] reads them.
    pub fn batch_statistics(&self, normalised: Var) -> Option<BatchStatistics<'_>> {
        if self.gpu().is_some() {
            return None;
        }
        let (saved, cols) = (self.saved_statistics(normalised)?, self.shape(normalised).cols);
        let (mean, inverse_deviation) = saved.as_slice().split_at(cols);
        Some(BatchStatistics { mean, inverse_deviation })
    }

    /// The same off any device: means and inverse deviations. A GPU is waited for.
    pub fn read_batch_statistics(&self, normalised: Var) -> Option<(Vec<f32>, Vec<f32>)> {
        let (saved, cols) = (self.saved_statistics(normalised)?, self.shape(normalised).cols);
        let mut mean = match self.gpu() {
            None => saved.as_slice().to_vec(),
            Some(gpu) => {
                let mut both = vec![0.0; 2 * cols];
                gpu.download(saved.view(), &mut both);
                both
            }
        };
        let inverse_deviation = mean.split_off(cols);
        Some((mean, inverse_deviation))
    }

    fn saved_statistics(&self, normalised: Var) -> Option<&Buffer> {
        let node = self.node(normalised);
        node.saved.as_ref().filter(|_| matches!(node.op, Op::BatchNorm { .. }))
    }

    /// The rows that the statistics of a batch normalisation are of: those of all ranks if they share it.
    pub fn rows_of_batch(&self, normalised: Var) -> usize {
        match &self.node(normalised).op {
            Op::BatchNorm { shared: Some(shared), .. } => shared.rows,
            _ => self.shape(normalised).rows,
        }
    }

    /// Moves running `[mean, variance, count]` of a layer, which lie on the tape's GPU, towards the
    /// statistics that a batch normalisation used: `kept = (1 - momentum) · kept + momentum · new`,
    /// the variance unbiased. Nothing happens for other matrices, or on the processor.
    pub fn update_running_statistics(
        &self,
        normalised: Var,
        running: [ViewMut<'_>; 3],
        epsilon: f32,
        momentum: f32,
    ) {
        if let (Some(gpu), Some(saved)) = (self.gpu(), self.saved_statistics(normalised)) {
            let rows = self.rows_of_batch(normalised);
            cuda::norm::update_running(gpu, saved.view(), rows, epsilon, momentum, running);
        }
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
        let cols = self.shape(x).cols;
        let mut dx = self.open_to_overwrite(x);
        let mut d_scale = self.open(scale);
        let mut d_shift = self.open(shift);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its statistics");
        if let Some(gpu) = self.gpu() {
            let (x, scale, dy) = (self.view(x), self.view(scale), dy.view());
            let d_affine = [&mut d_scale, &mut d_shift].map(|d| d.as_mut().map(Opened::view));
            let (saved, dx) = (saved.view(), sink(&mut dx));
            cuda::norm::batch_norm_backward(gpu, x, cols, saved, fixed, scale, dy, dx, d_affine);
        } else {
            let (mean, inverse) = saved.as_slice().split_at(cols);
            let (weight, dy) = (Some(self.value(scale)), dy.as_slice());
            // Given statistics do not depend on x, so its gradient is a plain scaling.
            if let Some(dx) = dx.as_mut().filter(|_| fixed) {
                norm::batch_norm_fixed_backward(cols, inverse, weight, dy, dx.slice_to_add());
            }
            let mode = dx.as_ref().map_or(Accumulate::Add, |dx| dx.mode);
            norm::batch_norm_backward(
                self.value(x),
                cols,
                mean,
                inverse,
                weight,
                dy,
                dx.as_mut().filter(|_| !fixed).map(|d| d.slice()),
                mode,
                d_scale.as_mut().map(|d| d.slice()),
                d_shift.as_mut().map(|d| d.slice()),
            );
        }
        self.close([dx, d_scale, d_shift]);
    }

    /// `(x - mean) / √(variance + ε) ∘ scale + shift` with the statistics of each row.
    ///
    /// # Errors
    /// If scale or shift are not one row as wide as `x`.
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
        match self.gpu() {
            None => norm::layer_norm_forward(
                self.value(x),
                shape.cols,
                epsilon,
                Some(self.value(scale)),
                Some(self.value(shift)),
                y.as_mut_slice(),
                saved.as_mut_slice(),
            ),
            Some(gpu) => cuda::norm::layer_norm_forward(
                gpu,
                self.view(x),
                shape.cols,
                epsilon,
                [self.view(scale), self.view(shift)],
                y.view_mut(),
                saved.view_mut(),
            ),
        }
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
        let cols = self.shape(x).cols;
        let mut dx = self.open_to_overwrite(x);
        let mut d_scale = self.open(scale);
        let mut d_shift = self.open(shift);
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its statistics");
        match self.gpu() {
            None => norm::layer_norm_backward(
                self.value(x),
                cols,
                saved.as_slice(),
                Some(self.value(scale)),
                dy.as_slice(),
                dx.as_mut().map(|d| d.slice_to_add()),
                d_scale.as_mut().map(|d| d.slice()),
                d_shift.as_mut().map(|d| d.slice()),
            ),
            Some(gpu) => cuda::norm::layer_norm_backward(
                gpu,
                self.view(x),
                cols,
                saved.view(),
                self.view(scale),
                dy.view(),
                sink(&mut dx),
                [&mut d_scale, &mut d_shift].map(|d| d.as_mut().map(Opened::view)),
            ),
        }
        self.close([dx, d_scale, d_shift]);
    }
}
