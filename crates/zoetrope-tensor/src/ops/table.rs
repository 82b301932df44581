//! Rows of tables as constants of a tape, and values of a tape for tables.

use std::sync::Arc;

use crate::matrix::Shape;
use crate::table::{Fixed, PickedColumns, Source, Table, Values, expect_parts};
use crate::tape::{Op, Tape, Value, Var};
use crate::{cpu, cuda};

impl Tape {
    /// A constant of `count` rows that are put together from parts, side by side. A part without
    /// columns is not looked at.
    ///
    /// # Panics
    /// If lists do not fit each other, a row is out of range, or a part is on another device.
    pub fn picked(&mut self, count: usize, parts: &[PickedColumns<'_>]) -> Var {
        expect_parts(parts, count);
        let width: usize = parts.iter().map(|part| part.source.width).sum();
        let mut y = self.pool.take(count * width);
        match self.gpu() {
            None => cpu::table::pick(parts, y.as_mut_slice()),
            Some(gpu) => cuda::table::put(gpu, parts, None, count, y.view_mut()),
        }
        self.push(Op::Leaf, Shape::new(count, width), Value::Owned(y), None, false)
    }

    /// All rows that never change, as a constant that shares their memory.
    pub fn fixed(&mut self, rows: &Fixed) -> Var {
        let value = Value::Resident(Arc::clone(&rows.values), 0);
        self.push(Op::Leaf, rows.shape, value, None, false)
    }

    /// The rows of a matrix, as a part of others.
    ///
    /// # Panics
    /// If the backward pass has already given the block away.
    pub fn source(&self, var: Var) -> Source<'_> {
        let values = match self.gpu() {
            None => Values::Host(self.value(var)),
            Some(_) => Values::Device(self.view(var)),
        };
        Source::whole(values, self.shape(var))
    }

    /// Makes a table a copy of a matrix, on the tape's device.
    ///
    /// # Panics
    /// As [`source`](Self::source).
    pub fn keep_rows(&self, var: Var, table: &mut Table) {
        table.settle(self.device());
        table.copy_from(self.source(var));
    }
}
