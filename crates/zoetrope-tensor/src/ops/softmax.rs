//! Softmax over the values of each row.

use crate::cpu::softmax;
use crate::tape::{Op, Tape, Var};

impl Tape {
    /// `exp(x) / Σ exp(x)` row by row.
    pub fn softmax(&mut self, x: Var) -> Var {
        let shape = self.shape(x);
        let mut y = self.pool.take(shape.len());
        softmax::softmax_rows(self.value(x), shape.cols, y.as_mut_slice());
        self.record(Op::Softmax { x }, shape, y, None, &[x])
    }

    pub(super) fn softmax_backward(&mut self, node: Var, x: Var, dy: &[f32]) {
        let cols = self.shape(x).cols;
        if let Some(mut dx) = self.open(x) {
            softmax::softmax_rows_backward(self.value(node), cols, dy, dx.slice());
            self.close([Some(dx)]);
        }
    }
}
