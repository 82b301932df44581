//! Putting matrices side by side or on top of each other, and taking parts of them.
//!
//! A range of rows and a reshape are free (aliases); a range of columns and a concatenation copy.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::cpu::concat::copy_columns;
use crate::cpu::elementwise;
use crate::cpu::matmul::Accumulate;
use crate::cuda::concat::{Copies, PARTS};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{List, Op, Opened, Tape, Var, expect_shape};

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
        let (mode, rows) = (Accumulate::Overwrite, out.rows);
        match self.gpu() {
            None => {
                let (x, y) = (self.value(x), y.as_mut_slice());
                copy_columns(x, shape.cols, start, out.cols, y, out.cols, 0, rows, mode);
            }
            Some(gpu) => {
                let (x, y) = (self.view(x), y.view_mut());
                let mut copies = Copies::new(gpu);
                copies.columns(x, shape.cols, start, out.cols, y, out.cols, 0, rows, mode);
            }
        }
        Ok(self.record(Op::Columns { x, start }, out, y, None, &[x]))
    }

    pub(super) fn columns_backward(&mut self, node: Var, x: Var, start: usize, dy: &Buffer) {
        let (shape, out) = (self.shape(x), self.shape(node));
        if let Some(mut dx) = self.open(x) {
            let (mode, rows) = (Accumulate::Add, out.rows);
            match self.gpu() {
                None => {
                    let (dy, dx) = (dy.as_slice(), dx.slice());
                    copy_columns(dy, out.cols, 0, out.cols, dx, shape.cols, start, rows, mode);
                }
                Some(gpu) => {
                    let (dy, dx) = (dy.view(), dx.view());
                    let mut copies = Copies::new(gpu);
                    copies.columns(dy, out.cols, 0, out.cols, dx, shape.cols, start, rows, mode);
                }
            }
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
        let mut copies = self.gpu().map(Copies::new);
        let (mut at, mode) = (0, Accumulate::Overwrite);
        for &part in parts {
            let width = self.shape(part).cols;
            match &mut copies {
                None => {
                    let (x, y) = (self.value(part), y.as_mut_slice());
                    copy_columns(x, width, 0, width, y, cols, at, rows, mode);
                }
                Some(copies) => {
                    let (x, y) = (self.view(part), y.view_mut());
                    copies.columns(x, width, 0, width, y, cols, at, rows, mode);
                }
            }
            at += width;
        }
        drop(copies);
        let list = self.keep_list(parts);
        Ok(self.record(Op::ConcatColumns { parts: list }, shape, y, None, parts))
    }

    pub(super) fn concat_columns_backward(&mut self, node: Var, parts: List, dy: &Buffer) {
        let cols = self.shape(node).cols;
        if self.gpu().is_some() {
            return self.split_on_card(parts, dy, cols, |part| part);
        }
        let mut at = 0;
        for part in 0..parts.len as usize {
            let part = self.listed(parts, part);
            let Shape { rows, cols: width } = self.shape(part);
            if let Some(mut dx) = self.open_to_overwrite(part) {
                let mode = dx.mode;
                copy_columns(dy.as_slice(), cols, at, width, dx.slice(), width, 0, rows, mode);
                self.close([Some(dx)]);
            }
            at += width;
        }
    }

    /// Hands a gradient of `cols` columns back to the parts that lie side by side in it, as many in
    /// one launch as can be; `seen` is the shape as which a part is seen.
    fn split_on_card(
        &mut self,
        parts: List,
        dy: &Buffer,
        cols: usize,
        seen: impl Fn(Shape) -> Shape,
    ) {
        let mut at = 0;
        let mut next = 0;
        while next < parts.len as usize {
            let mut opened: [Option<(Opened, Shape, usize)>; PARTS] = [const { None }; PARTS];
            for place in &mut opened {
                if next == parts.len as usize {
                    break;
                }
                let part = self.listed(parts, next);
                // A second look at a matrix would be lent a block of its own: let it wait instead.
                if self.is_open(part) {
                    break;
                }
                let shape = seen(self.shape(part));
                *place = self.open_to_overwrite(part).map(|dx| (dx, shape, at));
                at += shape.cols;
                next += 1;
            }
            let gpu = self.gpu().expect("a tape of a card");
            let mut copies = Copies::new(gpu);
            for (dx, shape, at) in opened.iter_mut().flatten() {
                let (mode, width) = (dx.mode, shape.cols);
                copies.columns(dy.view(), cols, *at, width, dx.view(), width, 0, shape.rows, mode);
            }
            drop(copies);
            self.close_all(opened.into_iter().flatten().map(|(dx, ..)| dx));
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
        let mut copies = self.gpu().map(Copies::new);
        let mut at = 0;
        for &part in parts {
            let len = self.shape(part).len();
            match &mut copies {
                None => y.as_mut_slice()[at..at + len].copy_from_slice(self.value(part)),
                Some(copies) => {
                    let (x, y, all) = (self.view(part), y.view_mut(), shape.len());
                    copies.columns(x, len, 0, len, y, all, at, 1, Accumulate::Overwrite);
                }
            }
            at += len;
        }
        drop(copies);
        let list = self.keep_list(parts);
        Ok(self.record(Op::ConcatRows { parts: list }, shape, y, None, parts))
    }

    pub(super) fn concat_rows_backward(&mut self, parts: List, dy: &Buffer) {
        if self.gpu().is_some() {
            // Rows on top of each other are single rows side by side.
            return self.split_on_card(parts, dy, dy.len(), |part| Shape::new(1, part.len()));
        }
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
