//! The walk back: from a scalar to the gradients of the leaves.

use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::gradient::Gradient;
use crate::tape::{Tape, Value, Var, expect_shape};

impl Tape {
    /// Computes the gradients of `loss` with respect to every leaf that wants one.
    ///
    /// Values of intermediate results are given back on the way: only leaves can be read
    /// afterwards.
    ///
    /// # Errors
    /// Where `loss` is not 1 × 1, or there was a backward pass since the last reset.
    pub fn backward(&mut self, loss: Var) -> Result<(), TensorError> {
        expect_shape("backward", "the loss", Shape::new(1, 1), self.shape(loss))?;
        self.backward_from(loss, &[1.0])
    }

    /// Computes gradients from a given gradient of `output`: the backward pass of a part of a
    /// computation whose rest was differentiated elsewhere.
    ///
    /// # Errors
    /// Where the gradient has not as many values as `output`, or there was a backward pass since the
    /// last reset.
    pub fn backward_from(&mut self, output: Var, gradient: &[f32]) -> Result<(), TensorError> {
        let shape = self.shape(output);
        if gradient.len() != shape.len() {
            return Err(TensorError::Length { shape, got: gradient.len() });
        }
        if !self.gradients.is_empty() {
            return Err(TensorError::Spent);
        }
        self.gradients.resize_with(self.nodes.len(), Gradient::default);
        self.seed_gradient(output, gradient);
        for index in (0..=output.index as usize).rev() {
            self.step_back(index);
        }
        Ok(())
    }

    /// Puts a given gradient where the walk begins.
    fn seed_gradient(&mut self, output: Var, gradient: &[f32]) {
        let Some(mut opened) = self.open(output) else { return };
        match self.gpu() {
            None => crate::cpu::elementwise::scale_add(1.0, gradient, opened.slice()),
            // A kernel's argument instead of a copy, which could not be recorded.
            Some(gpu) if gradient.len() == 1 => {
                crate::cuda::elementwise::add_number(gpu, gradient[0], opened.view());
            }
            Some(gpu) => {
                let given = gpu.uploaded(gradient);
                crate::cuda::elementwise::scale_add(gpu, 1.0, given.view(), opened.view());
            }
        }
        self.close([Some(opened)]);
    }

    /// Sends the gradient of one node to its operands and frees what is no longer needed.
    fn step_back(&mut self, index: usize) {
        if self.nodes[index].op.is_leaf() {
            return;
        }
        let op = std::mem::take(&mut self.nodes[index].op);
        let var = self.var_at(index);
        let gradient = match std::mem::take(&mut self.gradients[index]) {
            Gradient::Held(gradient) => Some((gradient, 0)),
            Gradient::Part(gradient, from) => Some((gradient, from)),
            _ if self.nodes[index].needs_gradient && op.is_collective() => {
                Some((self.pool.take_zeroed(self.nodes[index].shape.len()), 0))
            }
            _ => None,
        };
        if let Some((gradient, from)) = gradient {
            self.operator_backward(&op, var, gradient, from);
        }
        let node = &mut self.nodes[index];
        node.op = op;
        if let Some(buffer) = std::mem::replace(&mut node.value, Value::Released).into_block() {
            self.pool.give(buffer);
        }
        if let Some(buffer) = self.nodes[index].saved.take() {
            self.pool.give(buffer);
        }
    }
}
