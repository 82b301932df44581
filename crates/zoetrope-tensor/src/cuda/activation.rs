//! Activation functions and their derivatives, computed from the function's output.

use super::elementwise::{BLOCK, fours};
use super::{Gpu, Kernel, View, ViewMut};
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;

static FORWARD: Kernel = Kernel::new("activation", "activation_forward");
static BACKWARD: Kernel = Kernel::new("activation", "activation_backward");

/// The number of an activation in kernels (`activation_value` of `prelude.cuh`), and its parameter.
pub(crate) fn code(activation: Activation) -> (u32, f32) {
    match activation {
        Activation::Identity => (0, 0.0),
        Activation::Relu => (1, 0.0),
        Activation::LeakyRelu(slope) => (1, slope),
        Activation::Elu(alpha) => (2, alpha),
        Activation::Sigmoid => (3, 0.0),
        Activation::Tanh => (4, 0.0),
        Activation::Softplus => (5, 0.0),
    }
}

/// `y = activation(x)`.
pub(crate) fn forward(gpu: &Gpu, activation: Activation, x: View<'_>, y: ViewMut<'_>) {
    debug_assert_eq!(x.len(), y.len());
    let ((kind, parameter), len) = (code(activation), y.len());
    gpu.launch(&FORWARD, fours(len), BLOCK, 0, &[&kind, &parameter, &x, &y, &(len as u64)]);
}

/// `dx (+)= activation′·dy`, from the output `y` of [`forward`].
pub(crate) fn backward(
    gpu: &Gpu,
    activation: Activation,
    y: View<'_>,
    dy: View<'_>,
    dx: ViewMut<'_>,
    accumulate: Accumulate,
) {
    debug_assert_eq!((y.len(), dy.len()), (dx.len(), dx.len()));
    let ((kind, parameter), len) = (code(activation), dx.len());
    gpu.launch(
        &BACKWARD,
        fours(len),
        BLOCK,
        0,
        &[&kind, &parameter, &y, &dy, &dx, &accumulate, &(len as u64)],
    );
}
