//! Two sums for each column of a matrix, in two phases: the launch of `column_pairs` (`prelude.cuh`).

use super::elementwise::BLOCK;
use super::{Gpu, Scratch, View, ViewMut};

/// Neighbouring columns of a thread, if they can be read in one access.
const NEIGHBOURS: usize = 4;
/// Dynamic shared memory of a first phase: two f64 for each column of a thread.
pub(super) const SHARED_BYTES: u32 = (2 * NEIGHBOURS * size_of::<f64>()) as u32 * BLOCK;
/// Rows that a thread takes before there is another block, and the most blocks of a column, of threads of
/// one column and of four.
const ROWS: usize = 8;
const MOST_BLOCKS: [usize; 2] = [1024, 528];

/// The sums of the blocks of a first phase.
pub(super) struct Parts {
    sums: Scratch<f64>,
    /// Blocks of each column: by the shape alone, so that every GPU adds up in the same order.
    pub(super) blocks: u32,
    /// Columns of a thread.
    pub(super) neighbours: u32,
    /// Blocks that share the columns.
    across: u32,
}

impl Parts {
    /// Room for the sums of a matrix, by threads of one column; no block if it is empty.
    pub(super) fn new(gpu: &Gpu, rows: usize, cols: usize) -> Self {
        Self::of(gpu, rows, cols, 1)
    }

    /// The same by threads of four columns of these operands, if they lie so.
    pub(super) fn by_neighbours(
        gpu: &Gpu,
        rows: usize,
        cols: usize,
        operands: &[View<'_>],
    ) -> Self {
        let lie_so = cols.is_multiple_of(NEIGHBOURS)
            && operands.iter().all(|operand| operand.ptr().is_multiple_of(16));
        Self::of(gpu, rows, cols, if lie_so { NEIGHBOURS } else { 1 })
    }

    fn of(gpu: &Gpu, rows: usize, cols: usize, neighbours: usize) -> Self {
        let units = cols / neighbours;
        let width = units.clamp(1, BLOCK as usize);
        let per_block = BLOCK as usize / width * ROWS;
        let most = MOST_BLOCKS[usize::from(neighbours > 1)];
        let blocks = rows.div_ceil(per_block).min(most);
        Self {
            sums: gpu.take_of(2 * blocks * cols),
            blocks: blocks as u32,
            neighbours: neighbours as u32,
            across: units.div_ceil(width) as u32,
        }
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
