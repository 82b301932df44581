//! Batch normalisation (over rows, per column) and layer normalisation (over columns, per row).

use super::column_pairs::{Parts, SHARED_BYTES};
use super::elementwise::{BLOCK, fours, lanes, singles};
use super::{Gpu, Kernel, Sink, View, ViewMut};

static BATCH_SUMS: Kernel = Kernel::new("norm", "norm_batch_sums");
static BATCH_STATISTICS: Kernel = Kernel::new("norm", "norm_batch_statistics");
static GIVEN_STATISTICS: Kernel = Kernel::new("norm", "norm_given_statistics");
static BATCH_FORWARD: Kernel = Kernel::new("norm", "norm_batch_forward");
static BATCH_SLOPES: Kernel = Kernel::new("norm", "norm_batch_slopes");
static BATCH_FACTORS: Kernel = Kernel::new("norm", "norm_batch_factors");
static BATCH_BACKWARD: Kernel = Kernel::new("norm", "norm_batch_backward");
static FIXED_BACKWARD: Kernel = Kernel::new("norm", "norm_fixed_backward");
static UPDATE_RUNNING: Kernel = Kernel::new("norm", "norm_update_running");
static LAYER_FORWARD: Kernel = Kernel::new("norm", "norm_layer_forward");
static LAYER_BACKWARD: Kernel = Kernel::new("norm", "norm_layer_backward");
static LAYER_SLOPES: Kernel = Kernel::new("norm", "norm_layer_slopes");
static LAYER_JOIN: Kernel = Kernel::new("norm", "norm_layer_join");

/// Threads of a block that joins the sums of one column.
const JOINING: u32 = 512;

/// Mean and inverse standard deviation of every column (biased variance).
pub(crate) fn batch_statistics(
    gpu: &Gpu,
    x: View<'_>,
    rows: usize,
    cols: usize,
    epsilon: f32,
    statistics: ViewMut<'_>,
) {
    let mut parts = Parts::by_neighbours(gpu, rows, cols, &[x]);
    let (grid, rows, width) = (parts.grid(), rows as u64, cols as u32);
    let neighbours = parts.neighbours;
    let arguments: [&dyn super::Arg; 5] = [&x, &rows, &width, &neighbours, &parts.view_mut()];
    gpu.launch(&BATCH_SUMS, grid, BLOCK, SHARED_BYTES, &arguments);
    let (mean, inverse) = statistics.split_at(cols);
    gpu.launch(
        &BATCH_STATISTICS,
        width,
        JOINING,
        0,
        &[&parts.view(), &parts.blocks, &rows, &width, &epsilon, &mean, &inverse],
    );
}

