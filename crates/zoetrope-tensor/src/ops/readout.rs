//! The last layer of tasks on vertices: a linear layer over the rectified embeddings.

use crate::buffer::Buffer;
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;
use crate::cpu::readout;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

impl Tape {
    /// `relu(x)·weightᵀ + bias`, `weight` being `out × in`; with a few outputs in one pass over `x`.
    ///
    /// # Errors
    /// Where the shapes do not fit.
    pub fn readout(&mut self, x: Var, weight: Var, bias: Var) -> Result<Var, TensorError> {
        let (input, stored) = (self.shape(x), self.shape(weight));
        expect_shape("readout", "the weight", Shape::new(stored.rows, input.cols), stored)?;
        expect_shape("readout", "the bias", Shape::new(1, stored.rows), self.shape(bias))?;
        if input.cols == 0 || !(1..=readout::MAX_OUTPUTS).contains(&stored.rows) {
            let x = self.activate(x, Activation::Relu);
            return self.linear(x, weight, Some(bias), Activation::Identity);
        }
        let shape = Shape::new(input.rows, stored.rows);
        let mut y = self.pool.take(shape.len());
        let (value, w, b) = (self.value(x), self.value(weight), self.value(bias));
        readout::forward(value, input.cols, w, b, y.as_mut_slice());
        let op = Op::Readout { x, weight, bias };
        Ok(self.record(op, shape, y, None, &[x, weight, bias]))
    }

    pub(super) fn readout_backward(&mut self, [x, weight, bias]: [Var; 3], dy: &Buffer) {
        let mut dx = self.open_to_overwrite(x);
        let mode = dx.as_ref().map_or(Accumulate::Add, |dx| dx.mode);
        let mut dw = self.open(weight);
        let mut d_bias = self.open(bias);
        readout::backward(
            self.value(x),
            self.shape(x).cols,
            self.value(weight),
            dy.as_slice(),
            dx.as_mut().map(|d| d.slice()),
            mode,
            dw.as_mut().map(|d| d.slice()),
            d_bias.as_mut().map(|d| d.slice()),
        );
        self.close([dx, dw, d_bias]);
    }
}
