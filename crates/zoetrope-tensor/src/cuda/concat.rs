//! Copying ranges of columns between matrices, as many as there are in one launch: concatenation,
//! slices and their gradients.

use bytemuck::{Pod, Zeroable};

use super::{ByValue, Gpu, Kernel, View, ViewMut};
use crate::cpu::matmul::Accumulate;

static COPY: Kernel = Kernel::new("concat", "concat_parts");

/// The most parts of a launch, whose table has to fit into the 4 KiB of a kernel's arguments.
pub(crate) const PARTS: usize = 64;
/// Threads of a block.
const BLOCK: u32 = 256;
/// Units that a block moves.
const PER_BLOCK: u32 = 4 * BLOCK;

/// `CopiedColumns` of `concat.cu`; widths and strides are counted in units of 4 or 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CopiedColumns {
    from: u64,
    to: u64,
    elements: u64,
    width: u32,
    from_stride: u32,
    to_stride: u32,
    first_block: u32,
}

/// `Parts` of `concat.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Parts {
    count: u32,
    per_block: u32,
    adds: [u32; PARTS / 32],
    wide: [u32; PARTS / 32],
    part: [CopiedColumns; PARTS],
}

/// Copies that are launched together, at the latest when this is dropped. They may not overlap.
pub(crate) struct Copies<'g> {
    gpu: &'g Gpu,
    parts: Parts,
    blocks: u32,
}

impl<'g> Copies<'g> {
    /// None yet.
    pub(crate) fn new(gpu: &'g Gpu) -> Self {
        Self { gpu, parts: Parts { per_block: PER_BLOCK, ..Parts::zeroed() }, blocks: 0 }
    }

    /// `y[:, to..to + count] (+)= x[:, from..from + count]` for `rows` rows.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn columns(
        &mut self,
        x: View<'_>,
        x_cols: usize,
        from: usize,
        count: usize,
        y: ViewMut<'_>,
        y_cols: usize,
        to: usize,
        rows: usize,
        accumulate: Accumulate,
    ) {
        debug_assert!(from + count <= x_cols && to + count <= y_cols);
        debug_assert!(x.len() >= rows * x_cols && y.len() >= rows * y_cols);
        if rows == 0 || count == 0 {
            return;
        }
        if self.parts.count as usize == PARTS {
            self.launch();
        }
        let place = |base: u64, column: usize| base + (column * size_of::<f32>()) as u64;
        let (from, to) = (place(x.ptr(), from), place(y.ptr(), to));
        let in_one = rows == 1 || (count == x_cols && count == y_cols);
        let fits = |len: usize| len.is_multiple_of(4);
        let fits_rows = in_one || (fits(x_cols) && fits(y_cols) && fits(count));
        let wide = (from | to).is_multiple_of(16) && fits(rows * count) && fits_rows;
        let unit = if wide { 4 } else { 1 };
        let elements = rows * count / unit;
        let (at, bit) = (self.parts.count as usize, 1 << (self.parts.count % 32));
        self.parts.part[at] = CopiedColumns {
            from,
            to,
            elements: elements as u64,
            width: if in_one { 0 } else { (count / unit) as u32 },
            from_stride: (x_cols / unit) as u32,
            to_stride: (y_cols / unit) as u32,
            first_block: self.blocks,
        };
        self.parts.wide[at / 32] |= if wide { bit } else { 0 };
        self.parts.adds[at / 32] |= if accumulate == Accumulate::Add { bit } else { 0 };
        self.parts.count += 1;
        self.blocks += elements.div_ceil(PER_BLOCK as usize) as u32;
    }

    /// Launches what there is.
    fn launch(&mut self) {
        self.gpu.launch(&COPY, self.blocks, BLOCK, 0, &[&ByValue(&self.parts)]);
        self.parts = Parts { per_block: PER_BLOCK, ..Parts::zeroed() };
        self.blocks = 0;
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        self.launch();
    }
}
