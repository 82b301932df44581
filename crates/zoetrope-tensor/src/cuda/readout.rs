//! y = relu(x)·Wᵀ + b with few outputs, by the kernels of `matmul/thin.cu`: forward reads x once,
//! backward reads x and dy once and writes dx, with the sums of dW and db in the same pass.

use super::matmul::{Layer, Members, thin};
use super::{Gpu, View, ViewMut};
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;

/// Whether a layer of that many inputs and outputs can go this way.
pub(crate) fn fits(width: usize, outputs: usize) -> bool {
    thin::fits_backward(outputs, width)
}

fn layer(elements: usize, width: usize, outputs: usize) -> Layer {
    Layer {
        rows: elements / width,
        ins: width,
        outs: outputs,
        transposed: true,
        activation: Activation::Identity,
        members: Members::One,
    }
}

/// y = relu(x)·Wᵀ + b for `x` [rows, width], `w` [outputs, width] and `y` [rows, outputs].
pub(crate) fn forward(
    gpu: &Gpu,
    x: View<'_>,
    width: usize,
    w: View<'_>,
    bias: View<'_>,
    y: ViewMut<'_>,
) {
    layer(x.len(), width, bias.len()).forward_rectified(gpu, [x, w], bias, y);
}

/// Adds the gradients of [`forward`]; that of `x` is overwritten if `accumulate` says so.
#[allow(clippy::too_many_arguments)]
pub(crate) fn backward(
    gpu: &Gpu,
    x: View<'_>,
    width: usize,
    w: View<'_>,
    dy: View<'_>,
    dx: Option<ViewMut<'_>>,
    accumulate: Accumulate,
    dw: Option<ViewMut<'_>>,
    d_bias: Option<ViewMut<'_>>,
) {
    // Sums that are not asked for go to scratch memory.
    let mut spare = dw.is_none().then(|| gpu.take(w.len()));
    let dw = dw.or(spare.as_mut().map(|spare| spare.view_mut())).expect("one of the two");
    let dx = dx.map(|dx| (dx, accumulate));
    layer(x.len(), width, w.len() / width).backward_rectified(gpu, [x, w, dy], dx, dw, d_bias);
}
