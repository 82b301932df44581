//! A sparse matrix by rows, borrowed or owned: what differences and overlaps are taken of.
//!
//! Weights are words of 32 bits: the bits of floats, or numbers that stand for them. They are
//! compared bit for bit, so that NaN equals itself and 0 does not equal −0. A matrix may hold an
//! entry several times; columns ascend within a row.

use std::ops::Range;

use crate::csr::Csr;
use crate::error::GraphError;
use crate::ids::VertexId;

/// The rows of a sparse matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixRows<'a> {
    /// Where each row starts, and the end of the last: one more than there are rows.
    pub offsets: &'a [u32],
    /// The column of each entry; ascending within a row.
    pub columns: &'a [VertexId],
    /// The weight of each entry; `None` if the matrix has none.
    pub weights: Option<&'a [u32]>,
}

impl<'a> MatrixRows<'a> {
    /// The rows of a matrix; weights are the bits of its values.
    pub fn of(matrix: &'a Csr) -> Self {
        Self {
            offsets: matrix.row_offsets(),
            columns: matrix.column_indices(),
            weights: Some(bytemuck::cast_slice(matrix.values())),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// The columns of a row, and its weights; no weights if the matrix has none.
    ///
    /// # Panics
    /// If `row` is not below [`rows`](Self::rows).
    pub fn row(&self, row: usize) -> (&'a [VertexId], &'a [u32]) {
        let range = self.positions(row..row + 1);
        let weights = self.weights.map_or(&[][..], |weights| &weights[range.clone()]);
        (&self.columns[range], weights)
    }

    /// The positions of the entries of some consecutive rows.
    pub(crate) fn positions(&self, rows: Range<usize>) -> Range<usize> {
        self.offsets[rows.start] as usize..self.offsets[rows.end] as usize
    }

    /// Row and column of each entry of some consecutive rows as one number; ascending.
    pub(crate) fn keys(&self, rows: Range<usize>) -> Vec<u64> {
        let mut keys = Vec::with_capacity(self.positions(rows.clone()).len());
        for row in rows {
            let columns = &self.columns[self.positions(row..row + 1)];
            keys.extend(columns.iter().map(|&column| (row as u64) << 32 | u64::from(column)));
        }
        keys
    }

    /// Refuses matrices that cannot be compared with this one.
    pub(crate) fn expect_alike(&self, others: &[MatrixRows<'_>]) -> Result<(), GraphError> {
        for other in others {
            if other.rows() != self.rows() {
                return Err(GraphError::ShapeMismatch {
                    what: "rows of matrices that are compared",
                    left: self.rows(),
                    right: other.rows(),
                });
            }
            if other.weights.is_some() != self.weights.is_some() {
                return Err(GraphError::BadParameter {
                    parameter: "weights of matrices that are compared",
                    value: "only some matrices have them".into(),
                    expected: "weights in all matrices or in none",
                });
            }
        }
        Ok(())
    }
}

/// The rows of a sparse matrix that owns them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OwnedRows {
    pub(crate) offsets: Vec<u32>,
    pub(crate) columns: Vec<VertexId>,
    pub(crate) weights: Option<Vec<u32>>,
}

impl OwnedRows {
    pub(crate) fn view(&self) -> MatrixRows<'_> {
        MatrixRows {
            offsets: &self.offsets,
            columns: &self.columns,
            weights: self.weights.as_deref(),
        }
    }
}
