//! Sums and products, value by value.

use super::kernel::{Kernel, grid_for};
use super::{Gpu, View, ViewMut};

const BLOCK: usize = 256;

static SCALE_ADD: Kernel = Kernel::new("elementwise", "elementwise_scale_add");
static ADD_NUMBER: Kernel = Kernel::new("elementwise", "elementwise_add_number");

/// `y += factor · x`.
pub(crate) fn scale_add(gpu: &Gpu, factor: f32, x: View<'_>, y: ViewMut<'_>) {
    let len = y.len();
    debug_assert_eq!(x.len(), len);
    gpu.launch(
        &SCALE_ADD,
        grid_for(len, BLOCK),
        BLOCK as u32,
        0,
        &[&factor, &x, &y, &(len as u64)],
    );
}

/// `y += number`.
pub(crate) fn add_number(gpu: &Gpu, number: f32, y: ViewMut<'_>) {
    let len = y.len();
    gpu.launch(&ADD_NUMBER, grid_for(len, BLOCK), BLOCK as u32, 0, &[&number, &y, &(len as u64)]);
}
