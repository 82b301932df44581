//! Products head by head: columns in equal blocks, each with its own block of rows of a weight.

use crate::buffer::Buffer;
use crate::cpu::activation::Activation;
use crate::cpu::matmul::{Accumulate, MatMut, MatRef, matmul};
use crate::cuda::matmul::{Layer, Members};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

/// Block `head` of the columns of a matrix that has `heads` of them.
fn columns(data: &[f32], shape: Shape, heads: usize, head: usize) -> MatRef<'_> {
    let (cols, stride) = (shape.cols / heads, shape.cols);
    let data = data.get(head * cols..).unwrap_or(&[]);
    MatRef { data, rows: shape.rows, cols, stride, transposed: false }
}

/// The same to be written.
fn columns_mut(data: &mut [f32], shape: Shape, heads: usize, head: usize) -> MatMut<'_> {
    let (cols, stride) = (shape.cols / heads, shape.cols);
    let data = data.get_mut(head * cols..).unwrap_or(&mut []);
    MatMut { data, rows: shape.rows, cols, stride }
}

/// The elements of block `head` of the rows.
fn rows(shape: Shape, heads: usize, head: usize) -> std::ops::Range<usize> {
    let len = shape.len() / heads;
    head * len..(head + 1) * len
}

/// All heads as layers on a GPU.
fn layer(input: Shape, out: Shape, heads: usize, transposed: bool) -> Layer {
    let (rows, ins, outs) = (input.rows, input.cols / heads, out.cols / heads);
    let (activation, members) = (Activation::Identity, Members::Beside(heads));
    Layer { rows, ins, outs, transposed, activation, members }
}

impl Tape {
    /// `x_h · W_h` (or `x_h · W_hᵀ` if `transposed`) for each head, side by side: `x_h` is a
    /// block of columns of `x`, `W_h` a block of rows of `weight`.
    ///
    /// From `rows × heads·a` and `heads·a × b` to `rows × heads·b`; transposed from `heads·b × a`.
    ///
    /// # Errors
    /// If the shapes do not fit, or columns or rows cannot be split among the heads.
    pub fn head_products(
        &mut self,
        x: Var,
        weight: Var,
        heads: usize,
        transposed: bool,
    ) -> Result<Var, TensorError> {
        let (input, stored) = (self.shape(x), self.shape(weight));
        if heads == 0 || input.cols % heads != 0 || stored.rows % heads != 0 {
            return Err(TensorError::Argument {
                operator: "head_products",
                name: "the number of heads",
                expected: "a divisor of the columns and of the weight's rows",
                got: heads.to_string(),
            });
        }
        let (inner, high) = (input.cols / heads, stored.rows / heads);
        let expected = if transposed {
            Shape::new(stored.rows, inner)
        } else {
            Shape::new(input.cols, stored.cols)
        };
        expect_shape("head_products", "the weight", expected, stored)?;
        let width = if transposed { high } else { stored.cols };
        let shape = Shape::new(input.rows, heads * width);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                for head in 0..heads {
                    let block = &self.value(weight)[rows(stored, heads, head)];
                    let block = MatRef { transposed, ..MatRef::new(block, high, stored.cols) };
                    let x = columns(self.value(x), input, heads, head);
                    let y = columns_mut(y.as_mut_slice(), shape, heads, head);
                    matmul(x, block, y, Accumulate::Overwrite);
                }
            }
            Some(gpu) => {
                let operands = [self.view(x), self.view(weight)];
                layer(input, shape, heads, transposed).forward(
                    gpu,
                    operands,
                    None,
                    None,
                    y.view_mut(),
                );
            }
        }
        let op = Op::HeadProducts { x, weight, heads, transposed };
        Ok(self.record(op, shape, y, None, &[x, weight]))
    }

    pub(super) fn head_products_backward(
        &mut self,
        node: Var,
        [x, weight]: [Var; 2],
        heads: usize,
        transposed: bool,
        dy: &Buffer,
    ) {
        let (input, stored, out) = (self.shape(x), self.shape(weight), self.shape(node));
        if self.gpu().is_some() {
            let layer = layer(input, out, heads, transposed);
            return self.layer_backward(&layer, node, [x, weight], None, dy);
        }
        let high = stored.rows / heads;
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            for head in 0..heads {
                let block = &self.value(weight)[rows(stored, heads, head)];
                let block =
                    MatRef { transposed: !transposed, ..MatRef::new(block, high, stored.cols) };
                let dy = columns(dy.as_slice(), out, heads, head);
                matmul(dy, block, columns_mut(dx.slice(), input, heads, head), mode);
            }
            self.close([Some(dx)]);
        }
        if let Some(mut dw) = self.open_to_overwrite(weight) {
            let mode = dw.mode;
            for head in 0..heads {
                let (x, dy) = (
                    columns(self.value(x), input, heads, head),
                    columns(dy.as_slice(), out, heads, head),
                );
                let (left, right) = if transposed { (dy, x) } else { (x, dy) };
                let block = &mut dw.slice()[rows(stored, heads, head)];
                matmul(left.t(), right, MatMut::new(block, high, stored.cols), mode);
            }
            self.close([Some(dw)]);
        }
    }
}
