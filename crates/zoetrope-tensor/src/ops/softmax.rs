//! Softmax over the values of each row, and over the edges that enter a vertex.

use crate::buffer::Buffer;
use crate::cpu::softmax;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::sparse::SparseGroup;
use crate::tape::{Op, Tape, Var, expect_shape};

impl Tape {
    /// `exp(x) / Σ exp(x)` row by row.
    pub fn softmax(&mut self, x: Var) -> Var {
        let shape = self.shape(x);
        let mut y = self.pool.take(shape.len());
        softmax::softmax_rows(self.value(x), shape.cols, y.as_mut_slice());
        self.record(Op::Softmax { x }, shape, y, None, &[x])
    }

    pub(super) fn softmax_backward(&mut self, node: Var, x: Var, dy: &Buffer) {
        let cols = self.shape(x).cols;
        if let Some(mut dx) = self.open(x) {
            softmax::softmax_rows_backward(self.value(node), cols, dy.as_slice(), dx.slice());
            self.close([Some(dx)]);
        }
    }

    /// `exp(x) / Σ exp(x)` over the in-edges of each vertex in each snapshot.
    ///
    /// `x` is one column with a value per edge: the edges of the first snapshot by destination,
    /// then source, then those of the next. The weights of the edges are not used.
    ///
    /// # Errors
    /// Where `x` is not one column with as many rows as the group has edges.
    pub fn segment_softmax(&mut self, group: &SparseGroup, x: Var) -> Result<Var, TensorError> {
        let shape = Shape::new(group.entries(), 1);
        expect_shape("segment_softmax", "the values of the edges", shape, self.shape(x))?;
        let mut y = self.pool.take(shape.len());
        let mut from = 0;
        for member in group.members() {
            let edges = from..from + member.entries();
            from = edges.end;
            let value = &self.value(x)[edges.clone()];
            softmax::segment_softmax(member.csr(), value, &mut y.as_mut_slice()[edges]);
        }
        let op = Op::SegmentSoftmax { group: group.clone(), x };
        Ok(self.record(op, shape, y, None, &[x]))
    }

    pub(super) fn segment_softmax_backward(
        &mut self,
        group: &SparseGroup,
        node: Var,
        x: Var,
        dy: &Buffer,
    ) {
        let Some(mut dx) = self.open(x) else { return };
        let mut from = 0;
        for member in group.members() {
            let edges = from..from + member.entries();
            from = edges.end;
            softmax::segment_softmax_backward(
                member.csr(),
                &self.value(node)[edges.clone()],
                &dy.as_slice()[edges.clone()],
                &mut dx.slice()[edges],
            );
        }
        self.close([Some(dx)]);
    }
}
