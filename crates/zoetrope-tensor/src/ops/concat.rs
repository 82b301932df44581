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
use crate::tape::{List, Op, Opened, Tape, Value, Var, expect_shape};

/// What one part gets of the gradient of a concatenation.
struct Share {
    dx: Opened,
    /// As which the part is seen.
    shape: Shape,
    /// The columns of the part.
    range: Range<usize>,
    /// Where they begin in the concatenation.
    at: usize,
}

impl Tape {
    /// Some consecutive rows, without copying.
    ///
    /// # Errors
    /// If there are no such rows.
    pub fn rows(&mut self, x: Var, rows: Range<usize>) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        expect_range("rows", "row", &rows, shape.rows)?;
        Ok(self.alias(x, rows.start * shape.cols, Shape::new(rows.len(), shape.cols)))
    }

    /// The same values in other rows and columns, without copying.
    ///
    /// # Errors
    /// If the number of values differs.
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
    /// If there are no such columns.
    pub fn columns(&mut self, x: Var, columns: Range<usize>) -> Result<Var, TensorError> {
        let one = self.keep_ranges(&[x], |_, &x| (x, columns.clone()));
        self.side_by_side("columns", one)
    }

    /// Matrices of equal height side by side.
    ///
    /// # Errors
    /// If there is none, or heights differ.
    pub fn concat_columns(&mut self, parts: &[Var]) -> Result<Var, TensorError> {
        let whole = self.keep_ranges(parts, |tape, &part| (part, 0..tape.shape(part).cols));
        self.side_by_side("concat_columns", whole)
    }

    /// Some consecutive columns of each of several matrices of equal height side by side.
    ///
    /// # Errors
    /// If there is no part, heights differ, or a matrix has no such columns.
    pub fn concat_ranges(&mut self, parts: &[(Var, Range<usize>)]) -> Result<Var, TensorError> {
        let ranges = self.keep_ranges(parts, |_, part| part.clone());
        self.side_by_side("concat_ranges", ranges)
    }

    fn side_by_side(&mut self, operator: &'static str, parts: List) -> Result<Var, TensorError> {
        let ranges = self.ranges(parts);
        let rows = self.first_shape(operator, ranges.first().map(|(part, _)| *part))?.rows;
        let (mut cols, mut needs_gradient) = (0, false);
        for (part, range) in ranges {
            let shape = self.shape(*part);
            expect_shape(operator, "a part", Shape::new(rows, shape.cols), shape)?;
            expect_range(operator, "column", range, shape.cols)?;
            cols += range.len();
            needs_gradient |= self.needs_gradient(*part);
        }
        let shape = Shape::new(rows, cols);
        let mut y = self.pool.take(shape.len());
        let mut copies = self.gpu().map(Copies::new);
        let (mut at, mode) = (0, Accumulate::Overwrite);
        for (part, range) in self.ranges(parts) {
            let (x_cols, from, count) = (self.shape(*part).cols, range.start, range.len());
            match &mut copies {
                None => {
                    let (x, y) = (self.value(*part), y.as_mut_slice());
                    copy_columns(x, x_cols, from, count, y, cols, at, rows, mode);
                }
                Some(copies) => {
                    let (x, y) = (self.view(*part), y.view_mut());
                    copies.columns(x, x_cols, from, count, y, cols, at, rows, mode);
                }
            }
            at += count;
        }
        drop(copies);
        let op = Op::ConcatColumns { parts };
        Ok(self.push(op, shape, Value::Owned(y), None, needs_gradient))
    }

    pub(super) fn concat_columns_backward(&mut self, node: Var, parts: List, dy: &Buffer) {
        let cols = self.shape(node).cols;
        if self.gpu().is_some() {
            return self.split_on_gpu(parts, dy, cols, |part| part);
        }
        let mut at = 0;
        for part in 0..parts.len as usize {
            let (part, range) = self.ranges(parts)[part].clone();
            let (shape, to, count) = (self.shape(part), range.start, range.len());
            if let Some(mut dx) = self.open_as(part, count == shape.cols) {
                let (mode, rows) = (dx.mode, shape.rows);
                let (dy, dx_values) = (dy.as_slice(), dx.slice());
                copy_columns(dy, cols, at, count, dx_values, shape.cols, to, rows, mode);
                self.close([Some(dx)]);
            }
            at += count;
        }
    }

    /// Hands a gradient of `cols` columns back to the parts that lie side by side in it, as many in
    /// one launch as can be; `seen` is the shape as which a part is seen.
    fn split_on_gpu(
        &mut self,
        parts: List,
        dy: &Buffer,
        cols: usize,
        seen: impl Fn(Shape) -> Shape,
    ) {
        let mut at = 0;
        let mut next = 0;
        while next < parts.len as usize {
            let mut opened: [Option<Share>; PARTS] = [const { None }; PARTS];
            for place in &mut opened {
                if next == parts.len as usize {
                    break;
                }
                let (part, range) = self.ranges(parts)[next].clone();
                // A second look at a matrix would be lent a block of its own: let it wait instead.
                if self.is_open(part) {
                    break;
                }
                let shape = seen(self.shape(part));
                let count = range.len();
                let dx = self.open_as(part, count == shape.cols);
                *place = dx.map(|dx| Share { dx, shape, range, at });
                at += count;
                next += 1;
            }
            let gpu = self.gpu().expect("a tape of a GPU");
            let mut copies = Copies::new(gpu);
            for Share { dx, shape, range, at } in opened.iter_mut().flatten() {
                let (Shape { rows, cols: dx_cols }, to, count) = (*shape, range.start, range.len());
                let (dx, mode) = dx.target();
                copies.columns(dy.view(), cols, *at, count, dx, dx_cols, to, rows, mode);
            }
            drop(copies);
            self.close_all(opened.into_iter().flatten().map(|share| share.dx));
        }
    }

    /// Matrices of equal width on top of each other, the first one on top.
    ///
    /// # Errors
    /// If there is none, or widths differ.
    pub fn concat_rows(&mut self, parts: &[Var]) -> Result<Var, TensorError> {
        let cols = self.first_shape("concat_rows", parts.first().copied())?.cols;
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
        let list = self.keep_ranges(parts, |tape, &part| (part, 0..tape.shape(part).len()));
        Ok(self.record(Op::ConcatRows { parts: list }, shape, y, None, parts))
    }

    pub(super) fn concat_rows_backward(&mut self, parts: List, dy: &Buffer) {
        if self.gpu().is_some() {
            // Rows on top of each other are single rows side by side.
            return self.split_on_gpu(parts, dy, dy.len(), |part| Shape::new(1, part.len()));
        }
        let mut at = 0;
        for part in 0..parts.len as usize {
            let (part, Range { end: len, .. }) = self.ranges(parts)[part].clone();
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

    fn first_shape(&self, operator: &'static str, part: Option<Var>) -> Result<Shape, TensorError> {
        match part {
            Some(part) => Ok(self.shape(part)),
            None => Err(TensorError::Argument {
                operator,
                name: "the number of parts",
                expected: "at least 1",
                got: "0".to_owned(),
            }),
        }
    }
}

/// Refuses a range of rows or columns if there are only `count`.
fn expect_range(
    operator: &'static str,
    what: &'static str,
    range: &Range<usize>,
    count: usize,
) -> Result<(), TensorError> {
    if range.start <= range.end && range.end <= count {
        Ok(())
    } else {
        Err(TensorError::OutOfRange { operator, what, index: range.end, count })
    }
}
