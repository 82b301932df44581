//! Dropout whose mask is a function of a counter, so that it is never stored.

use crate::buffer::Buffer;
use crate::cpu::dropout::{self, Cells, Dropout, DropoutKey};
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
        self.dropout_of_cells(x, Dropout { p: rate, key }, Cells::default())
    }

    /// The same if the rows of `x` are known cells: what is dropped of a cell depends on the key and the cell
    /// alone, whatever other cells are in the matrix and in what order.
    ///
    /// # Errors
    /// If the rate is not in `[0, 1)`, or the rows are not some steps of the vertices.
    pub fn dropout_of_cells(
        &mut self,
        x: Var,
        dropout: Dropout,
        cells: Cells,
    ) -> Result<Var, TensorError> {
        expect_rate("dropout", dropout.p)?;
        let shape = self.shape(x);
        let vertices = cells.vertices.as_ref().map_or(1, |vertices| vertices.len());
        if shape.rows > 0 && (vertices == 0 || !shape.rows.is_multiple_of(vertices)) {
            return Err(TensorError::Argument {
                operator: "dropout",
                name: "the number of vertices",
                expected: "a divisor of the rows",
                got: format!("{vertices} for {}", shape.rows),
            });
        }
        if dropout.p == 0.0 {
            return Ok(x);
        }
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let (x, y) = (self.value(x), y.as_mut_slice());
                dropout::dropout_forward(x, dropout, &cells, shape.cols, y);
            }
            Some(gpu) => {
                let (x, y, mode) = (self.view(x), y.view_mut(), Accumulate::Overwrite);
                cuda::dropout::apply(gpu, x, dropout, &cells, shape.cols, y, mode);
            }
        }
        Ok(self.record(Op::Dropout { x, dropout, cells }, shape, y, None, &[x]))
    }

    pub(super) fn dropout_backward(
        &mut self,
        x: Var,
        dropout: Dropout,
        cells: &Cells,
        dy: &Buffer,
    ) {
        let cols = self.shape(x).cols;
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            match self.gpu() {
                None => {
                    let (dy, dx) = (dy.as_slice(), dx.slice_to_add());
                    dropout::dropout_backward(dy, dropout, cells, cols, dx);
                }
                Some(gpu) => {
                    let (dy, dx) = (dy.view(), dx.view());
                    cuda::dropout::apply(gpu, dy, dropout, cells, cols, dx, mode);
                }
            }
            self.close([Some(dx)]);
        }
    }
}
