//! Two sums for each column of a matrix, in two phases: the launch of `column_pairs` (`prelude.cuh`).

use super::elementwise::BLOCK;
use super::{Gpu, Scratch, View, ViewMut};

/// Dynamic shared memory of a first phase: two f64 a thread.
pub(super) const SHARED_BYTES: u32 = 2 * BLOCK * size_of::<f64>() as u32;
/// Rows that a thread takes before there is another block, and the most blocks of a column.
const ROWS: usize = 8;
const MOST_BLOCKS: usize = 1024;

/// The sums of the blocks of a first phase.
pub(super) struct Parts {
    sums: Scratch<f64>,
    /// Blocks of each column: by the shape alone, so that every card adds up in the same order.
    pub(super) blocks: u32,
    /// Blocks that share the columns.
    across: u32,
}

impl Parts {
    /// Room for the sums of a matrix; no block where it is empty.
    pub(super) fn new(gpu: &Gpu, rows: usize, cols: usize) -> Self {
        let width = cols.clamp(1, BLOCK as usize);
        let per_block = BLOCK as usize / width * ROWS;
        let blocks = rows.div_ceil(per_block).min(MOST_BLOCKS);
        let sums = gpu.take_of(2 * blocks * cols);
        Self { sums, blocks: blocks as u32, across: cols.div_ceil(width) as u32 }
    }

    /// The grid of the first phase.
    pub(super) fn grid(&self) -> (u32, u32) {
        (self.blocks, self.across)
    }

    pub(super) fn view(&self) -> View<'_, f64> {
        self.sums.view()
    }

    pub(super) fn view_mut(&mut self) -> ViewMut<'_, f64> {
        self.sums.view_mut()
    }
}
