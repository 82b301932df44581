//! Dropout whose mask is a function of a counter, the same as the CPU's bit for bit.

use bytemuck::{Pod, Zeroable};

use super::elementwise::{BLOCK, fours, singles};
use super::{ByValue, Gpu, Kernel, View, ViewMut};
use crate::cpu::dropout::{Cells, Dropout, DropoutKey, Mask};
use crate::cpu::matmul::Accumulate;

static APPLY: Kernel = Kernel::new("dropout", "dropout_apply");
static CELLS: Kernel = Kernel::new("dropout", "dropout_cells");

/// `DropoutMask` of `prelude.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct DropoutMask {
    step_at: u64,
    seed: u64,
    stream: u32,
    step: u32,
    threshold: u32,
    scale: f32,
}

impl DropoutMask {
    /// A mask. While something is recorded, the GPU's own number of the step takes the place of the
    /// key's, so that each launch of the recording drops something else.
    pub(crate) fn new(gpu: &Gpu, dropout: Dropout) -> Self {
        let Mask { key, threshold, scale } = Mask::from(dropout);
        let step_at = gpu.arena().recorded_step().unwrap_or(0);
        Self { step_at, seed: key.seed, stream: key.stream, step: key.step, threshold, scale }
    }

    /// The same if there may be no dropout: then nothing is dropped.
    pub(crate) fn optional(gpu: &Gpu, dropout: Option<Dropout>) -> Self {
        let key = DropoutKey { seed: 0, stream: 0, step: 0 };
        Self::new(gpu, dropout.unwrap_or(Dropout { p: 0.0, key }))
    }
}

/// `y (+)= x` with values dropped and the others scaled: forward from x to y, backward from dy to dx.
pub(crate) fn apply(
    gpu: &Gpu,
    x: View<'_>,
    dropout: Dropout,
    cells: &Cells,
    cols: usize,
    y: ViewMut<'_>,
    accumulate: Accumulate,
) {
    let len = y.len();
    debug_assert_eq!(x.len(), len);
    let mask = DropoutMask::new(gpu, dropout);
    let first = cells.first(cols);
    // Whole Philox blocks of four elements, unless vertices or the first element are in between.
    if cells.vertices.is_none() && first.is_multiple_of(4) {
        let arguments: [&dyn super::Arg; 6] =
            [&ByValue(&mask), &x, &y, &accumulate, &(first / 4), &(len as u64)];
        gpu.launch(&APPLY, fours(len), BLOCK, 0, &arguments);
        return;
    }
    let list = cells.vertices.as_ref().map(|vertices| gpu.resident(vertices));
    let vertices = list.as_ref().map_or(0, |list| list.view().ptr());
    let count = cells.vertices.as_ref().map_or(1, |vertices| vertices.len()).max(1) as u32;
    let all = if list.is_some() { cells.all as u64 } else { 1 };
    let arguments: [&dyn super::Arg; 10] = [
        &ByValue(&mask),
        &x,
        &y,
        &accumulate,
        &vertices,
        &count,
        &all,
        &first,
        &(cols as u32),
        &(len as u64),
    ];
    gpu.launch(&CELLS, singles(len), BLOCK, 0, &arguments);
}
