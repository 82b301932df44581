//! Sums, products and scalings, value by value or per row and column.

use super::kernel::{Kernel, grid_for};
use super::{Gpu, Sink, View, ViewMut};
use crate::cpu::matmul::Accumulate;

/// Threads of a block of the simple kernels.
pub(super) const BLOCK: u32 = 256;

static ADD_SCALED: Kernel = Kernel::new("elementwise", "elementwise_add_scaled");
static ADD_SCALED_BACKWARD: Kernel = Kernel::new("elementwise", "elementwise_add_scaled_backward");
static ADD_NUMBER: Kernel = Kernel::new("elementwise", "elementwise_add_number");
static MUL: Kernel = Kernel::new("elementwise", "elementwise_mul");
static MUL_BACKWARD: Kernel = Kernel::new("elementwise", "elementwise_mul_backward");
static SCALE: Kernel = Kernel::new("elementwise", "elementwise_scale");
static ADD_BIAS: Kernel = Kernel::new("elementwise", "elementwise_add_bias");
static ROW_SCALE: Kernel = Kernel::new("elementwise", "elementwise_row_scale");
static ROW_SCALE_BACKWARD: Kernel = Kernel::new("elementwise", "elementwise_row_scale_backward");

/// Blocks of a kernel whose threads take four values each.
pub(super) fn fours(len: usize) -> u32 {
    grid_for(len, 4 * BLOCK as usize)
}

/// Blocks of a kernel with a thread for each item.
pub(super) fn singles(len: usize) -> u32 {
    grid_for(len, BLOCK as usize)
}

/// Threads that own a row of `width` values: a power of two, at most a warp.
pub(super) fn lanes(width: usize) -> u32 {
    width.clamp(1, 32).next_power_of_two() as u32
}

/// `y = a + factor · b`.
pub(crate) fn add_scaled(gpu: &Gpu, a: View<'_>, b: View<'_>, factor: f32, y: ViewMut<'_>) {
    let len = y.len();
    debug_assert_eq!((a.len(), b.len()), (len, len));
    gpu.launch(&ADD_SCALED, fours(len), BLOCK, 0, &[&a, &b, &factor, &y, &(len as u64)]);
}

/// `da (+)= dy` and `db (+)= factor · dy`.
pub(crate) fn add_scaled_backward(
    gpu: &Gpu,
    dy: View<'_>,
    factor: f32,
    da: Sink<'_>,
    db: Sink<'_>,
) {
    let len = dy.len();
    gpu.launch(
        &ADD_SCALED_BACKWARD,
        fours(len),
        BLOCK,
        0,
        &[&dy, &factor, &da.place, &da.mode, &db.place, &db.mode, &(len as u64)],
    );
}

/// `y += number`.
pub(crate) fn add_number(gpu: &Gpu, number: f32, y: ViewMut<'_>) {
    let len = y.len();
    gpu.launch(&ADD_NUMBER, singles(len), BLOCK, 0, &[&number, &y, &(len as u64)]);
}

/// `y = a ∘ b`.
pub(crate) fn mul(gpu: &Gpu, a: View<'_>, b: View<'_>, y: ViewMut<'_>) {
    let len = y.len();
    debug_assert_eq!((a.len(), b.len()), (len, len));
    gpu.launch(&MUL, fours(len), BLOCK, 0, &[&a, &b, &y, &(len as u64)]);
}

/// `da (+)= b ∘ dy` and `db (+)= a ∘ dy`.
pub(crate) fn mul_backward(
    gpu: &Gpu,
    dy: View<'_>,
    [a, b]: [View<'_>; 2],
    da: Sink<'_>,
    db: Sink<'_>,
) {
    let len = dy.len();
    gpu.launch(
        &MUL_BACKWARD,
        fours(len),
        BLOCK,
        0,
        &[&dy, &a, &b, &da.place, &da.mode, &db.place, &db.mode, &(len as u64)],
    );
}

/// `y (+)= factor · x`.
pub(crate) fn scaled(gpu: &Gpu, factor: f32, x: View<'_>, y: ViewMut<'_>, accumulate: Accumulate) {
    let len = y.len();
    debug_assert_eq!(x.len(), len);
    gpu.launch(&SCALE, fours(len), BLOCK, 0, &[&factor, &x, &y, &accumulate, &(len as u64)]);
}

/// `y += factor · x`.
pub(crate) fn scale_add(gpu: &Gpu, factor: f32, x: View<'_>, y: ViewMut<'_>) {
    scaled(gpu, factor, x, y, Accumulate::Add);
}

/// `y[i, j] = x[i, j] + bias[j]`.
pub(crate) fn add_bias(gpu: &Gpu, x: View<'_>, bias: View<'_>, cols: usize, y: ViewMut<'_>) {
    let len = y.len();
    debug_assert_eq!((x.len(), bias.len()), (len, cols));
    gpu.launch(&ADD_BIAS, fours(len), BLOCK, 0, &[&x, &bias, &(cols as u32), &y, &(len as u64)]);
}

/// `y[i, j] = s[i] · x[i, j]`.
pub(crate) fn row_scale(gpu: &Gpu, x: View<'_>, s: View<'_>, cols: usize, y: ViewMut<'_>) {
    let len = y.len();
    debug_assert_eq!((x.len(), s.len() * cols), (len, len));
    gpu.launch(&ROW_SCALE, fours(len), BLOCK, 0, &[&x, &s, &(cols as u32), &y, &(len as u64)]);
}

/// `dx[i, j] (+)= s[i] · dy[i, j]` and `ds[i] (+)= Σⱼ x[i, j] · dy[i, j]`.
pub(crate) fn row_scale_backward(
    gpu: &Gpu,
    [x, s]: [View<'_>; 2],
    cols: usize,
    dy: View<'_>,
    dx: Sink<'_>,
    ds: Sink<'_>,
) {
    let (rows, lanes) = (s.len(), lanes(cols));
    gpu.launch(
        &ROW_SCALE_BACKWARD,
        singles(rows * lanes as usize),
        BLOCK,
        0,
        &[
            &x,
            &s,
            &(rows as u64),
            &(cols as u32),
            &lanes,
            &dy,
            &dx.place,
            &dx.mode,
            &ds.place,
            &ds.mode,
        ],
    );
}
