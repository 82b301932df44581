//! The backward pass: from a scalar to the gradients of the leaves.

use crate::buffer::Buffer;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::gradient::Gradient;
use crate::tape::{Kept, Tape, Value, Var, expect_shape};

/// The gradient that a backward pass begins with.
#[derive(Debug, Clone, Copy)]
pub enum Seed<'a> {
    /// The same for every value.
    Number(f32),
    /// One for each value.
    Matrix(&'a Kept),
}

impl Tape {
    /// Computes the gradients of `loss` with respect to every leaf that wants one.
    ///
    /// Values of intermediate results are given back on the way: only leaves can be read
    /// afterwards.
    ///
    /// # Errors
    /// If `loss` is not 1 × 1, or there was a backward pass since the last reset.
    pub fn backward(&mut self, loss: Var) -> Result<(), TensorError> {
        expect_shape("backward", "the loss", Shape::new(1, 1), self.shape(loss))?;
        self.backward_from(loss, &[1.0])
    }

    /// Computes gradients from a given gradient of `output`: the backward pass of a part of a
    /// computation whose rest was differentiated elsewhere.
    ///
    /// # Errors
    /// If the gradient has not as many values as `output`, or there was a backward pass since the
    /// last reset.
    pub fn backward_from(&mut self, output: Var, gradient: &[f32]) -> Result<(), TensorError> {
        let shape = self.shape(output);
        if gradient.len() != shape.len() {
            return Err(TensorError::Length { shape, got: gradient.len() });
        }
        self.open_gradients()?;
        self.seed_gradient(output, gradient);
        for index in (0..=output.index as usize).rev() {
            self.step_back(index);
        }
        Ok(())
    }

    /// Computes gradients from those of several outputs, of which each is given as a number for
    /// all of its values or as a matrix. Everything on the tape is gone through: operators that take
    /// part in the backward passes of others do so even if no output depends on them.
    ///
    /// # Errors
    /// If a gradient has not as many values as its output, or there was a backward pass since the
    /// last reset.
    pub fn backward_from_all(&mut self, outputs: &[(Var, Seed<'_>)]) -> Result<(), TensorError> {
        self.open_gradients()?;
        for &(output, seed) in outputs {
            match seed {
                Seed::Number(number) => {
                    self.seed_gradient(output, &vec![number; self.shape(output).len()]);
                }
                Seed::Matrix(kept) => self.seed_matrix(output, kept)?,
            }
        }
        for index in (0..self.nodes.len()).rev() {
            self.step_back(index);
        }
        Ok(())
    }

    /// Room for a gradient of every node; those of parameters that were lent are there already.
    fn open_gradients(&mut self) -> Result<(), TensorError> {
        if !self.gradients.is_empty() {
            return Err(TensorError::Spent);
        }
        self.gradients.resize_with(self.nodes.len(), Gradient::default);
        for (slot, block) in self.lent.drain(..) {
            match self.parameters.get(slot).copied().flatten() {
                Some(var) => self.gradients[var.index as usize] = Gradient::Held(block),
                None => unreachable!("only gradients of parameters on the tape are lent"),
            }
        }
        Ok(())
    }

    /// Begins the gradient of the parameter `slot` with the values of a block instead of with zeros,
    /// and leaves another block for it: what the backward pass finds is added to them, as if it had
    /// found them itself. False if the parameter is not on the tape, or lives on a GPU, where
    /// gradients of one update lie in one place anyway.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn lend_gradient(&mut self, slot: usize, block: &mut Buffer) -> bool {
        let Some(var) = self.parameters.get(slot).copied().flatten() else { return false };
        if self.gpu().is_some() {
            return false;
        }
        assert_eq!(self.shape(var).len(), block.len(), "a gradient is as long as its parameter");
        let own = std::mem::replace(block, self.pool.take(block.len()));
        self.lent.push((slot, own));
        true
    }

    /// The same as [`Tape::seed_gradient`] with a matrix that may be on a GPU.
    fn seed_matrix(&mut self, output: Var, kept: &Kept) -> Result<(), TensorError> {
        let shape = self.shape(output);
        if kept.shape() != shape {
            return Err(TensorError::Length { shape, got: kept.shape().len() });
        }
        let Some(mut opened) = self.open(output) else { return Ok(()) };
        match self.gpu() {
            None => {
                crate::cpu::elementwise::scale_add(1.0, kept.values().as_slice(), opened.slice());
            }
            Some(gpu) => {
                let given = kept.values().view();
                crate::cuda::elementwise::scale_add(gpu, 1.0, given, opened.view());
            }
        }
        self.close([Some(opened)]);
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
