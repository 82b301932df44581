//! Pairs in rows: what is ranked together.

use std::ops::Range;

use super::pairs::Pairs;

/// Labelled pairs, cut into rows whose members are ranked against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// The pairs, row after row.
    pub pairs: Pairs,
    /// Where each row starts among the pairs, plus the end.
    offsets: Vec<usize>,
}

impl Default for Candidates {
    fn default() -> Self {
        Self { pairs: Pairs::default(), offsets: vec![0] }
    }
}

impl Candidates {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The pairs of a row.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn row(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.offsets.truncate(1);
    }

    /// Makes a row of the pairs that were appended since the last one.
    pub(super) fn end_row(&mut self) {
        self.offsets.push(self.pairs.len());
    }
}
