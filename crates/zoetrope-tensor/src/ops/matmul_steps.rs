//! The rows of each snapshot times a weight of its own: convolutions whose weights evolve.

use crate::buffer::Buffer;
use crate::cpu::activation::Activation;
use crate::cpu::matmul::{self, Accumulate, MatMut, MatRef};
use crate::cuda::matmul::{Layer, Members};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

/// How many equal parts there are and the shapes of one part of `x`, the weights and the result.
#[derive(Clone, Copy)]
struct Parts {
    steps: usize,
    x: Shape,
    weight: Shape,
    out: Shape,
    transposed: bool,
}

impl Parts {
    fn new(x: Shape, weights: Shape, steps: usize, transposed: bool) -> Self {
        let part = |shape: Shape| Shape::new(shape.rows / steps.max(1), shape.cols);
        let (x, weight) = (part(x), part(weights));
        let out = Shape::new(x.rows, if transposed { weight.rows } else { weight.cols });
        Self { steps, x, weight, out, transposed }
    }

    /// All steps as layers on a GPU.
    fn layer(&self) -> Layer {
        let (rows, ins, outs) = (self.x.rows, self.x.cols, self.out.cols);
        let (activation, members) = (Activation::Identity, Members::Below(self.steps));
        Layer { rows, ins, outs, transposed: self.transposed, activation, members }
    }

    /// C (+)= A·B for the part at `step`, both operands stored as their shapes say.
    fn product(
        step: usize,
        (a, a_shape, a_turned): (&[f32], Shape, bool),
        (b, b_shape, b_turned): (&[f32], Shape, bool),
        (c, c_shape): (&mut [f32], Shape),
        mode: Accumulate,
    ) {
        let own = |shape: Shape| step * shape.len()..(step + 1) * shape.len();
        let operand = |data, shape: Shape, turned| MatRef {
            transposed: turned,
            ..MatRef::new(data, shape.rows, shape.cols)
        };
        matmul::matmul(
            operand(&a[own(a_shape)], a_shape, a_turned),
            operand(&b[own(b_shape)], b_shape, b_turned),
            MatMut::new(&mut c[own(c_shape)], c_shape.rows, c_shape.cols),
            mode,
        );
    }
}

impl Tape {
    /// `x_t · W_t` for `steps` equal parts of the rows of `x` and of `weights`; `x_t · W_tᵀ` if
    /// `transposed`.
    ///
    /// # Errors
    /// If the rows cannot be divided, or the inner dimensions differ.
    pub fn matmul_steps(
        &mut self,
        x: Var,
        weights: Var,
        steps: usize,
        transposed: bool,
    ) -> Result<Var, TensorError> {
        let (input, stored) = (self.shape(x), self.shape(weights));
        let parts = Parts::new(input, stored, steps, transposed);
        let divided = Shape::new(steps * parts.x.rows, input.cols);
        expect_shape("matmul_steps", "the rows", divided, input)?;
        let expected = if transposed {
            Shape::new(steps * parts.weight.rows, input.cols)
        } else {
            Shape::new(steps * input.cols, stored.cols)
        };
        expect_shape("matmul_steps", "the weights", expected, stored)?;
        let shape = Shape::new(input.rows, parts.out.cols);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                for step in 0..steps {
                    Parts::product(
                        step,
                        (self.value(x), parts.x, false),
                        (self.value(weights), parts.weight, transposed),
                        (y.as_mut_slice(), parts.out),
                        Accumulate::Overwrite,
                    );
                }
            }
            Some(gpu) => {
                let operands = [self.view(x), self.view(weights)];
                parts.layer().forward(gpu, operands, None, None, y.view_mut());
            }
        }
        let op = Op::MatmulSteps { x, weights, steps, transposed };
        Ok(self.record(op, shape, y, None, &[x, weights]))
    }

    pub(super) fn matmul_steps_backward(
        &mut self,
        node: Var,
        [x, weights]: [Var; 2],
        steps: usize,
        transposed: bool,
        dy: &Buffer,
    ) {
        let parts = Parts::new(self.shape(x), self.shape(weights), steps, transposed);
        debug_assert_eq!(self.shape(node).cols, parts.out.cols);
        if self.gpu().is_some() {
            return self.layer_backward(&parts.layer(), node, [x, weights], None, dy);
        }
        let (dy, weight) = ((dy.as_slice(), parts.out), parts.weight);
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            let weights = (self.value(weights), weight, !transposed);
            for step in 0..parts.steps {
                Parts::product(step, (dy.0, dy.1, false), weights, (dx.slice(), parts.x), mode);
            }
            self.close([Some(dx)]);
        }
        if let Some(mut dw) = self.open_to_overwrite(weights) {
            let mode = dw.mode;
            for step in 0..parts.steps {
                let rows = (self.value(x), parts.x);
                let (a, b) = if parts.transposed { (dy, rows) } else { (rows, dy) };
                let result = (dw.slice(), weight);
                Parts::product(step, (a.0, a.1, true), (b.0, b.1, false), result, mode);
            }
            self.close([Some(dw)]);
        }
    }
}
