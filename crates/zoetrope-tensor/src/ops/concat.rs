//! Putting matrices side by side or on top of each other, and taking parts of them.
//!
//! A range of rows and a reshape are free (aliases); a range of columns and a concatenation copy.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::cpu::concat::copy_columns;
use crate::cpu::elementwise;
use crate::cpu::matmul::Accumulate;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{List, Op, Tape, Var, expect_shape};

impl Tape {
    /// Some consecutive rows, without copying.
    ///
    /// # Errors
    /// Where there are no such rows.
    pub fn rows(&mut self, x: Var, rows: Range<usize>) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        if rows.start > rows.end || rows.end > shape.rows {
            let (index, count) = (rows.end, shape.rows);
            return Err(TensorError::OutOfRange { operator: "rows", what: "row", index, count });
        }
        Ok(self.alias(x, rows.start * shape.cols, Shape::new(rows.len(), shape.cols)))
    }

    /// The same values in other rows and columns, without copying.
    ///
    /// # Errors
    /// Where the number of values differs.
    pub fn reshape(&mut self, x: Var, rows: usize, cols: usize) -> Result<Var, TensorError> {
        let (shape, got) = (Shape::new(rows, cols), self.shape(x).len());
        if shape.len() != got {
            return Err(TensorError::Length { shape, got });
        }
        Ok(self.alias(x, 0, shape))
    }

    /// Some consecutive columns.
    ///
    /// # Errors
    /// Where there are no such columns.
    pub fn columns(&mut self, x: Var, columns: Range<usize>) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        if columns.start > columns.end || columns.end > shape.cols {
            let (index, count) = (columns.end, shape.cols);
            return Err(TensorError::OutOfRange {
                operator: "columns",
                what: "column",
                index,
                count,
            });
        }
        let out = Shape::new(shape.rows, columns.len());
        let mut y = self.pool.take(out.len());
        let start = columns.start;
        let value = self.value(x);
        copy_columns(
            value,
            shape.cols,
            start,
            out.cols,
            y.as_mut_slice(),
            out.cols,
            0,
            out.rows,
            Accumulate::Overwrite,
        );
        Ok(self.record(Op::Columns { x, start }, out, y, None, &[x]))
    }

    pub(super) fn columns_backward(&mut self, node: Var, x: Var, start: usize, dy: &Buffer) {
        let (shape, out) = (self.shape(x), self.shape(node));
        if let Some(mut dx) = self.open(x) {
            copy_columns(
                dy.as_slice(),
                out.cols,
                0,
                out.cols,
                dx.slice(),
                shape.cols,
                start,
                out.rows,
                Accumulate::Add,
            );
            self.close([Some(dx)]);
        }
    }

    /// Matrices of equal height side by side.
    ///
    /// # Errors
    /// Where there is none, or heights differ.
    pub fn concat_columns(&mut self, parts: &[Var]) -> Result<Var, TensorError> {
        let rows = self.first_shape("concat_columns", parts)?.rows;
        let mut cols = 0;
        for &part in parts {
            let shape = self.shape(part);
            expect_shape("concat_columns", "a part", Shape::new(rows, shape.cols), shape)?;
            cols += shape.cols;
        }
        let shape = Shape::new(rows, cols);
        let mut y = self.pool.take(shape.len());
        let mut at = 0;
        for &part in parts {
            let width = self.shape(part).cols;
            copy_columns(
                self.value(part),
                width,
                0,
                width,
                y.as_mut_slice(),
                cols,
                at,
                rows,
                Accumulate::Overwrite,
            );
            at += width;
        }
        let list = self.keep_list(parts);
        Ok(self.record(Op::ConcatColumns { parts: list }, shape, y, None, parts))
    }

    pub(super) fn concat_columns_backward(&mut self, node: Var, parts: List, dy: &Buffer) {
        let shape = self.shape(node);
        let mut at = 0;
        for part in 0..parts.len as usize {
            let part = self.listed(parts, part);
            let width = self.shape(part).cols;
            if let Some(mut dx) = self.open_to_overwrite(part) {
                let mode = dx.mode;
                copy_columns(
                    dy.as_slice(),
                    shape.cols,
                    at,
                    width,
                    dx.slice(),
                    width,
                    0,
                    shape.rows,
                    mode,
                );
                self.close([Some(dx)]);
            }
            at += width;
        }
    }

    /// Matrices of equal width on top of each other, the first one on top.
    ///
    /// # Errors
    /// Where there is none, or widths differ.
    pub fn concat_rows(&mut self, parts: &[Var]) -> Result<Var, TensorError> {
        let cols = self.first_shape("concat_rows", parts)?.cols;
        let mut rows = 0;
        for &part in parts {
            let shape = self.shape(part);
            expect_shape("concat_rows", "a part", Shape::new(shape.rows, cols), shape)?;
            rows += shape.rows;
        }
        let shape = Shape::new(rows, cols);
        let mut y = self.pool.take(shape.len());
        let mut at = 0;
        for &part in parts {
            let value = self.value(part);
            y.as_mut_slice()[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        }
        let list = self.keep_list(parts);
        Ok(self.record(Op::ConcatRows { parts: list }, shape, y, None, parts))
    }

    pub(super) fn concat_rows_backward(&mut self, parts: List, dy: &Buffer) {
        let mut at = 0;
        for part in 0..parts.len as usize {
            let part = self.listed(parts, part);
            let len = self.shape(part).len();
            if let Some(mut dx) = self.open_to_overwrite(part) {
                let own = &dy.as_slice()[at..at + len];
                match dx.mode {
                    Accumulate::Overwrite => dx.slice().copy_from_slice(own),
                    Accumulate::Add => elementwise::scale_add(1.0, own, dx.slice()),
                }
                self.close([Some(dx)]);
            }
            at += len;
        }
    }

    fn first_shape(&self, operator: &'static str, parts: &[Var]) -> Result<Shape, TensorError> {
        match parts.first() {
            Some(&part) => Ok(self.shape(part)),
            None => Err(TensorError::Argument {
                operator,
                name: "the number of parts",
                expected: "at least 1",
                got: "0".to_owned(),
            }),
        }
    }
}
