//! What the GRU and the LSTM share: blocks of vertices and the weight gradients of a block.
//!
//! A block of vertices goes through all time steps on one thread, so that its state and the
//! recurrent weights stay in cache. Blocks depend on the number of vertices only.

use super::blocks::sum_over_blocks;
use super::matmul::{Accumulate, MatMut, MatRef, matmul_on_this_thread};
use rayon::prelude::*;

/// Vertices of a block, about.
const VERTICES: usize = 64;
/// Most parts into which weight gradients are summed before they are joined.
const MAX_PARTS: usize = 32;

/// Time steps, vertices and width of the state of a recurrent kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// Number of time steps T.
    pub steps: usize,
    /// Number of vertices N.
    pub vertices: usize,
    /// Width H of the state.
    pub hidden: usize,
}

impl Sequence {
    /// Number of cells (vertex, time step).
    pub fn cells(&self) -> usize {
        self.steps * self.vertices
    }

    /// Vertices of a block: blocks of nearly equal size, an even number of them when several.
    fn block(&self) -> usize {
        if self.vertices <= VERTICES * 3 / 4 {
            return self.vertices.max(1);
        }
        let blocks = self.vertices.div_ceil(VERTICES).next_multiple_of(2);
        self.vertices.div_ceil(blocks)
    }

    /// Calls `f` for each block in parallel.
    pub(crate) fn for_each_block(&self, f: impl Fn(Block) + Sync + Send) {
        let size = self.block();
        let blocks = self.vertices.div_ceil(size);
        let call = |i: usize| f(Block::new(self, i * size, size));
        if blocks <= 1 {
            if blocks == 1 && self.steps > 0 {
                call(0);
            }
            return;
        }
        (0..blocks).into_par_iter().for_each(call);
    }

    /// Calls `f` for each block in parallel, with a part of the sums `weight` (then `bias`) that
    /// is shared by neighbouring blocks; adds the parts in order.
    pub(crate) fn sum_over_blocks(
        &self,
        sums: &mut [f32],
        f: impl Fn(Block, &mut [f32]) + Sync + Send,
    ) {
        let size = self.block();
        let blocks = self.vertices.div_ceil(size);
        let per_part = blocks.div_ceil(MAX_PARTS).max(1);
        sum_over_blocks(blocks.div_ceil(per_part), sums, |part, sums| {
            for i in part * per_part..blocks.min((part + 1) * per_part) {
                f(Block::new(self, i * size, size), sums);
            }
        });
    }
}

/// The vertices `from..from + count` of a sequence.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) from: usize,
    pub(crate) count: usize,
    vertices: usize,
}

impl Block {
    fn new(shape: &Sequence, from: usize, size: usize) -> Self {
        Self { from, count: size.min(shape.vertices - from), vertices: shape.vertices }
    }

    /// Where the block's rows of `width` elements begin in a stacked matrix, and their extent.
    pub(crate) fn at(&self, step: usize, width: usize) -> (usize, usize) {
        ((step * self.vertices + self.from) * width, self.count * width)
    }

    /// The block's rows of a stacked matrix.
    pub(crate) fn of<'a>(&self, x: &'a [f32], step: usize, width: usize) -> &'a [f32] {
        let (from, len) = self.at(step, width);
        &x[from..from + len]
    }

    /// The block's elements of a mask, or none.
    pub(crate) fn mask<'a>(&self, mask: Option<&'a [f32]>, step: usize) -> Option<&'a [f32]> {
        mask.map(|mask| self.of(mask, step, 1))
    }
}

/// y (+)= x·weightᵀ for contiguous rows of `x` (width `inner`) and `weight` (`outer × inner`).
pub(crate) fn times_weight_t(x: &[f32], weight: &[f32], outer: usize, inner: usize, y: MatMut) {
    let rows = y.rows;
    let x = MatRef::new(x, rows, inner);
    matmul_on_this_thread(x, MatRef::new(weight, outer, inner).t(), y, Accumulate::Overwrite);
}

/// weight_gradient += dyᵀ·x for rows of `dy` (`outer` wide) and of `x` (`inner` wide).
pub(crate) fn add_weight_gradient(
    dy: MatRef,
    x: &[f32],
    inner: usize,
    weight_gradient: &mut [f32],
) {
    let c = MatMut::new(weight_gradient, dy.cols, inner);
    matmul_on_this_thread(dy.t(), MatRef::new(x, dy.rows, inner), c, Accumulate::Add);
}
