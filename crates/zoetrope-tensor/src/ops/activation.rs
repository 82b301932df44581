//! Activations that are not fused into another operator.

use crate::buffer::Buffer;
use crate::cpu::activation::{self, Activation};
use crate::cuda;
use crate::tape::{Op, Tape, Var};

impl Tape {
    /// `activation(x)`, value by value.
    pub fn activate(&mut self, x: Var, activation: Activation) -> Var {
        let shape = self.shape(x);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => activation::forward(activation, self.value(x), y.as_mut_slice()),
            Some(gpu) => cuda::activation::forward(gpu, activation, self.view(x), y.view_mut()),
        }
        self.record(Op::Activation { x, activation }, shape, y, None, &[x])
    }

    pub(super) fn activation_backward(
        &mut self,
        node: Var,
        x: Var,
        activation: Activation,
        dy: &Buffer,
    ) {
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            match self.gpu() {
                None => {
                    let (y, dy) = (self.value(node), dy.as_slice());
                    activation::backward(activation, y, dy, dx.slice(), mode);
                }
                Some(gpu) => {
                    let (y, dy) = (self.view(node), dy.view());
                    cuda::activation::backward(gpu, activation, y, dy, dx.view(), mode);
                }
            }
            self.close([Some(dx)]);
        }
    }
}
