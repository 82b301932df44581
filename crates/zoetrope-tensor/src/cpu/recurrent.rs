//! What the GRU and the LSTM share: blocks of vertices, how they lie, and their products.
//!
//! A block of vertices goes through all time steps on one thread, so that its state, its gates
//! and the weights stay in the second-level cache. Blocks depend on the shape only.
//!
//! A *plane* holds one value (a gate, the state) of all cells of a block at one step. Element-wise
//! work does not care how a plane lies, as long as all planes of a block lie alike; products do
//! (`weight`). The layout is chosen by the width of the state:
//!
//! - a multiple of 16: `[vertex][feature]` as outside, so nothing is moved and vectors are full;
//! - else `[feature][vertex]`, with the vertices of a block rounded up to 16: vectors run along
//!   vertices and are full again, and what other operators see is turned on its way in and out.
//!
//! Either way a plane is a whole number of vectors at every instruction set.

mod alike;
mod input;
mod planes;
mod weight;

use std::ops::Range;

use super::blocks::{for_each_block, sum_over_blocks};
use super::matmul::WHOLE_VECTOR;
use rayon::prelude::*;

pub(crate) use alike::Alike;
pub(crate) use input::{BackInput, ForwardInput};
pub use input::{Input, InputGradient, InputRows};
pub(crate) use planes::{
    Bias, logistic_slope, sum_features, to_planes, to_rows, vectors, vectors_mut,
};
pub(crate) use weight::{RowsAt, Weight, add_weight_gradient};

/// Vertices of a block, about, for either layout.
const ROWS: usize = 64;
const LANES: usize = 128;
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
    /// Vertices of the sequence that it is a piece of, N if it is a whole one. Pieces are cut into the blocks of
    /// the whole and have its results, bit by bit.
    pub whole: usize,
}

/// How the cells of a block lie in a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `[vertex][feature]`.
    Rows,
    /// `[feature][vertex]`.
    Lanes,
}

impl Sequence {
    /// Number of cells (vertex, time step).
    pub fn cells(&self) -> usize {
        self.steps * self.vertices
    }

    pub(crate) fn layout(&self) -> Layout {
        if self.hidden.is_multiple_of(WHOLE_VECTOR) { Layout::Rows } else { Layout::Lanes }
    }

    /// Vertices of a block: blocks of nearly equal size, an even number of them when several.
    fn block(&self) -> usize {
        let about = if self.layout() == Layout::Rows { ROWS } else { LANES };
        let mut size = self.whole.max(1);
        if size > about * 3 / 4 {
            let blocks = size.div_ceil(about).next_multiple_of(2);
            size = size.div_ceil(blocks);
        }
        match self.layout() {
            Layout::Rows => size,
            Layout::Lanes => size.next_multiple_of(WHOLE_VECTOR),
        }
    }

    fn blocks(&self) -> usize {
        self.vertices.div_ceil(self.block())
    }

    /// Floats that hold `planes` planes of every block at every step.
    pub(crate) fn planes_len(&self, planes: usize) -> usize {
        self.steps * self.blocks() * self.block() * self.hidden * planes
    }

    /// Calls `f` for each block in parallel.
    pub(crate) fn for_each_block(&self, f: impl Fn(SequenceBlock) + Sync + Send) {
        let blocks = self.blocks();
        let call = |i: usize| f(SequenceBlock::new(self, i));
        if blocks <= 1 {
            if blocks == 1 && self.steps > 0 {
                call(0);
            }
            return;
        }
        (0..blocks).into_par_iter().for_each(call);
    }

    /// Calls `f` for each block in parallel, with a part of the sums that is shared by
    /// neighbouring blocks; adds the parts in order.
    pub(crate) fn sum_over_blocks(
        &self,
        sums: &mut [f32],
        f: impl Fn(SequenceBlock, &mut [f32]) + Sync + Send,
    ) {
        let (blocks, per_part) = (self.blocks(), self.blocks_per_part());
        sum_over_blocks(blocks.div_ceil(per_part), sums, |part, sums| {
            for i in part * per_part..blocks.min((part + 1) * per_part) {
                f(SequenceBlock::new(self, i), sums);
            }
        });
    }

    /// The same for a piece that begins at vertex `from` of the whole: its parts are left in `parts`, which has
    /// `width` sums of each part of the whole, of zeros before.
    pub(crate) fn parts_over_blocks(
        &self,
        from: usize,
        width: usize,
        parts: &mut [f32],
        f: impl Fn(SequenceBlock, &mut [f32]) + Sync + Send,
    ) {
        let (blocks, per_part) = (self.blocks(), self.blocks_per_part());
        let first = from / self.unit();
        debug_assert!(blocks == 0 || first * self.unit() == from, "a piece begins with a part");
        let own = first * width..(first + blocks.div_ceil(per_part)) * width;
        for_each_block(&mut parts[own], width, |part, sums| {
            for i in part * per_part..blocks.min((part + 1) * per_part) {
                f(SequenceBlock::new(self, i), sums);
            }
        });
    }

    /// Blocks of the whole whose sums are one part.
    fn blocks_per_part(&self) -> usize {
        self.whole.div_ceil(self.block()).div_ceil(MAX_PARTS).max(1)
    }

    /// Vertices of a part: where pieces may be cut.
    fn unit(&self) -> usize {
        self.blocks_per_part() * self.block()
    }

    /// Parts of the whole.
    pub(crate) fn parts(&self) -> usize {
        self.whole.div_ceil(self.unit())
    }
}

/// `count` pieces of the vertices of a sequence with states of a width, as even as they can be cut without changing
/// the order of sums; the last ones may be empty.
pub fn sequence_pieces(vertices: usize, hidden: usize, count: usize) -> Vec<Range<usize>> {
    let whole = Sequence { steps: 1, vertices, hidden, whole: vertices };
    let (parts, unit) = (whole.parts(), whole.unit());
    let start = |piece: usize| (parts * piece).div_ceil(count.max(1)) * unit;
    (0..count).map(|at| start(at).min(vertices)..start(at + 1).min(vertices)).collect()
}

/// The vertices `from..from + count` of a sequence.
#[derive(Clone, Copy)]
pub(crate) struct SequenceBlock {
    index: usize,
    pub(crate) from: usize,
    pub(crate) count: usize,
    /// Vertices that a plane has room for.
    pub(crate) room: usize,
    pub(crate) layout: Layout,
    hidden: usize,
    vertices: usize,
    blocks: usize,
}

impl SequenceBlock {
    fn new(shape: &Sequence, index: usize) -> Self {
        let size = shape.block();
        let from = index * size;
        Self {
            index,
            from,
            count: size.min(shape.vertices - from),
            room: size,
            layout: shape.layout(),
            hidden: shape.hidden,
            vertices: shape.vertices,
            blocks: shape.blocks(),
        }
    }

    /// Elements of a plane.
    pub(crate) fn plane(&self) -> usize {
        self.room * self.hidden
    }

    /// Where the block's `planes` planes of a step begin in [`Sequence::planes_len`] floats, and
    /// their extent.
    pub(crate) fn planes_at(&self, step: usize, planes: usize) -> (usize, usize) {
        let len = self.plane() * planes;
        ((step * self.blocks + self.index) * len, len)
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
