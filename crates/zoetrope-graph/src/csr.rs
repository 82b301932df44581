//! Compressed sparse rows: one snapshot as a matrix.
//!
//! Row `v` holds the edges that end at `v`; a column is the vertex an edge starts from. A
//! product with the matrix therefore gathers over in-edges, the direction in which messages
//! flow. Columns ascend within a row; edges that occur several times stay separate entries, in
//! the order of the snapshot.
//!
//! It does not multiply (`zoetrope-tensor` does), does not merge repeated edges, and does not
//! normalise (see [`normalise`](crate::normalise)).
//!
//! Floor of [`Csr::from_view`]: 4 bytes of destinations read, 8 bytes of sources and weights
//! read and 8 written per edge, 4 bytes written per row. Measured on 1,000,000 edges of 100,000
//! vertices: 2.1 ms, 9.9 GB/s of that.
//!
//! This and the figures of other modules: one run of `bench-graph structures`, processor time of
//! one thread, 15 November 2026, on an AMD EPYC virtual machine with 2 cores that was busy with
//! other work at the time.

use rayon::prelude::*;

use crate::error::GraphError;
use crate::ids::VertexId;
use crate::row_blocks::BLOCK_WORK;
use crate::snapshot::SnapshotView;

/// A sparse matrix in compressed rows: destinations by sources.
///
/// ```
/// # use zoetrope_graph::{Csr, SnapshotSequence};
/// let graph = SnapshotSequence::new(3, vec![0, 2], vec![2, 0], vec![1, 1], None)?;
/// let matrix = Csr::from_view(graph.at(0))?;
/// assert_eq!(matrix.row(1), (&[0, 2][..], &[1.0, 1.0][..]));
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    rows: u32,
    cols: u32,
    offsets: Vec<u32>,
    indices: Vec<VertexId>,
    values: Vec<f32>,
}

impl Csr {
    /// Takes the arrays of a matrix after checking them.
    ///
    /// # Errors
    /// If offsets do not rise from 0 to the number of entries or are not `rows + 1`, the
    /// columns are out of range or not ascending within a row, or values are missing.
    pub fn new(
        rows: u32,
        cols: u32,
        offsets: Vec<u32>,
        indices: Vec<VertexId>,
        values: Vec<f32>,
    ) -> Result<Self, GraphError> {
        let expect = |column: &'static str, expected: usize, got: usize| {
            if expected == got {
                Ok(())
            } else {
                Err(GraphError::LengthMismatch { column, expected, got })
            }
        };
        expect("row_offsets", rows as usize + 1, offsets.len())?;
        expect("values", indices.len(), values.len())?;
        let entries = indices.len();
        let falls = |at: usize| {
            let previous = if at == 0 { 0 } else { offsets[at - 1] };
            offsets[at] < previous || (at == 0 && offsets[0] != 0)
        };
        let last = offsets.len() - 1;
        if let Some(position) =
            (0..=last).find(|&at| falls(at)).or((offsets[last] as usize != entries).then_some(last))
        {
            let value = u64::from(offsets[position]);
            return Err(GraphError::BadOffsets { position, value, edges: entries });
        }
        if let Some(position) = indices.iter().position(|&vertex| vertex >= cols) {
            let vertex = indices[position];
            let column = "column_indices";
            return Err(GraphError::VertexOutOfRange { column, position, vertex, vertices: cols });
        }
        let matrix = Self { rows, cols, offsets, indices, values };
        match (0..rows).find(|&row| !matrix.row(row).0.is_sorted()) {
            None => Ok(matrix),
            Some(row) => Err(GraphError::BadParameter {
                parameter: "column_indices",
                value: format!("row {row} = {:?}", matrix.row(row).0),
                expected: "ascending columns within each row",
            }),
        }
    }

    /// As [`new`](Self::new), for arrays that are right by construction.
    pub(crate) fn from_arrays(
        rows: u32,
        cols: u32,
        offsets: Vec<u32>,
        indices: Vec<VertexId>,
        values: Vec<f32>,
    ) -> Self {
        debug_assert_eq!(offsets.len(), rows as usize + 1);
        debug_assert_eq!(offsets.last().copied(), Some(indices.len() as u32));
        debug_assert_eq!(indices.len(), values.len());
        Self { rows, cols, offsets, indices, values }
    }

    /// The matrix of a snapshot, `vertices × vertices`; edges without a weight count 1.
    ///
    /// # Errors
    /// [`GraphError::TooMany`] if there are more edges than 32-bit offsets can name.
    pub fn from_view(view: SnapshotView<'_>) -> Result<Self, GraphError> {
        check_entries("edges of a snapshot", view.len())?;
        Ok(Self {
            rows: view.vertices,
            cols: view.vertices,
            offsets: row_offsets(view.dst, view.vertices),
            indices: view.src.to_vec(),
            values: view.weight.map_or_else(|| vec![1.0; view.len()], <[f32]>::to_vec),
        })
    }

    /// The number of rows: destinations.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The number of columns: sources.
    pub fn cols(&self) -> u32 {
        self.cols
    }

    /// The number of entries, explicit zeros and repeats included.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Where each row starts, plus the end of the last; `rows + 1` numbers.
    pub fn row_offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The column of each entry.
    pub fn column_indices(&self) -> &[VertexId] {
        &self.indices
    }

    /// The value of each entry.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The value of each entry, to be changed in place.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The columns and values of a row.
    ///
    /// # Panics
    /// If `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: u32) -> (&[VertexId], &[f32]) {
        let row = row as usize;
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// All entries as (row, column, value), row by row.
    pub fn iter(&self) -> impl Iterator<Item = (u32, VertexId, f32)> {
        (0..self.rows).flat_map(move |row| {
            let (columns, values) = self.row(row);
            columns.iter().zip(values).map(move |(&column, &value)| (row, column, value))
        })
    }

    /// Row offsets, column indices and values, without a copy.
    pub fn into_arrays(self) -> (Vec<u32>, Vec<VertexId>, Vec<f32>) {
        (self.offsets, self.indices, self.values)
    }
}

