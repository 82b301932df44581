//! Dropout whose mask is a function of a counter, so that it is never stored.

use crate::buffer::Buffer;
use crate::cpu::dropout::{self, Dropout, DropoutKey};
use crate::cpu::matmul::Accumulate;
use crate::cuda;
use crate::error::TensorError;
use crate::tape::{Op, Tape, Var};

/// Refuses a probability of dropping that leaves nothing or is none.
pub(super) fn expect_rate(operator: &'static str, rate: f32) -> Result<(), TensorError> {
    if (0.0..1.0).contains(&rate) {
        Ok(())
    } else {
        Err(TensorError::Argument {
            operator,
            name: "the dropout rate",
            expected: "at least 0 and below 1",
            got: rate.to_string(),
        })
    }
}

impl Tape {
    /// Sets each value to 0 with probability `rate` and scales the others by `1 / (1 - rate)`.
    /// The same key gives the same mask. A rate of 0 returns `x` itself.
    ///
    /// # Errors
    /// If the rate is not in `[0, 1)`.
    pub fn dropout(&mut self, x: Var, rate: f32, key: DropoutKey) -> Result<Var, TensorError> {
        expect_rate("dropout", rate)?;
        if rate == 0.0 {
            return Ok(x);
        }
        let shape = self.shape(x);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => dropout::dropout_forward(self.value(x), rate, key, y.as_mut_slice()),
            Some(gpu) => {
                let (x, y, mode) = (self.view(x), y.view_mut(), Accumulate::Overwrite);
                cuda::dropout::apply(gpu, x, Dropout { p: rate, key }, y, mode);
            }
        }
        Ok(self.record(Op::Dropout { x, rate, key }, shape, y, None, &[x]))
    }

    pub(super) fn dropout_backward(&mut self, x: Var, rate: f32, key: DropoutKey, dy: &Buffer) {
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            match self.gpu() {
                None => dropout::dropout_backward(dy.as_slice(), rate, key, dx.slice_to_add()),
                Some(gpu) => {
                    let (dy, dx) = (dy.view(), dx.view());
                    cuda::dropout::apply(gpu, dy, Dropout { p: rate, key }, dx, mode);
                }
            }
            self.close([Some(dx)]);
        }
    }
}
