//! Products of the sparse matrices of a group of snapshots with stacked features.

use crate::buffer::Buffer;
use crate::cpu::arranged::Arranged;
use crate::cpu::matmul::Accumulate;
use crate::cpu::spmm;
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::sparse::{Side, SparseGroup, SparseMatrix};
use crate::tape::{Op, Tape, Var, expect_shape};

/// Snapshots that one call of the kernel takes: their views lie on the stack.
const AT_ONCE: usize = 16;

fn arranged(member: &SparseMatrix, side: Side) -> &Arranged {
    match side {
        Side::Matrix => member.arranged(),
        Side::Transpose => member.transposed_arranged(),
    }
}

fn multiply(group: &SparseGroup, side: Side, x: &[f32], y: &mut [f32], mode: Accumulate) {
    if !group.is_square() {
        return multiply_one_by_one(group, side, x, y, mode);
    }
    let vertices = group.vertices();
    let width = x.len() / (vertices * group.len()).max(1);
    let block = (AT_ONCE * vertices * width).max(1);
    let parts = x.chunks(block).zip(y.chunks_mut(block));
    for (members, (x, y)) in group.members().chunks(AT_ONCE).zip(parts) {
        let views: [&Arranged; AT_ONCE] =
            std::array::from_fn(|at| arranged(&members[at.min(members.len() - 1)], side));
        spmm::spmm_group(&views[..members.len()], x, width, y, mode);
    }
}

/// The same if matrices differ in their columns.
fn multiply_one_by_one(
    group: &SparseGroup,
    side: Side,
    mut x: &[f32],
    mut y: &mut [f32],
    mode: Accumulate,
) {
    let inputs = match side {
        Side::Matrix => group.columns(),
        Side::Transpose => group.len() * group.vertices(),
    };
    let width = x.len() / inputs.max(1);
    for member in group.members() {
        let matrix = arranged(member, side);
        let (own, rest) = x.split_at(matrix.cols() * width);
        let (place, places) = y.split_at_mut(matrix.rows() * width);
        spmm::spmm(matrix, own, width, place, mode);
        (x, y) = (rest, places);
    }
}

impl Tape {
    /// Each snapshot's matrix times its rows of `x`: stacked by time, from as many rows as the
    /// matrices have columns (`T·N × F`) to as many as they have rows.
    ///
    /// # Errors
    /// If `x` has not one row per column and snapshot of the group.
    pub fn spmm(&mut self, group: &SparseGroup, x: Var) -> Result<Var, TensorError> {
        let got = self.shape(x);
        expect_shape("spmm", "the features", Shape::new(group.columns(), got.cols), got)?;
        let shape = Shape::new(group.len() * group.vertices(), got.cols);
        let mut y = self.pool.take(shape.len());
        let (side, mode) = (Side::Matrix, Accumulate::Overwrite);
        match self.gpu() {
            None => multiply(group, side, self.value(x), y.as_mut_slice(), mode),
            Some(gpu) => cuda::spmm::multiply(gpu, group, side, self.view(x), y.view_mut(), mode),
        }
        Ok(self.record(Op::Spmm { group: group.clone(), x }, shape, y, None, &[x]))
    }

    pub(super) fn spmm_backward(&mut self, group: &SparseGroup, x: Var, dy: &Buffer) {
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let (side, mode) = (Side::Transpose, dx.mode);
            match self.gpu() {
                None => multiply(group, side, dy.as_slice(), dx.slice(), mode),
                Some(gpu) => cuda::spmm::multiply(gpu, group, side, dy.view(), dx.view(), mode),
            }
            self.close([Some(dx)]);
        }
    }
}
