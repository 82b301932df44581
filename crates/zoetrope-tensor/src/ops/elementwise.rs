//! Sums, products and scalings of single values, rows and columns.

use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cpu::{elementwise, reduce};
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape, sink};

impl Tape {
    /// `a + b`.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn add(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        self.add_scaled(a, b, 1.0)
    }

    /// `a - b`.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn sub(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        self.add_scaled(a, b, -1.0)
    }

    /// `a + factor · b`.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn add_scaled(&mut self, a: Var, b: Var, factor: f32) -> Result<Var, TensorError> {
        let shape = self.shape(a);
        expect_shape("add", "the second summand", shape, self.shape(b))?;
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                elementwise::add_scaled(self.value(a), self.value(b), factor, y.as_mut_slice());
            }
            Some(gpu) => {
                let (a, b) = (self.view(a), self.view(b));
                cuda::elementwise::add_scaled(gpu, a, b, factor, y.view_mut());
            }
        }
        Ok(self.record(Op::AddScaled { a, b, factor }, shape, y, None, &[a, b]))
    }

    pub(super) fn add_scaled_backward(&mut self, a: Var, b: Var, factor: f32, dy: &Buffer) {
        let (mut da, mut db) = (self.open_to_overwrite(a), self.open_to_overwrite(b));
        match self.gpu() {
            None => {
                for (gradient, factor) in [(&mut da, 1.0), (&mut db, factor)] {
                    let Some(gradient) = gradient else { continue };
                    let mode = gradient.mode;
                    elementwise::scaled(factor, dy.as_slice(), gradient.slice(), mode);
                }
            }
            Some(gpu) => {
                let (da, db) = (sink(&mut da), sink(&mut db));
                cuda::elementwise::add_scaled_backward(gpu, dy.view(), factor, da, db);
            }
        }
        self.close([da, db]);
    }

    /// `a ∘ b`, value by value.
    ///
    /// # Errors
    /// If the shapes differ.
    pub fn mul(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        let shape = self.shape(a);
        expect_shape("mul", "the second factor", shape, self.shape(b))?;
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => elementwise::mul(self.value(a), self.value(b), y.as_mut_slice()),
            Some(gpu) => cuda::elementwise::mul(gpu, self.view(a), self.view(b), y.view_mut()),
        }
        Ok(self.record(Op::Mul { a, b }, shape, y, None, &[a, b]))
    }

    pub(super) fn mul_backward(&mut self, a: Var, b: Var, dy: &Buffer) {
        let (mut da, mut db) = (self.open_to_overwrite(a), self.open_to_overwrite(b));
        match self.gpu() {
            None => {
                for (gradient, other) in [(&mut da, b), (&mut db, a)] {
                    let Some(gradient) = gradient else { continue };
                    let (dy, other) = (dy.as_slice(), self.value(other));
                    match gradient.mode {
                        Accumulate::Overwrite => elementwise::mul(dy, other, gradient.slice()),
                        Accumulate::Add => elementwise::mul_add(dy, other, gradient.slice()),
                    }
                }
            }
            Some(gpu) => {
                let (factors, da, db) =
                    ([self.view(a), self.view(b)], sink(&mut da), sink(&mut db));
                cuda::elementwise::mul_backward(gpu, dy.view(), factors, da, db);
            }
        }
        self.close([da, db]);
    }

    /// `factor · x`.
    pub fn scale(&mut self, x: Var, factor: f32) -> Var {
        let shape = self.shape(x);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => elementwise::scale(factor, self.value(x), y.as_mut_slice()),
            Some(gpu) => {
                let (x, y) = (self.view(x), y.view_mut());
                cuda::elementwise::scaled(gpu, factor, x, y, Accumulate::Overwrite);
            }
        }
        self.record(Op::Scale { x, factor }, shape, y, None, &[x])
    }

    pub(super) fn scale_backward(&mut self, x: Var, factor: f32, dy: &Buffer) {
        self.pass_on(x, factor, dy);
    }

    /// Adds `factor · dy` to the gradient of an operand.
    fn pass_on(&mut self, operand: Var, factor: f32, dy: &Buffer) {
        if let Some(mut d) = self.open_to_overwrite(operand) {
            let mode = d.mode;
            match self.gpu() {
                None => elementwise::scaled(factor, dy.as_slice(), d.slice(), mode),
                Some(gpu) => cuda::elementwise::scaled(gpu, factor, dy.view(), d.view(), mode),
            }
            self.close([Some(d)]);
        }
    }

    /// `x + bias`, the bias being one row that is added to every row.
    ///
    /// # Errors
    /// If the bias is not one row as wide as `x`.
    pub fn add_bias(&mut self, x: Var, bias: Var) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        expect_shape("add_bias", "the bias", Shape::new(1, shape.cols), self.shape(bias))?;
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let (x, bias) = (self.value(x), self.value(bias));
                elementwise::add_bias(x, bias, shape.rows, shape.cols, y.as_mut_slice());
            }
            Some(gpu) => {
                let (x, bias) = (self.view(x), self.view(bias));
                cuda::elementwise::add_bias(gpu, x, bias, shape.cols, y.view_mut());
            }
        }
        Ok(self.record(Op::AddBias { x, bias }, shape, y, None, &[x, bias]))
    }

    pub(super) fn add_bias_backward(&mut self, x: Var, bias: Var, dy: &Buffer) {
        let shape = self.shape(x);
        self.pass_on(x, 1.0, dy);
        if let Some(mut db) = self.open(bias) {
            let Shape { rows, cols } = shape;
            match self.gpu() {
                None => reduce::column_sums(dy.as_slice(), rows, cols, db.slice()),
                Some(gpu) => cuda::reduce::column_sums(gpu, dy.view(), rows, cols, db.view()),
            }
            self.close([Some(db)]);
        }
    }

    /// Each row of `x` times its factor: `factors` is one column.
    ///
    /// # Errors
    /// If `factors` is not one column as high as `x`.
    pub fn row_scale(&mut self, x: Var, factors: Var) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        expect_shape("row_scale", "the factors", Shape::new(shape.rows, 1), self.shape(factors))?;
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let (x, factors) = (self.value(x), self.value(factors));
                elementwise::row_scale(x, factors, shape.rows, shape.cols, y.as_mut_slice());
            }
            Some(gpu) => {
                let (x, factors) = (self.view(x), self.view(factors));
                cuda::elementwise::row_scale(gpu, x, factors, shape.cols, y.view_mut());
            }
        }
        Ok(self.record(Op::RowScale { x, factors }, shape, y, None, &[x, factors]))
    }

    pub(super) fn row_scale_backward(&mut self, x: Var, factors: Var, dy: &Buffer) {
        let shape = self.shape(x);
        let mut dx = self.open_to_overwrite(x);
        let mut d_factors = self.open_to_overwrite(factors);
        match self.gpu() {
            None => elementwise::row_scale_backward(
                self.value(x),
                self.value(factors),
                shape.rows,
                shape.cols,
                dy.as_slice(),
                dx.as_mut().map(|d| d.slice_to_add()),
                d_factors.as_mut().map(|d| d.slice_to_add()),
            ),
            Some(gpu) => cuda::elementwise::row_scale_backward(
                gpu,
                [self.view(x), self.view(factors)],
                shape.cols,
                dy.view(),
                sink(&mut dx),
                sink(&mut d_factors),
            ),
        }
        self.close([dx, d_factors]);
    }
}