/// Given mean and variance as [`batch_statistics`] leaves those of a batch.
pub(crate) fn given_statistics(
    gpu: &Gpu,
    [mean, variance]: [View<'_>; 2],
    epsilon: f32,
    statistics: ViewMut<'_>,
) {
    let cols = mean.len();
    let (kept_mean, inverse) = statistics.split_at(cols);
    let arguments: [&dyn super::Arg; 6] =
        [&mean, &variance, &(cols as u32), &epsilon, &kept_mean, &inverse];
    gpu.launch(&GIVEN_STATISTICS, singles(cols), BLOCK, 0, &arguments);
}

/// `y = (x − mean)·inverse·scale + shift`, all per column.
pub(crate) fn batch_norm_forward(
    gpu: &Gpu,
    x: View<'_>,
    cols: usize,
    statistics: View<'_>,
    [scale, shift]: [View<'_>; 2],
    y: ViewMut<'_>,
) {
    let len = y.len();
    let [mean, inverse] = halves(statistics);
    gpu.launch(
        &BATCH_FORWARD,
        fours(len),
        BLOCK,
        0,
        &[&x, &(cols as u32), &mean, &inverse, &scale, &shift, &y, &(len as u64)],
    );
}

/// The gradients of [`batch_norm_forward`] with the statistics of the batch itself, or given ones
/// if `fixed`; those of scale and shift are added to.
#[allow(clippy::too_many_arguments)]
pub(crate) fn batch_norm_backward(
    gpu: &Gpu,
    x: View<'_>,
    cols: usize,
    statistics: View<'_>,
    fixed: bool,
    scale: View<'_>,
    dy: View<'_>,
    dx: Sink<'_>,
    [d_scale, d_shift]: [Option<ViewMut<'_>>; 2],
) {
    let len = x.len();
    if len == 0 {
        return;
    }
    let [mean, inverse] = halves(statistics);
    let (rows, width) = ((len / cols) as u64, cols as u32);
    let mut factors = gpu.take(3 * cols);
    let wants_dx = dx.place.is_some();
    if d_scale.is_some() || d_shift.is_some() || (wants_dx && !fixed) {
        let mut parts = Parts::by_neighbours(gpu, len / cols, cols, &[x, dy, mean]);
        let (grid, neighbours) = (parts.grid(), parts.neighbours);
        let arguments: [&dyn super::Arg; 7] =
            [&x, &dy, &mean, &rows, &width, &neighbours, &parts.view_mut()];
        gpu.launch(&BATCH_SLOPES, grid, BLOCK, SHARED_BYTES, &arguments);
        gpu.launch(
            &BATCH_FACTORS,
            width,
            JOINING,
            0,
            &[
                &parts.view(),
                &parts.blocks,
                &rows,
                &width,
                &inverse,
                &scale,
                &d_scale,
                &d_shift,
                &factors.view_mut(),
            ],
        );
    }
    if !wants_dx {
        return;
    }
    if fixed {
        let (place, mode, blocks, len) = (&dx.place, &dx.mode, fours(len), len as u64);
        // Given statistics do not depend on x, so its gradient is a plain scaling.
        let arguments: [&dyn super::Arg; 7] = [&dy, &width, &inverse, &scale, place, mode, &len];
        gpu.launch(&FIXED_BACKWARD, blocks, BLOCK, 0, &arguments);
    } else {
        batch_norm_input_gradient(gpu, x, cols, statistics, factors.view(), dy, dx);
    }
}

/// The gradient of the input, with the statistics of a batch of which `x` are some or all rows, from the
/// factors of [`input_gradient_factors`](crate::cpu::norm::input_gradient_factors).
pub(crate) fn batch_norm_input_gradient(
    gpu: &Gpu,
    x: View<'_>,
    cols: usize,
    statistics: View<'_>,
    factors: View<'_>,
    dy: View<'_>,
    dx: Sink<'_>,
) {
    let (len, width, [mean, _]) = (x.len(), cols as u32, halves(statistics));
    let (place, mode) = (&dx.place, &dx.mode);
    let arguments: [&dyn super::Arg; 8] =
        [&x, &dy, &width, &mean, &factors, place, mode, &(len as u64)];
    gpu.launch(&BATCH_BACKWARD, fours(len), BLOCK, 0, &arguments);
}

fn halves(statistics: View<'_>) -> [View<'_>; 2] {
    let cols = statistics.len() / 2;
    [statistics.slice(0..cols), statistics.slice(cols..2 * cols)]
}

/// Moves running means and variances towards the `statistics` of a batch of `rows` rows, and counts
/// the batch.
pub(crate) fn update_running(
    gpu: &Gpu,
    statistics: View<'_>,
    rows: usize,
    epsilon: f32,
    momentum: f32,
    [mean, variance, count]: [ViewMut<'_>; 3],
) {
    let [batch_mean, batch_inverse] = halves(statistics);
    let rows = rows as f32;
    // PyTorch keeps the unbiased variance, but normalises with the biased one.
    let unbiased = if rows > 1.0 { rows / (rows - 1.0) } else { 1.0 };
    let cols = mean.len();
    debug_assert_eq!((variance.len(), batch_mean.len(), count.len()), (cols, cols, 1));
    gpu.launch(
        &UPDATE_RUNNING,
        // One block at least: a batch of no columns counts too.
        singles(cols.max(1)),
        BLOCK,
        0,
        &[
            &batch_mean,
            &batch_inverse,
            &(cols as u32),
            &epsilon,
            &momentum,
            &unbiased,
            &mean,
            &variance,
            &count,
        ],
    );
}

impl Gpu {
    /// Moves running `[mean, variance, count]` towards a mean and a variance that came over the host, as
    /// `update_running` does towards those of a batch.
    pub fn move_statistics(
        &self,
        [mean, variance, count]: [ViewMut<'_>; 3],
        values: [&[f32]; 2],
        momentum: f32,
    ) {
        for (kept, new) in [mean, variance].into_iter().zip(values) {
            let mut running = vec![0.0; new.len()];
            self.download(kept.as_view(), &mut running);
            for (kept, new) in running.iter_mut().zip(new) {
                *kept = (1.0 - momentum) * *kept + momentum * new;
            }
            self.upload(&running, kept);
        }
        super::elementwise::add_number(self, 1.0, count);
    }
}

/// Layer normalisation of every row; `statistics` [rows, 2] are kept for the backward pass.
pub(crate) fn layer_norm_forward(
    gpu: &Gpu,
    x: View<'_>,
    cols: usize,
    epsilon: f32,
    [scale, shift]: [View<'_>; 2],
    y: ViewMut<'_>,
    statistics: ViewMut<'_>,
) {
    let (rows, lanes) = (x.len().checked_div(cols).unwrap_or(0), lanes(cols));
    gpu.launch(
        &LAYER_FORWARD,
        singles(rows * lanes as usize),
        BLOCK,
        0,
        &[&x, &(rows as u64), &(cols as u32), &lanes, &epsilon, &scale, &shift, &y, &statistics],
    );
}

/// The gradients of [`layer_norm_forward`]; those of scale and shift are added to.
#[allow(clippy::too_many_arguments)]
pub(crate) fn layer_norm_backward(
    gpu: &Gpu,
    x: View<'_>,
    cols: usize,
    statistics: View<'_>,
    scale: View<'_>,
    dy: View<'_>,
    dx: Sink<'_>,
    [d_scale, d_shift]: [Option<ViewMut<'_>>; 2],
) {
    if x.is_empty() {
        return;
    }
    let (rows, lanes) = (x.len() / cols, lanes(cols));
    let (height, width) = (rows as u64, cols as u32);
    if d_scale.is_some() || d_shift.is_some() {
        let mut parts = Parts::by_neighbours(gpu, rows, cols, &[x, dy]);
        let (grid, neighbours) = (parts.grid(), parts.neighbours);
        let arguments: [&dyn super::Arg; 7] =
            [&x, &dy, &statistics, &height, &width, &neighbours, &parts.view_mut()];
        gpu.launch(&LAYER_SLOPES, grid, BLOCK, SHARED_BYTES, &arguments);
        let arguments: [&dyn super::Arg; 5] =
            [&parts.view(), &parts.blocks, &width, &d_scale, &d_shift];
        gpu.launch(&LAYER_JOIN, width, JOINING, 0, &arguments);
    }
    if dx.place.is_some() {
        gpu.launch(
            &LAYER_BACKWARD,
            singles(rows * lanes as usize),
            BLOCK,
            0,
            &[&x, &height, &width, &lanes, &statistics, &scale, &dy, &dx.place, &dx.mode],
        );
    }
}

#[cfg(test)]
mod tests;
