//! Rows by index, taken or added up: the ends of edges, chosen vertices, messages to a vertex.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cpu::{elementwise, gather};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

/// Refuses an index beyond the last row.
pub(super) fn expect_rows(
    operator: &'static str,
    indices: &[u32],
    count: usize,
) -> Result<(), TensorError> {
    match indices.iter().find(|&&index| index as usize >= count) {
        None => Ok(()),
        Some(&index) => {
            Err(TensorError::OutOfRange { operator, what: "row", index: index as usize, count })
        }
    }
}

impl Tape {
    /// The rows of `x` that `indices` names, in that order; a row may be named several times.
    ///
    /// # Errors
    /// If an index is beyond the last row.
    pub fn gather(&mut self, x: Var, indices: &Arc<Vec<u32>>) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        expect_rows("gather", indices, shape.rows)?;
        let out = Shape::new(indices.len(), shape.cols);
        let mut y = self.pool.take(out.len());
        match self.gpu() {
            None => gather::gather_rows(self.value(x), shape.cols, indices, y.as_mut_slice()),
            Some(gpu) => {
                let (x, y, mode) = (self.view(x), y.view_mut(), Accumulate::Overwrite);
                cuda::gather::gather_rows(gpu, x, shape.cols, indices, y, mode);
            }
        }
        let op = Op::Gather { x, indices: Arc::clone(indices) };
        Ok(self.record(op, out, y, None, &[x]))
    }

    pub(super) fn gather_backward(&mut self, x: Var, indices: &Arc<Vec<u32>>, dy: &Buffer) {
        let width = self.shape(x).cols;
        if let Some(mut dx) = self.open(x) {
            match self.gpu() {
                None => gather::scatter_add_rows(dy.as_slice(), width, indices, dx.slice()),
                Some(gpu) => {
                    cuda::gather::scatter_add_rows(gpu, dy.view(), width, indices, dx.view());
                }
            }
            self.close([Some(dx)]);
        }
    }

    /// A matrix of `rows` rows, to whose row `indices[i]` the row `i` of `x` is added; rows that no
    /// index names are 0. Terms are added in the order of the indices.
    ///
    /// # Errors
    /// If there is not one index for each row of `x`, or one is not below `rows`.
    pub fn scatter_add(
        &mut self,
        x: Var,
        indices: &Arc<Vec<u32>>,
        rows: usize,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        let expected = Shape::new(indices.len(), shape.cols);
        expect_shape("scatter_add", "the rows to add", expected, shape)?;
        expect_rows("scatter_add", indices, rows)?;
        let out = Shape::new(rows, shape.cols);
        let mut y = self.pool.take_zeroed(out.len());
        match self.gpu() {
            None => gather::scatter_add_rows(self.value(x), shape.cols, indices, y.as_mut_slice()),
            Some(gpu) => {
                let (x, y) = (self.view(x), y.view_mut());
                cuda::gather::scatter_add_rows(gpu, x, shape.cols, indices, y);
            }
        }
        let op = Op::ScatterAdd { x, indices: Arc::clone(indices) };
        Ok(self.record(op, out, y, None, &[x]))
    }

    pub(super) fn scatter_add_backward(&mut self, x: Var, indices: &Arc<Vec<u32>>, dy: &Buffer) {
        let shape = self.shape(x);
        let Some(mut dx) = self.open_to_overwrite(x) else { return };
        match (self.gpu(), dx.mode) {
            (Some(gpu), mode) => {
                cuda::gather::gather_rows(gpu, dy.view(), shape.cols, indices, dx.view(), mode);
            }
            (None, Accumulate::Overwrite) => {
                gather::gather_rows(dy.as_slice(), shape.cols, indices, dx.slice())
            }
            (None, Accumulate::Add) => {
                let mut taken = self.pool.take(shape.len());
                gather::gather_rows(dy.as_slice(), shape.cols, indices, taken.as_mut_slice());
                elementwise::scale_add(1.0, taken.as_slice(), dx.slice());
                self.pool.give(taken);
            }
        }
        self.close([Some(dx)]);
    }
}
