//! A sparse matrix arranged for products: windows of rows, and in a window rows of equal length
//! side by side.
//!
//! In a graph the lengths of neighbouring rows have nothing to do with each other, so that a loop
//! over rows in their own order mispredicts the end of nearly every one: at narrow widths that
//! takes longer than the arithmetic. Here a window (some thousand entries, whole rows) keeps its
//! rows in the order of their length, their entries in the order in which they are visited: ends
//! are predicted, columns can be looked at far ahead, and results stay within a small piece of y.
//! The entries of a row keep their order, so that its sum does not depend on any of this.
//!
//! Takes the room of the compressed rows, less two bytes a row. Windows depend on the matrix only.

use std::iter::repeat_n;
use std::ops::Range;

use zoetrope_graph::Csr;

use super::spmm::CsrRef;

/// Entries plus rows of a window at most, save if one row has more; fits 16-bit places.
const WINDOW_ENTRIES_MAX: usize = 8192;
/// And at least, so that small matrices are not cut into crumbs.
const WINDOW_ENTRIES_MIN: usize = 512;
/// Windows that a matrix is cut into while they are neither too large nor too small.
const WINDOWS: usize = 16;

/// How far beyond the last entry columns may be looked at.
pub(crate) const BEYOND: usize = 32;

/// A matrix whose rows are arranged by length within windows.
#[derive(Debug, Clone)]
pub struct Arranged {
    rows: usize,
    cols: usize,
    /// Where each window starts, and the end.
    starts: Vec<Start>,
    runs: Vec<Run>,
    /// Each row's place in its window.
    places: Vec<u16>,
    /// Columns, then [`BEYOND`] zeros; all below `cols` but for those.
    columns: Vec<u32>,
    values: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Start {
    row: u32,
    entry: u32,
    run: u32,
}

/// Rows of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) len: u32,
    pub(crate) rows: u32,
}

/// A window of rows.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) runs: &'a [Run],
    pub(crate) places: &'a [u16],
    /// The columns of the window and at least [`BEYOND`] more.
    pub(crate) columns: &'a [u32],
    pub(crate) values: &'a [f32],
}

impl Arranged {
    /// Arranges the rows of a matrix with `cols` columns.
    ///
    /// # Panics
    /// If the arrays do not belong together, or a column is not below `cols`.
    pub fn new(m: CsrRef, cols: usize) -> Self {
        m.check();
        assert!(m.offsets.is_sorted(), "offsets ascend");
        assert!(m.columns.iter().all(|&column| (column as usize) < cols), "columns below {cols}");
        let mut arranged = Self {
            rows: m.rows,
            cols,
            starts: vec![Start { row: 0, entry: 0, run: 0 }],
            runs: Vec::new(),
            places: Vec::with_capacity(m.rows),
            columns: Vec::with_capacity(m.columns.len() + BEYOND),
            values: Vec::with_capacity(m.values.len()),
        };
        let most = (m.work(0, m.rows) / WINDOWS).clamp(WINDOW_ENTRIES_MIN, WINDOW_ENTRIES_MAX);
        let mut order = Vec::new();
        let mut from = 0;
        while from < m.rows {
            let mut to = from + 1;
            while to < m.rows && m.work(from, to + 1) <= most {
                to += 1;
            }
            order.clear();
            order.extend(from..to);
            order.sort_by_key(|&row| m.entries(row).len());
            for &row in &order {
                arranged.push(m, from, row);
            }
            let start = Start {
                row: to as u32,
                entry: arranged.columns.len() as u32,
                run: arranged.runs.len() as u32,
            };
            arranged.starts.push(start);
            from = to;
        }
        arranged.columns.resize(m.columns.len() + BEYOND, 0);
        arranged.starts.shrink_to_fit();
        arranged.runs.shrink_to_fit();
        arranged
    }

    /// The same matrix by rows in their own order.
    pub(crate) fn to_csr(&self) -> Csr {
        let mut offsets = vec![0u32; self.rows + 1];
        self.for_each_row(|row, entries| offsets[row + 1] = entries.len() as u32);
        for row in 0..self.rows {
            offsets[row + 1] += offsets[row];
        }
        let (mut columns, mut values) = (vec![0; self.entries()], vec![0.0; self.entries()]);
        self.for_each_row(|row, entries| {
            let own = offsets[row] as usize..offsets[row + 1] as usize;
            columns[own.clone()].copy_from_slice(&self.columns[entries.clone()]);
            values[own].copy_from_slice(&self.values[entries]);
        });
        Csr::new(self.rows as u32, self.cols as u32, offsets, columns, values)
            .expect("the arranged matrix was a matrix")
    }

