//! Sums, products and scalings of single values, rows and columns.

use crate::buffer::Buffer;
use crate::cpu::{elementwise, reduce};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

impl Tape {
    /// `a + b`.
    ///
    /// # Errors
    /// Where the shapes differ.
    pub fn add(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        self.add_scaled(a, b, 1.0)
    }

    /// `a - b`.
    ///
    /// # Errors
    /// Where the shapes differ.
    pub fn sub(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        self.add_scaled(a, b, -1.0)
    }

    /// `a + factor · b`.
    ///
    /// # Errors
    /// Where the shapes differ.
    pub fn add_scaled(&mut self, a: Var, b: Var, factor: f32) -> Result<Var, TensorError> {
        let shape = self.shape(a);
        expect_shape("add", "the second summand", shape, self.shape(b))?;
        let mut y = self.pool.take(shape.len());
        y.as_mut_slice().copy_from_slice(self.value(a));
        elementwise::scale_add(factor, self.value(b), y.as_mut_slice());
        Ok(self.record(Op::AddScaled { a, b, factor }, shape, y, None, &[a, b]))
    }

    pub(super) fn add_scaled_backward(&mut self, a: Var, b: Var, factor: f32, dy: &Buffer) {
        for (operand, factor) in [(a, 1.0), (b, factor)] {
            if let Some(mut gradient) = self.open(operand) {
                elementwise::scale_add(factor, dy.as_slice(), gradient.slice());
                self.close([Some(gradient)]);
            }
        }
    }

    /// `a ∘ b`, value by value.
    ///
    /// # Errors
    /// Where the shapes differ.
    pub fn mul(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        let shape = self.shape(a);
        expect_shape("mul", "the second factor", shape, self.shape(b))?;
        let mut y = self.pool.take(shape.len());
        elementwise::mul(self.value(a), self.value(b), y.as_mut_slice());
        Ok(self.record(Op::Mul { a, b }, shape, y, None, &[a, b]))
    }

    pub(super) fn mul_backward(&mut self, a: Var, b: Var, dy: &Buffer) {
        for (operand, other) in [(a, b), (b, a)] {
            if let Some(mut gradient) = self.open(operand) {
                elementwise::mul_add(dy.as_slice(), self.value(other), gradient.slice());
                self.close([Some(gradient)]);
            }
        }
    }

    /// `factor · x`.
    pub fn scale(&mut self, x: Var, factor: f32) -> Var {
        let shape = self.shape(x);
        let mut y = self.pool.take_zeroed(shape.len());
        elementwise::scale_add(factor, self.value(x), y.as_mut_slice());
        self.record(Op::Scale { x, factor }, shape, y, None, &[x])
    }

    pub(super) fn scale_backward(&mut self, x: Var, factor: f32, dy: &Buffer) {
        if let Some(mut dx) = self.open(x) {
            elementwise::scale_add(factor, dy.as_slice(), dx.slice());
            self.close([Some(dx)]);
        }
    }

    /// `x + bias`, the bias being one row that is added to every row.
    ///
    /// # Errors
    /// Where the bias is not one row as wide as `x`.
    pub fn add_bias(&mut self, x: Var, bias: Var) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        expect_shape("add_bias", "the bias", Shape::new(1, shape.cols), self.shape(bias))?;
        let mut y = self.pool.take(shape.len());
        elementwise::add_bias(
            self.value(x),
            self.value(bias),
            shape.rows,
            shape.cols,
            y.as_mut_slice(),
        );
        Ok(self.record(Op::AddBias { x, bias }, shape, y, None, &[x, bias]))
    }

    pub(super) fn add_bias_backward(&mut self, x: Var, bias: Var, dy: &Buffer) {
        let shape = self.shape(x);
        if let Some(mut dx) = self.open(x) {
            elementwise::scale_add(1.0, dy.as_slice(), dx.slice());
            self.close([Some(dx)]);
        }
        if let Some(mut db) = self.open(bias) {
            reduce::column_sums(dy.as_slice(), shape.rows, shape.cols, db.slice());
            self.close([Some(db)]);
        }
    }

    /// Each row of `x` times its factor: `factors` is one column.
    ///
    /// # Errors
    /// Where `factors` is not one column as high as `x`.
    pub fn row_scale(&mut self, x: Var, factors: Var) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        expect_shape("row_scale", "the factors", Shape::new(shape.rows, 1), self.shape(factors))?;
        let mut y = self.pool.take(shape.len());
        elementwise::row_scale(
            self.value(x),
            self.value(factors),
            shape.rows,
            shape.cols,
            y.as_mut_slice(),
        );
        Ok(self.record(Op::RowScale { x, factors }, shape, y, None, &[x, factors]))
    }

    pub(super) fn row_scale_backward(&mut self, x: Var, factors: Var, dy: &Buffer) {
        let shape = self.shape(x);
        let mut dx = self.open(x);
        let mut d_factors = self.open(factors);
        elementwise::row_scale_backward(
            self.value(x),
            self.value(factors),
            shape.rows,
            shape.cols,
            dy.as_slice(),
            dx.as_mut().map(|d| d.slice()),
            d_factors.as_mut().map(|d| d.slice()),
        );
        self.close([dx, d_factors]);
    }
}
