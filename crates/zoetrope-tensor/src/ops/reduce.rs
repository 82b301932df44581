//! Means and norms.

use crate::buffer::Buffer;
use crate::cpu::{elementwise, reduce};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var};

impl Tape {
    /// The mean of all values, 0 of none.
    pub fn mean(&mut self, x: Var) -> Var {
        let mut y = self.pool.take(1);
        match self.gpu() {
            None => {
                let value = self.value(x);
                y.as_mut_slice()[0] = reduce::sum(value) / value.len().max(1) as f32;
            }
            Some(gpu) => cuda::reduce::mean(gpu, self.view(x), y.view_mut()),
        }
        self.record(Op::Mean { x }, Shape::new(1, 1), y, None, &[x])
    }

    pub(super) fn mean_backward(&mut self, x: Var, dy: &Buffer) {
        if let Some(mut dx) = self.open(x) {
            match self.gpu() {
                None => {
                    let share = dy.as_slice()[0] / self.shape(x).len().max(1) as f32;
                    dx.slice().iter_mut().for_each(|d| *d += share);
                }
                Some(gpu) => cuda::reduce::mean_backward(gpu, dy.view(), dx.view()),
            }
            self.close([Some(dx)]);
        }
    }

    /// `x / ‖x‖`, the norm being over all values.
    ///
    /// # Errors
    /// If `x` is not one row or one column.
    pub fn unit_vector(&mut self, x: Var) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        if shape.rows != 1 && shape.cols != 1 {
            return Err(TensorError::Argument {
                operator: "unit_vector",
                name: "the operand",
                expected: "one row or one column",
                got: shape.to_string(),
            });
        }
        let mut y = self.pool.take_zeroed(shape.len());
        let mut saved = self.pool.take(1);
        match self.gpu() {
            None => {
                let norm = reduce::squared_norm(self.value(x)).sqrt() as f32;
                saved.as_mut_slice()[0] = norm;
                elementwise::scale_add(1.0 / norm, self.value(x), y.as_mut_slice());
            }
            Some(gpu) => {
                cuda::reduce::unit_vector(gpu, self.view(x), y.view_mut(), saved.view_mut());
            }
        }
        Ok(self.record(Op::UnitVector { x }, shape, y, Some(saved), &[x]))
    }

    pub(super) fn unit_vector_backward(&mut self, node: Var, x: Var, dy: &Buffer) {
        // d(x/‖x‖) = (dy − u·(u·dy)) / ‖x‖ with u = x/‖x‖.
        if let Some(mut dx) = self.open(x) {
            let norm = self.node(node).saved.as_ref().expect("the norm was saved");
            match self.gpu() {
                None => {
                    let (unit, norm) = (self.value(node), norm.as_slice()[0]);
                    let along: f32 = unit.iter().zip(dy.as_slice()).map(|(u, d)| u * d).sum();
                    elementwise::scale_add(1.0 / norm, dy.as_slice(), dx.slice());
                    elementwise::scale_add(-along / norm, unit, dx.slice());
                }
                Some(gpu) => {
                    let (unit, norm) = (self.view(node), norm.view());
                    cuda::reduce::unit_vector_backward(gpu, unit, norm, dy.view(), dx.view());
                }
            }
            self.close([Some(dx)]);
        }
    }
}