    /// Calls `f` with each row and its entries, in the order of the arrangement.
    fn for_each_row(&self, mut f: impl FnMut(usize, Range<usize>)) {
        for window in 0..self.windows() {
            let (mut entry, first) = (self.starts[window].entry as usize, self.first_row(window));
            let Window { runs, places, .. } = self.window(window);
            let lengths = runs.iter().flat_map(|run| repeat_n(run.len as usize, run.rows as usize));
            for (&place, len) in places.iter().zip(lengths) {
                f(first + place as usize, entry..entry + len);
                entry += len;
            }
        }
    }

    fn push(&mut self, m: CsrRef, from: usize, row: usize) {
        let entries = m.entries(row);
        let len = entries.len() as u32;
        let first = self.starts[self.starts.len() - 1].run as usize;
        match self.runs[first..].last_mut() {
            Some(run) if run.len == len => run.rows += 1,
            _ => self.runs.push(Run { len, rows: 1 }),
        }
        self.places.push((row - from) as u16);
        self.columns.extend_from_slice(&m.columns[entries.clone()]);
        self.values.extend_from_slice(&m.values[entries]);
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// The bytes that a product streams, besides x and y.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.columns[..self.entries()])
            + size_of_val(&self.values[..])
            + size_of_val(&self.places[..])
            + size_of_val(&self.runs[..])
            + size_of_val(&self.starts[..])
    }

    /// The columns in the order in which a product visits them.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns[..self.entries()]
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(crate) fn places(&self) -> &[u16] {
        &self.places
    }

    /// The number of windows.
    pub(crate) fn windows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The first row of a window, or the number of rows for the window after the last.
    pub(crate) fn first_row(&self, window: usize) -> usize {
        self.starts[window].row as usize
    }

    /// Entries plus rows of the windows `from..to`.
    pub(crate) fn work(&self, from: usize, to: usize) -> usize {
        let position = |start: &Start| start.row as usize + start.entry as usize;
        position(&self.starts[to]) - position(&self.starts[from])
    }

    /// A window.
    pub(crate) fn window(&self, window: usize) -> Window<'_> {
        let (from, to) = (self.starts[window], self.starts[window + 1]);
        Window {
            runs: &self.runs[from.run as usize..to.run as usize],
            places: &self.places[from.row as usize..to.row as usize],
            columns: &self.columns[from.entry as usize..to.entry as usize + BEYOND],
            values: &self.values[from.entry as usize..to.entry as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::sparse;

    #[test]
    fn every_row_is_there_once_with_its_entries_in_order() {
        for (count, cols, entries) in [(1, 1, 1), (137, 90, 900), (3000, 500, 40_000), (7, 9, 0)] {
            let m = sparse(3, count, cols, entries);
            let back = Arranged::new(m.view(), cols).to_csr();
            assert_eq!((back.rows() as usize, back.cols() as usize), (count, cols));
            assert_eq!(back.row_offsets(), m.offsets);
            assert_eq!(back.column_indices(), m.columns);
            assert_eq!(back.values(), m.values);
        }
    }

    #[test]
    fn lengths_ascend_within_a_window_and_a_long_row_has_one_of_its_own() {
        let lengths = [3, 1, 20_000, 2, 1, 0];
        let offsets: Vec<u32> = std::iter::once(0)
            .chain(lengths.iter().scan(0, |sum, len| {
                *sum += len;
                Some(*sum)
            }))
            .collect();
        let entries = *offsets.last().unwrap() as usize;
        let (columns, values) = (vec![0; entries], vec![1.0; entries]);
        let m = CsrRef { rows: 6, offsets: &offsets, columns: &columns, values: &values };
        let arranged = Arranged::new(m, 1);
        assert_eq!(arranged.windows(), 3);
        let runs = |at| arranged.window(at).runs.iter().map(|run| (run.len, run.rows)).collect();
        let runs: Vec<Vec<(u32, u32)>> = (0..3).map(runs).collect();
        assert_eq!(runs, [vec![(1, 1), (3, 1)], vec![(20_000, 1)], vec![(0, 1), (1, 1), (2, 1)]]);
    }

    #[test]
    #[should_panic(expected = "columns below 3")]
    fn a_column_outside_is_refused() {
        Arranged::new(CsrRef { rows: 1, offsets: &[0, 1], columns: &[3], values: &[1.0] }, 3);
    }
}
