//! Time differences as rows of cosines.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::time_encoding;
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Tape, Var};

impl Tape {
    /// The encoding `cos(w·Δt + b)` of each difference: one row of `T` values for each.
    ///
    /// `weight` and `bias` are `T × 1` or `1 × T`. The phase is computed in f64 and whole turns are
    /// taken off it before it becomes an f32, so that differences may be as large as they like.
    ///
    /// # Errors
    /// If weight and bias are not vectors of one length.
    pub fn time_encoding(
        &mut self,
        deltas: &Arc<Vec<f64>>,
        weight: Var,
        bias: Var,
    ) -> Result<Var, TensorError> {
        let width = self.expect_encoder("time_encoding", [weight, bias])?;
        let shape = Shape::new(deltas.len(), width);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let (w, b) = (self.value(weight), self.value(bias));
                time_encoding::time_encoding_forward(deltas, w, b, y.as_mut_slice());
            }
            Some(gpu) => {
                let (w, b) = (self.view(weight), self.view(bias));
                cuda::time_encoding::time_encoding_forward(gpu, deltas, w, b, y.view_mut());
            }
        }
        let op = Op::TimeEncoding { deltas: Arc::clone(deltas), weight, bias };
        Ok(self.record(op, shape, y, None, &[weight, bias]))
    }

    /// Requires vectors of one length and returns it.
    pub(super) fn expect_encoder(
        &self,
        operator: &'static str,
        [weight, bias]: [Var; 2],
    ) -> Result<usize, TensorError> {
        let width = self.shape(weight).len();
        for (operand, var) in [("the time weight", weight), ("the time bias", bias)] {
            let got = self.shape(var);
            let expected = match got.cols {
                1 => Shape::new(width, 1),
                _ => Shape::new(1, width),
            };
            crate::tape::expect_shape(operator, operand, expected, got)?;
        }
        Ok(width)
    }

    pub(super) fn time_encoding_backward(
        &mut self,
        deltas: &Arc<Vec<f64>>,
        weight: Var,
        bias: Var,
        dy: &Buffer,
    ) {
        let mut d_weight = self.open(weight);
        let mut d_bias = self.open(bias);
        match self.gpu() {
            None => time_encoding::time_encoding_backward(
                deltas,
                self.value(weight),
                self.value(bias),
                dy.as_slice(),
                d_weight.as_mut().map(|d| d.slice()),
                d_bias.as_mut().map(|d| d.slice()),
            ),
            Some(gpu) => cuda::time_encoding::time_encoding_backward(
                gpu,
                deltas,
                self.view(weight),
                self.view(bias),
                dy.view(),
                [&mut d_weight, &mut d_bias].map(|d| d.as_mut().map(Opened::view)),
            ),
        }
        self.close([d_weight, d_bias]);
    }
}
