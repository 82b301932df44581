//! Sliced CSR (PiPAD §4.1): rows cut into slices of bounded length.
//!
//! Instead of one offset per row there is, per slice, the row it belongs to and where it starts.
//! No slice holds more than a fixed number of entries (32: one warp), so slices are equal units
//! of work however skewed the degrees are, and rows without entries cost nothing. Entries stay
//! in the order of the [`Csr`] they came from.
//!
//! Invariants: slices are ordered by row; a slice has 1 to `limit` entries; all slices of a row
//! but its last are full.

use crate::csr::Csr;
use crate::error::GraphError;
use crate::ids::VertexId;

/// The most entries a slice may have where nothing else is asked: the width of a warp.
pub const SLICE_ENTRIES: u32 = 32;

/// A sparse matrix whose rows are cut into slices of bounded length.
#[derive(Debug, Clone, PartialEq)]
pub struct SlicedCsr {
    rows: u32,
    cols: u32,
    limit: u32,
    slice_rows: Vec<u32>,
    slice_offsets: Vec<u32>,
    indices: Vec<VertexId>,
    values: Vec<f32>,
}

impl SlicedCsr {
    /// Cuts the rows of `matrix` into slices of at most `limit` entries (usually
    /// [`SLICE_ENTRIES`]); columns and values are taken over without a copy.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] where `limit` is 0.
    pub fn new(matrix: Csr, limit: u32) -> Result<Self, GraphError> {
        if limit == 0 {
            return Err(GraphError::BadParameter {
                parameter: "slice limit",
                value: limit.to_string(),
                expected: "at least 1",
            });
        }
        let offsets = matrix.row_offsets();
        let slices: u32 = offsets.windows(2).map(|row| (row[1] - row[0]).div_ceil(limit)).sum();
        let mut slice_rows = Vec::with_capacity(slices as usize);
        let mut slice_offsets = Vec::with_capacity(slices as usize + 1);
        for (row, bounds) in (0..).zip(offsets.windows(2)) {
            for start in (bounds[0]..bounds[1]).step_by(limit as usize) {
                slice_rows.push(row);
                slice_offsets.push(start);
            }
        }
        slice_offsets.push(matrix.entries() as u32);
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let (_, indices, values) = matrix.into_arrays();
        Ok(Self { rows, cols, limit, slice_rows, slice_offsets, indices, values })
    }

    /// The matrix with row offsets, without a copy of columns and values.
    pub fn into_csr(self) -> Csr {
        let mut offsets = Vec::with_capacity(self.rows as usize + 1);
        for (&row, &start) in self.slice_rows.iter().zip(&self.slice_offsets) {
            // Empty rows have no slice: they end where the next slice starts.
            offsets.resize(offsets.len().max(row as usize + 1), start);
        }
        offsets.resize(self.rows as usize + 1, self.indices.len() as u32);
        Csr::from_arrays(self.rows, self.cols, offsets, self.indices, self.values)
    }

    /// The number of rows: destinations.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The number of columns: sources.
    pub fn cols(&self) -> u32 {
        self.cols
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// The number of slices.
    pub fn slices(&self) -> usize {
        self.slice_rows.len()
    }

    /// The most entries a slice may have.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The row of each slice (the paper's RI); ascending.
    pub fn slice_rows(&self) -> &[u32] {
        &self.slice_rows
    }

    /// Where each slice starts, plus the end of the last (the paper's SO).
    pub fn slice_offsets(&self) -> &[u32] {
        &self.slice_offsets
    }

    /// The column of each entry.
    pub fn column_indices(&self) -> &[VertexId] {
        &self.indices
    }

    /// The value of each entry.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The row, columns and values of a slice.
    ///
    /// # Panics
    /// Where `slice` is not below [`slices`](Self::slices).
    pub fn slice(&self, slice: usize) -> (u32, &[VertexId], &[f32]) {
        let range = self.slice_offsets[slice] as usize..self.slice_offsets[slice + 1] as usize;
        (self.slice_rows[slice], &self.indices[range.clone()], &self.values[range])
    }

    /// Words of 4 bytes that the matrix needs: `2 × entries + 2 × slices + 1` (PiPAD §4.1).
    pub fn space_words(&self) -> usize {
        2 * self.entries() + 2 * self.slices() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Csr {
        let offsets = vec![0, 0, 5, 5, 6, 10, 10];
        let indices = vec![0, 1, 2, 3, 4, 0, 2, 2, 2, 5];
        let values = (0..10).map(|value| value as f32).collect();
        Csr::new(6, 6, offsets, indices, values).unwrap()
    }

    #[test]
    fn slices_are_bounded_and_name_their_row() {
        let sliced = SlicedCsr::new(sample(), 2).unwrap();
        assert_eq!(sliced.slice_rows(), [1, 1, 1, 3, 4, 4]);
        assert_eq!(sliced.slice_offsets(), [0, 2, 4, 5, 6, 8, 10]);
        assert_eq!(sliced.slice(2), (1, &[4][..], &[4.0][..]));
    }

    #[test]
    fn the_matrix_comes_back_for_every_limit() {
        for limit in [1, 2, 3, 4, 5, 32, u32::MAX] {
            assert_eq!(SlicedCsr::new(sample(), limit).unwrap().into_csr(), sample());
        }
        let empty = Csr::new(3, 3, vec![0; 4], vec![], vec![]).unwrap();
        assert_eq!(SlicedCsr::new(empty.clone(), 32).unwrap().into_csr(), empty);
        let none = Csr::new(0, 0, vec![0], vec![], vec![]).unwrap();
        assert_eq!(SlicedCsr::new(none.clone(), 32).unwrap().into_csr(), none);
    }

    #[test]
    fn space_is_what_the_arrays_hold_and_what_the_paper_says() {
        let sliced = SlicedCsr::new(sample(), 2).unwrap();
        let held = sliced.slice_rows.len()
            + sliced.slice_offsets.len()
            + sliced.indices.len()
            + sliced.values.len();
        assert_eq!((sliced.space_words(), held), (33, 33));
        assert_eq!(sample().space_words(), 2 * 10 + 6 + 1);
        assert_eq!(sample().coordinate_words(), 30);
    }

    #[test]
    fn a_limit_of_zero_is_refused() {
        assert!(SlicedCsr::new(sample(), 0).is_err());
    }
}
