//! The last layer of tasks on vertices: a linear layer over the rectified embeddings.

use crate::buffer::Buffer;
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;
use crate::cpu::readout;
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

impl Tape {
    /// `relu(x)·weightᵀ + bias`, `weight` being `out × in`; with a few outputs in one pass over `x`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn readout(&mut self, x: Var, weight: Var, bias: Var) -> Result<Var, TensorError> {
        let (input, stored) = (self.shape(x), self.shape(weight));
        expect_shape("readout", "the weight", Shape::new(stored.rows, input.cols), stored)?;
        expect_shape("readout", "the bias", Shape::new(1, stored.rows), self.shape(bias))?;
        let (ins, outs) = (input.cols, stored.rows);
        let on_gpu = self.gpu().is_some();
        if ins == 0
            || !(1..=readout::MAX_OUTPUTS).contains(&outs)
            || on_gpu && !cuda::readout::fits(ins, outs)
        {
            let x = self.activate(x, Activation::Relu);
            return self.linear(x, weight, Some(bias), Activation::Identity);
        }
        let shape = Shape::new(input.rows, stored.rows);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let (value, w, b) = (self.value(x), self.value(weight), self.value(bias));
                readout::forward(value, ins, w, b, y.as_mut_slice());
            }
            Some(gpu) => {
                let (value, w, b) = (self.view(x), self.view(weight), self.view(bias));
                cuda::readout::forward(gpu, value, ins, w, b, y.view_mut());
            }
        }
        let op = Op::Readout { x, weight, bias };
        Ok(self.record(op, shape, y, None, &[x, weight, bias]))
    }

    pub(super) fn readout_backward(&mut self, [x, weight, bias]: [Var; 3], dy: &Buffer) {
        let mut dx = self.open_to_overwrite(x);
        let mode = dx.as_ref().map_or(Accumulate::Add, |dx| dx.mode);
        let mut dw = self.open(weight);
        let mut d_bias = self.open(bias);
        let width = self.shape(x).cols;
        match self.gpu() {
            None => readout::backward(
                self.value(x),
                width,
                self.value(weight),
                dy.as_slice(),
                dx.as_mut().map(|d| d.slice()),
                mode,
                dw.as_mut().map(|d| d.slice()),
                d_bias.as_mut().map(|d| d.slice()),
            ),
            Some(gpu) => cuda::readout::backward(
                gpu,
                self.view(x),
                width,
                self.view(weight),
                dy.view(),
                dx.as_mut().map(|d| d.view()),
                mode,
                dw.as_mut().map(|d| d.view()),
                d_bias.as_mut().map(|d| d.view()),
            ),
        }
        self.close([dx, dw, d_bias]);
    }
}
