//! Sums on the device: of columns, of everything, of squares, and of shares of other sums.

use super::kernel::{Arg, Kernel, grid_for};
use super::{Gpu, View, ViewMut};
use crate::cpu::matmul::Accumulate;

static ADD_SHARES: Kernel = Kernel::new("reduce", "reduce_add_shares");
static COLUMNS: Kernel = Kernel::new("reduce", "reduce_columns");
static SUM_SHARES: Kernel = Kernel::new("reduce", "reduce_sum_shares");
static MEAN: Kernel = Kernel::new("reduce", "reduce_mean");
static MEAN_BACKWARD: Kernel = Kernel::new("reduce", "reduce_mean_backward");
static UNIT_FORWARD: Kernel = Kernel::new("reduce", "reduce_unit_forward");
static UNIT_BACKWARD: Kernel = Kernel::new("reduce", "reduce_unit_backward");

/// Threads of a block, as the kernels have it; of the kernels for one vector.
const BLOCK: usize = 256;
const VECTOR_BLOCK: u32 = 1024;
/// Results that a block of `reduce_add_shares` computes, and its threads.
const RESULTS: usize = 32;
const SLICES: u32 = 32;
/// Elements of a share at least, and most shares: a few blocks a multiprocessor on the largest GPUs.
const SHARE: usize = 16 * 1024;
const MAX_SHARES: usize = 512;

/// Adds `count` shares of sums for each member of a batch. The first `split` sums of a share are
/// written or added to the member's part of `first`, the others are added to `second`.
#[allow(clippy::too_many_arguments)]
pub(super) fn add_shares(
    gpu: &Gpu,
    shares: View<'_>,
    count: usize,
    batch: usize,
    split: usize,
    first: ViewMut<'_>,
    mode: Accumulate,
    second: Option<ViewMut<'_>>,
) {
    let len = split + second.as_ref().map_or(0, ViewMut::len);
    debug_assert_eq!(shares.len(), count * batch * len);
    gpu.launch(
        &ADD_SHARES,
        (grid_for(len, RESULTS), batch as u32),
        RESULTS as u32 * SLICES,
        0,
        &[&shares, &(count as u64), &(len as u64), &(split as u64), &first, &mode, &second],
    );
}

/// `out[j] += Σ x[row, j]`, over rows.
pub(crate) fn column_sums(gpu: &Gpu, x: View<'_>, rows: usize, cols: usize, out: ViewMut<'_>) {
    debug_assert_eq!((x.len(), out.len()), (rows * cols, cols));
    if rows == 0 || cols == 0 {
        return;
    }
    let count = (x.len() / SHARE).clamp(1, MAX_SHARES);
    let share = rows.div_ceil(count);
    let count = rows.div_ceil(share);
    let mut parts = (count > 1).then(|| gpu.take(count * cols));
    gpu.launch(
        &COLUMNS,
        (count as u32, grid_for(cols, BLOCK)),
        BLOCK as u32,
        0,
        &[
            &x,
            &(rows as u64),
            &(cols as u64),
            &(share as u64),
            &parts.as_mut().map(|parts| parts.view_mut()),
            &out,
        ],
    );
    if let Some(parts) = &parts {
        add_shares(gpu, parts.view(), count, 1, cols, out, Accumulate::Add, None);
    }
}

/// The mean of all elements, 0 of none, from a sum in f64.
pub(crate) fn mean(gpu: &Gpu, x: View<'_>, out: ViewMut<'_>) {
    let count = x.len().div_ceil(SHARE).clamp(1, MAX_SHARES);
    let share = x.len().div_ceil(count);
    let mut sums = gpu.take_of::<f64>(count);
    let sizes = [x.len() as u64, share as u64];
    let arguments = [&x as &dyn Arg, &sizes[0], &sizes[1], &sums.view_mut()];
    gpu.launch(&SUM_SHARES, count as u32, BLOCK as u32, 0, &arguments);
    let divisor = x.len().max(1) as f32;
    gpu.launch(&MEAN, 1, BLOCK as u32, 0, &[&sums.view(), &(count as u64), &divisor, &out]);
}

/// Adds the gradient of [`mean`].
pub(crate) fn mean_backward(gpu: &Gpu, dy: View<'_>, dx: ViewMut<'_>) {
    let blocks = grid_for(dx.len(), 4 * BLOCK);
    gpu.launch(&MEAN_BACKWARD, blocks, BLOCK as u32, 0, &[&dy, &dx, &(dx.len() as u64)]);
}

/// y = x / ‖x‖ and the norm.
pub(crate) fn unit_vector(gpu: &Gpu, x: View<'_>, y: ViewMut<'_>, norm: ViewMut<'_>) {
    gpu.launch(&UNIT_FORWARD, 1, VECTOR_BLOCK, 0, &[&x, &(x.len() as u64), &y, &norm]);
}

/// Adds the gradient of [`unit_vector`], from its results.
pub(crate) fn unit_vector_backward(
    gpu: &Gpu,
    unit: View<'_>,
    norm: View<'_>,
    dy: View<'_>,
    dx: ViewMut<'_>,
) {
    let len = unit.len() as u64;
    gpu.launch(&UNIT_BACKWARD, 1, VECTOR_BLOCK, 0, &[&unit, &norm, &dy, &len, &dx]);
}
