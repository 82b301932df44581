//! Time encodings: `y[i, k] = cos(w[k]·Δt[i] + b[k])` for exact time differences.

use std::sync::Arc;

use super::column_pairs::{Parts, SHARED_BYTES};
use super::elementwise::BLOCK;
use super::{Gpu, Kernel, View, ViewMut};

static FORWARD: Kernel = Kernel::new("time_encoding", "time_encoding_forward");
static SLOPES: Kernel = Kernel::new("time_encoding", "time_encoding_slopes");
static JOIN: Kernel = Kernel::new("time_encoding", "time_encoding_join");

/// Threads of a block that joins the sums of one column.
const JOINING: u32 = 128;
/// Rows that a thread encodes.
const ROWS: usize = 4;

/// Writes `y` [rows, T] for one difference a row.
pub(crate) fn time_encoding_forward(
    gpu: &Gpu,
    deltas: &Arc<Vec<f64>>,
    weight: View<'_>,
    bias: View<'_>,
    y: ViewMut<'_>,
) {
    let (rows, cols) = (deltas.len(), weight.len());
    debug_assert_eq!(y.len(), rows * cols);
    if y.is_empty() {
        return;
    }
    let width = cols.min(BLOCK as usize);
    let down = rows.div_ceil(BLOCK as usize / width * ROWS) as u32;
    let across = cols.div_ceil(width) as u32;
    let deltas = gpu.resident(deltas);
    let (rows, cols) = (rows as u64, cols as u32);
    let arguments: [&dyn super::Arg; 6] = [&deltas.view(), &rows, &weight, &bias, &cols, &y];
    gpu.launch(&FORWARD, (down, across), BLOCK, 0, &arguments);
}

/// Adds the gradients of [`time_encoding_forward`].
pub(crate) fn time_encoding_backward(
    gpu: &Gpu,
    deltas: &Arc<Vec<f64>>,
    weight: View<'_>,
    bias: View<'_>,
    dy: View<'_>,
    [d_weight, d_bias]: [Option<ViewMut<'_>>; 2],
) {
    if dy.is_empty() {
        return;
    }
    let (rows, cols) = (deltas.len(), weight.len());
    let mut parts = Parts::new(gpu, rows, cols);
    let grid = parts.grid();
    let deltas = gpu.resident(deltas);
    let (rows, cols) = (rows as u64, cols as u32);
    gpu.launch(
        &SLOPES,
        grid,
        BLOCK,
        SHARED_BYTES,
        &[&deltas.view(), &rows, &weight, &bias, &cols, &dy, &parts.view_mut()],
    );
    let arguments: [&dyn super::Arg; 5] = [&parts.view(), &parts.blocks, &cols, &d_weight, &d_bias];
    gpu.launch(&JOIN, cols, JOINING, 0, &arguments);
}
