//! Rows by index: the ends of edges, chosen vertices.

use std::sync::Arc;

use crate::cpu::gather;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var};

impl Tape {
    /// The rows of `x` that `indices` names, in that order; a row may be named several times.
    ///
    /// # Errors
    /// Where an index is beyond the last row.
    pub fn gather(&mut self, x: Var, indices: &Arc<Vec<u32>>) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        if let Some(&index) = indices.iter().find(|&&index| index as usize >= shape.rows) {
            let (index, count) = (index as usize, shape.rows);
            return Err(TensorError::OutOfRange { operator: "gather", what: "row", index, count });
        }
        let out = Shape::new(indices.len(), shape.cols);
        let mut y = self.pool.take(out.len());
        gather::gather_rows(self.value(x), shape.cols, indices, y.as_mut_slice());
        let op = Op::Gather { x, indices: Arc::clone(indices) };
        Ok(self.record(op, out, y, None, &[x]))
    }

    pub(super) fn gather_backward(&mut self, x: Var, indices: &[u32], dy: &[f32]) {
        let width = self.shape(x).cols;
        if let Some(mut dx) = self.open(x) {
            gather::scatter_add_rows(dy, width, indices, dx.slice());
            self.close([Some(dx)]);
        }
    }
}
