//! Softmax over the rows of a matrix and over the entries of sparse rows.

use std::sync::Arc;

use super::elementwise::{BLOCK, lanes, singles};
use super::{Gpu, Kernel, Scratch, Sink, View, ViewMut, grid_for};
use crate::sparse::SparseMatrix;

static ROWS: Kernel = Kernel::new("softmax", "softmax_rows");
static ROWS_BACKWARD: Kernel = Kernel::new("softmax", "softmax_rows_backward");
static SEGMENTS: Kernel = Kernel::new("softmax", "softmax_segments");
static SEGMENTS_BACKWARD: Kernel = Kernel::new("softmax", "softmax_segments_backward");

/// Threads that own a sparse row of ordinary length, as in `softmax.cu`.
const SPARSE_LANES: usize = 8;

/// `y[i] = softmax(x[i])` for rows of `cols` values.
pub(crate) fn softmax_rows(gpu: &Gpu, x: View<'_>, cols: usize, y: ViewMut<'_>) {
    let (rows, lanes) = (x.len().checked_div(cols).unwrap_or(0), lanes(cols));
    let blocks = singles(rows * lanes as usize);
    gpu.launch(&ROWS, blocks, BLOCK, 0, &[&x, &(rows as u64), &(cols as u32), &lanes, &y]);
}

/// `dx (+)= y∘(dy − Σ dy∘y)` per row, from the output `y`.
pub(crate) fn softmax_rows_backward(
    gpu: &Gpu,
    y: View<'_>,
    cols: usize,
    dy: View<'_>,
    dx: Sink<'_>,
) {
    let (rows, lanes) = (y.len().checked_div(cols).unwrap_or(0), lanes(cols));
    let blocks = singles(rows * lanes as usize);
    let (rows, cols) = (rows as u64, cols as u32);
    let arguments: [&dyn super::Arg; 7] = [&y, &rows, &cols, &lanes, &dy, &dx.place, &dx.mode];
    gpu.launch(&ROWS_BACKWARD, blocks, BLOCK, 0, &arguments);
}

/// Where the rows of a sparse matrix begin, on the GPU.
struct Offsets(Scratch<u32>);

impl Offsets {
    fn of(gpu: &Gpu, matrix: &Arc<SparseMatrix>) -> Arc<Self> {
        gpu.derived(matrix, 0, || Self(gpu.uploaded(matrix.csr().offsets)))
    }
}

/// Softmax of the values `x` (one per entry) within every row of `m`, whose own values are not used.
pub(crate) fn segment_softmax(gpu: &Gpu, m: &Arc<SparseMatrix>, x: View<'_>, y: ViewMut<'_>) {
    let offsets = Offsets::of(gpu, m);
    let blocks = grid_for(m.rows(), BLOCK as usize / SPARSE_LANES);
    gpu.launch(&SEGMENTS, blocks, BLOCK, 0, &[&offsets.0.view(), &(m.rows() as u32), &x, &y]);
}

/// `dx += y∘(dy − Σ dy∘y)` within every row of `m`, from the output `y`.
pub(crate) fn segment_softmax_backward(
    gpu: &Gpu,
    m: &Arc<SparseMatrix>,
    y: View<'_>,
    dy: View<'_>,
    dx: ViewMut<'_>,
) {
    let offsets = Offsets::of(gpu, m);
    let blocks = grid_for(m.rows(), BLOCK as usize / SPARSE_LANES);
    let arguments: [&dyn super::Arg; 5] = [&offsets.0.view(), &(m.rows() as u32), &y, &dy, &dx];
    gpu.launch(&SEGMENTS_BACKWARD, blocks, BLOCK, 0, &arguments);
}
