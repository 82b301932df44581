//! Softmax over the values of each row, and over the edges that enter a vertex.

use crate::buffer::Buffer;
use crate::cpu::softmax;
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::sparse::SparseGroup;
use crate::tape::{Op, Tape, Var, expect_shape, sink};

impl Tape {
    /// `exp(x) / Σ exp(x)` row by row.
    pub fn softmax(&mut self, x: Var) -> Var {
        let shape = self.shape(x);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => softmax::softmax_rows(self.value(x), shape.cols, y.as_mut_slice()),
            Some(gpu) => {
                cuda::softmax::softmax_rows(gpu, self.view(x), shape.cols, y.view_mut());
            }
        }
        self.record(Op::Softmax { x }, shape, y, None, &[x])
    }

    pub(super) fn softmax_backward(&mut self, node: Var, x: Var, dy: &Buffer) {
        let cols = self.shape(x).cols;
        let mut dx = self.open_to_overwrite(x);
        if let Some(gpu) = self.gpu() {
            let (y, dy) = (self.view(node), dy.view());
            cuda::softmax::softmax_rows_backward(gpu, y, cols, dy, sink(&mut dx));
        } else if let Some(dx) = &mut dx {
            let (y, dy) = (self.value(node), dy.as_slice());
            softmax::softmax_rows_backward(y, cols, dy, dx.slice_to_add());
        }
        self.close([dx]);
    }

    /// `exp(x) / Σ exp(x)` over the in-edges of each vertex in each snapshot.
    ///
    /// `x` is one column with a value per edge: the edges of the first snapshot by destination,
    /// then source, then those of the next. The weights of the edges are not used.
    ///
    /// # Errors
    /// If `x` is not one column with as many rows as the group has edges.
    pub fn segment_softmax(&mut self, group: &SparseGroup, x: Var) -> Result<Var, TensorError> {
        let shape = Shape::new(group.entries(), 1);
        expect_shape("segment_softmax", "the values of the edges", shape, self.shape(x))?;
        let mut y = self.pool.take(shape.len());
        let mut from = 0;
        for member in group.members() {
            let edges = from..from + member.entries();
            from = edges.end;
            match self.gpu() {
                None => {
                    let (x, y) = (&self.value(x)[edges.clone()], &mut y.as_mut_slice()[edges]);
                    softmax::segment_softmax(member.csr(), x, y);
                }
                Some(gpu) => {
                    let (x, mut y) = (self.view(x).slice(edges.clone()), y.view_mut());
                    cuda::softmax::segment_softmax(gpu, member, x, y.slice(edges));
                }
            }
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
            match self.gpu() {
                None => {
                    let (y, dy) = (&self.value(node)[edges.clone()], &dy.as_slice()[edges.clone()]);
                    softmax::segment_softmax_backward(member.csr(), y, dy, &mut dx.slice()[edges]);
                }
                Some(gpu) => {
                    let (y, dy) = (self.view(node), dy.view());
                    let (y, dy) = (y.slice(edges.clone()), dy.slice(edges.clone()));
                    let mut dx = dx.view();
                    cuda::softmax::segment_softmax_backward(gpu, member, y, dy, dx.slice(edges));
                }
            }
        }
        self.close([Some(dx)]);
    }
}
