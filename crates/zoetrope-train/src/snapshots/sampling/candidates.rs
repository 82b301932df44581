//! Pairs in rows: what is ranked together.

use std::ops::Range;

use zoetrope_graph::VertexId;

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
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.offsets.truncate(1);
    }

    /// Makes room for rows of these lengths, to be filled by [`Candidates::columns`].
    pub(super) fn resize(&mut self, lengths: impl Iterator<Item = usize>) {
        self.clear();
        let mut end = 0;
        self.offsets.extend(lengths.map(|length| {
            end += length;
            end
        }));
        self.pairs.src.resize(end, 0);
        self.pairs.dst.resize(end, 0);
        self.pairs.label.resize(end, 0.0);
    }

    /// Where rows start, and sources, destinations and labels to write.
    pub(super) fn columns(&mut self) -> (&[usize], [&mut [VertexId]; 2], &mut [f32]) {
        let Pairs { src, dst, label } = &mut self.pairs;
        (&self.offsets, [src, dst], label)
    }

    /// Makes a row of the pairs that were appended since the last one.
    pub(super) fn end_row(&mut self) {
        self.offsets.push(self.pairs.len());
    }
}
