//! A dense matrix outside of a tape: parameters, features, results.

use crate::buffer::Buffer;
use crate::error::TensorError;

/// Rows and columns of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
}

impl Shape {
    /// A shape of `rows` by `cols`.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols }
    }

    /// The number of values.
    pub fn len(self) -> usize {
        self.rows * self.cols
    }

    /// Whether there is no value.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} × {}", self.rows, self.cols)
    }
}

/// A row-major f32 matrix.
#[derive(Debug, Clone)]
pub struct Matrix {
    shape: Shape,
    values: Buffer,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { shape: Shape::new(rows, cols), values: Buffer::zeroed(rows * cols) }
    }

    /// A matrix with the given values, row by row.
    ///
    /// # Errors
    /// If there are not `rows × cols` values.
    pub fn from_slice(rows: usize, cols: usize, values: &[f32]) -> Result<Self, TensorError> {
        let shape = Shape::new(rows, cols);
        if values.len() != shape.len() {
            return Err(TensorError::Length { shape, got: values.len() });
        }
        Ok(Self { shape, values: Buffer::from_slice(values) })
    }

    /// Rows and columns.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The values, row by row.
    pub fn as_slice(&self) -> &[f32] {
        self.values.as_slice()
    }

    /// The values, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        self.values.as_mut_slice()
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.as_slice()[row * self.shape.cols..(row + 1) * self.shape.cols]
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.as_slice() == other.as_slice()
    }
}