/// Fails if `count` entries cannot be named by 32-bit offsets.
pub(crate) fn check_entries(what: &'static str, count: usize) -> Result<(), GraphError> {
    match u32::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(GraphError::TooMany { what, count: count as u64, limit: u64::from(u32::MAX) })
        }
    }
}

/// Where each of `rows` rows ends in an ascending column of row numbers, with a 0 in front.
fn row_offsets(row_of: &[u32], rows: u32) -> Vec<u32> {
    let mut offsets = vec![0; rows as usize + 1];
    offsets[1..].par_chunks_mut(BLOCK_WORK).enumerate().for_each(|(block, ends)| {
        let first = (block * BLOCK_WORK) as u32;
        let mut position = row_of.partition_point(|&row| row < first);
        for (row, end) in (first..).zip(ends) {
            while row_of.get(position) == Some(&row) {
                position += 1;
            }
            *end = position as u32;
        }
    });
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::SnapshotSequence;

    fn sample() -> SnapshotSequence {
        let (src, dst) = (vec![2, 0, 2, 3, 0], vec![1, 1, 1, 3, 0]);
        let weight = Some(vec![0.5, 1.0, 0.25, 2.0, -1.0]);
        SnapshotSequence::new(5, vec![0, 5], src, dst, weight).unwrap()
    }

    #[test]
    fn rows_are_destinations_and_repeated_edges_stay() {
        let matrix = Csr::from_view(sample().at(0)).unwrap();
        assert_eq!(matrix.row_offsets(), [0, 1, 4, 4, 5, 5]);
        assert_eq!(matrix.row(1), (&[0, 2, 2][..], &[1.0, 0.5, 0.25][..]));
        assert_eq!(matrix.row(4), (&[][..], &[][..]));
        let entries: Vec<_> = matrix.iter().collect();
        assert_eq!(entries[0], (0, 0, -1.0));
        assert_eq!(entries.len(), 5);
    }

    #[test]
    fn unweighted_edges_count_one_and_an_empty_snapshot_has_only_empty_rows() {
        let sequence = SnapshotSequence::new(3, vec![0, 1, 1], vec![2], vec![0], None).unwrap();
        assert_eq!(Csr::from_view(sequence.at(0)).unwrap().values(), [1.0]);
        let empty = Csr::from_view(sequence.at(1)).unwrap();
        assert_eq!((empty.entries(), empty.row_offsets()), (0, &[0, 0, 0, 0][..]));
    }

    #[test]
    fn a_graph_without_vertices_is_a_matrix_without_rows() {
        let sequence = SnapshotSequence::new(0, vec![0, 0], vec![], vec![], None).unwrap();
        assert_eq!(Csr::from_view(sequence.at(0)).unwrap().row_offsets(), [0]);
    }

    #[test]
    fn the_arrays_of_a_matrix_make_it_again() {
        let matrix = Csr::from_view(sample().at(0)).unwrap();
        let (offsets, indices, values) = matrix.clone().into_arrays();
        assert_eq!(Csr::new(5, 5, offsets, indices, values).unwrap(), matrix);
    }

    #[test]
    fn wrong_arrays_are_refused_with_their_position() {
        let make = |offsets: &[u32], indices: &[u32], values: &[f32]| {
            Csr::new(2, 3, offsets.to_vec(), indices.to_vec(), values.to_vec()).unwrap_err()
        };
        assert!(matches!(make(&[0, 1], &[0], &[1.0]), GraphError::LengthMismatch { .. }));
        assert!(matches!(make(&[0, 1, 1], &[0], &[]), GraphError::LengthMismatch { .. }));
        let bad =
            |error, at| matches!(error, GraphError::BadOffsets { position, .. } if position == at);
        assert!(bad(make(&[1, 1, 1], &[0], &[1.0]), 0));
        assert!(bad(make(&[0, 2, 1], &[0], &[1.0]), 2));
        assert!(bad(make(&[0, 0, 0], &[0], &[1.0]), 2));
        let range = make(&[0, 1, 1], &[3], &[1.0]);
        assert!(matches!(range, GraphError::VertexOutOfRange { vertex: 3, .. }));
        let order = make(&[0, 2, 2], &[2, 1], &[1.0, 1.0]);
        assert!(order.to_string().contains("row 0"), "{order}");
    }
}
