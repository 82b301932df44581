//! Matrix products, and the linear layer with bias and activation fused.

use crate::buffer::Buffer;
use crate::cpu::activation::{self, Activation};
use crate::cpu::matmul::{self, Accumulate, MatMut, MatRef};
use crate::cpu::{elementwise, reduce};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

/// A whole matrix as an operand of a kernel.
fn operand(data: &[f32], shape: Shape, transposed: bool) -> MatRef<'_> {
    MatRef { data, rows: shape.rows, cols: shape.cols, stride: shape.cols, transposed }
}

fn result(data: &mut [f32], shape: Shape) -> MatMut<'_> {
    MatMut { data, rows: shape.rows, cols: shape.cols, stride: shape.cols }
}

fn turned(shape: Shape, transposed: bool) -> Shape {
    if transposed { Shape::new(shape.cols, shape.rows) } else { shape }
}

impl Tape {
    /// `a · b`.
    ///
    /// # Errors
    /// Where `b` has not as many rows as `a` has columns.
    pub fn matmul(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        self.matmul_turned(a, false, b, false)
    }

    /// `a · b` with either operand transposed first.
    ///
    /// # Errors
    /// Where the inner dimensions differ.
    pub fn matmul_turned(
        &mut self,
        a: Var,
        a_transposed: bool,
        b: Var,
        b_transposed: bool,
    ) -> Result<Var, TensorError> {
        let (left, right) = (self.shape(a), self.shape(b));
        let (m, inner) = (turned(left, a_transposed).rows, turned(left, a_transposed).cols);
        let n = turned(right, b_transposed).cols;
        expect_shape(
            "matmul",
            "the second factor",
            Shape::new(inner, n),
            turned(right, b_transposed),
        )?;
        let shape = Shape::new(m, n);
        let mut y = self.pool.take(shape.len());
        matmul::matmul(
            operand(self.value(a), left, a_transposed),
            operand(self.value(b), right, b_transposed),
            result(y.as_mut_slice(), shape),
            Accumulate::Overwrite,
        );
        let op = Op::Matmul { a, b, a_transposed, b_transposed };
        Ok(self.record(op, shape, y, None, &[a, b]))
    }

    pub(super) fn matmul_backward(
        &mut self,
        node: Var,
        [a, b]: [Var; 2],
        [a_transposed, b_transposed]: [bool; 2],
        dy: &Buffer,
    ) {
        let (left, right, out) = (self.shape(a), self.shape(b), self.shape(node));
        // C = op(A)·op(B): d op(A) = dC·op(B)ᵀ and d op(B) = op(A)ᵀ·dC, transposed back into the
        // layout in which the operand is stored.
        if let Some(mut da) = self.open_to_overwrite(a) {
            let mode = da.mode;
            let (first, second) = match a_transposed {
                false => (
                    operand(dy.as_slice(), out, false),
                    operand(self.value(b), right, !b_transposed),
                ),
                true => {
                    (operand(self.value(b), right, b_transposed), operand(dy.as_slice(), out, true))
                }
            };
            matmul::matmul(first, second, result(da.slice(), left), mode);
            self.close([Some(da)]);
        }
        if let Some(mut db) = self.open_to_overwrite(b) {
            let mode = db.mode;
            let (first, second) = match b_transposed {
                false => (
                    operand(self.value(a), left, !a_transposed),
                    operand(dy.as_slice(), out, false),
                ),
                true => {
                    (operand(dy.as_slice(), out, true), operand(self.value(a), left, a_transposed))
                }
            };
            matmul::matmul(first, second, result(db.slice(), right), mode);
            self.close([Some(db)]);
        }
    }

    /// `activation(x · weightᵀ + bias)`, `weight` being `out × in` as PyTorch stores it.
    ///
    /// # Errors
    /// Where the shapes do not fit.
    pub fn linear(
        &mut self,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Result<Var, TensorError> {
        self.linear_plus(x, weight, bias, None, activation)
    }

    /// `activation(x · weightᵀ + plus + bias)`: a layer over concatenated inputs without the
    /// concatenation, its other half being `plus`.
    ///
    /// # Errors
    /// Where the shapes do not fit.
    pub fn linear_plus(
        &mut self,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        plus: Option<Var>,
        activation: Activation,
    ) -> Result<Var, TensorError> {
        let (input, stored) = (self.shape(x), self.shape(weight));
        expect_shape("linear", "the weight", Shape::new(stored.rows, input.cols), stored)?;
        let shape = Shape::new(input.rows, stored.rows);
        if let Some(bias) = bias {
            expect_shape("linear", "the bias", Shape::new(1, stored.rows), self.shape(bias))?;
        }
        let mut y = self.pool.take(shape.len());
        let mut mode = Accumulate::Overwrite;
        if let Some(plus) = plus {
            expect_shape("linear", "the summand", shape, self.shape(plus))?;
            y.as_mut_slice().copy_from_slice(self.value(plus));
            mode = Accumulate::Add;
        }
        matmul::linear(
            operand(self.value(x), input, false),
            operand(self.value(weight), stored, true),
            bias.map(|bias| self.value(bias)),
            activation,
            result(y.as_mut_slice(), shape),
            mode,
        );
        let inputs = [x, weight, bias.unwrap_or(x), plus.unwrap_or(x)];
        let op = Op::Linear { x, weight, bias, plus, activation };
        Ok(self.record(op, shape, y, None, &inputs))
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn linear_backward(
        &mut self,
        node: Var,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        plus: Option<Var>,
        activation: Activation,
        dy: &Buffer,
    ) {
        let (input, stored, out) = (self.shape(x), self.shape(weight), self.shape(node));
        let mut before = None;
        if activation != Activation::Identity {
            let mut dz = self.pool.take(out.len());
            let mode = Accumulate::Overwrite;
            activation::backward(
                activation,
                self.value(node),
                dy.as_slice(),
                dz.as_mut_slice(),
                mode,
            );
            before = Some(dz);
        }
        let dz = before.as_ref().map_or(dy.as_slice(), |dz| dz.as_slice());
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            let weight = operand(self.value(weight), stored, false);
            matmul::matmul(operand(dz, out, false), weight, result(dx.slice(), input), mode);
            self.close([Some(dx)]);
        }
        if let Some(mut dw) = self.open_to_overwrite(weight) {
            let mode = dw.mode;
            let x = operand(self.value(x), input, false);
            matmul::matmul(operand(dz, out, true), x, result(dw.slice(), stored), mode);
            self.close([Some(dw)]);
        }
        if let Some(mut db) = self.open_optional(bias) {
            reduce::column_sums(dz, out.rows, out.cols, db.slice());
            self.close([Some(db)]);
        }
        if let Some(mut dp) = self.open_optional(plus) {
            elementwise::scale_add(1.0, dz, dp.slice());
            self.close([Some(dp)]);
        }
        if let Some(dz) = before {
            self.pool.give(dz);
        }
    }
}
