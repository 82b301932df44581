//! A side of a matrix by rows, with what its values are made from.
//!
//! From one snapshot to the next most values of a normalised matrix change, because degrees do, but
//! few of the weights: so differences are taken of weights and of factors of vertices. A value is
//! `(factor[source]·weight)·factor[destination]`, the order of `normalise::scale`. Without weights
//! factors follow from lengths of rows, and if nothing is known of factors the weight is the value.

use std::sync::Arc;

use zoetrope_graph::{Csr, MatrixRows};

use super::codes;
use crate::sparse::{Side, SparseMatrix};

#[cfg_attr(test, derive(Debug, Clone, PartialEq, Default))]
pub(super) struct CodedRows {
    pub(super) offsets: Vec<u32>,
    pub(super) columns: Vec<u32>,
    /// Bits of the weights or their numbers, in the order of the columns; None if each is 1.
    pub(super) weights: Option<Vec<u32>>,
    /// The bits by number, if weights have one.
    pub(super) codes: Option<Vec<u32>>,
    /// Of each vertex the bits of its factor, or, without weights, the length of the row that it
    /// follows from, if that is not the vertex's own row.
    pub(super) vertices: Option<Vec<u32>>,
    /// Lengths that differ, ascending, if factors follow from lengths.
    pub(super) lengths: Option<Vec<u32>>,
}

impl CodedRows {
    pub(super) fn of(matrix: &SparseMatrix, side: Side) -> Self {
        if let Some((weights, factors)) = matrix.scaled() {
            return Self::scaled(matrix, side, weights, factors);
        }
        let slices = matrix.slices(side);
        let (offsets, columns, values) = slices.to_csr().into_arrays();
        if !slices.is_factored() {
            let (weights, codes) = numbered(&values);
            return Self { offsets, columns, weights, codes, vertices: None, lengths: None };
        }
        let own = matrix.slices(Side::Matrix);
        let of_vertices = own.lengths();
        let mut lengths = of_vertices.clone();
        lengths.sort_unstable();
        lengths.dedup();
        let vertices = (!Arc::ptr_eq(own, slices)).then_some(of_vertices);
        Self { offsets, columns, weights: None, codes: None, vertices, lengths: Some(lengths) }
    }

    fn scaled(matrix: &SparseMatrix, side: Side, weights: &[f32], factors: &[f32]) -> Self {
        let (offsets, columns, _) = matrix.slices(Side::Matrix).to_csr().into_arrays();
        let vertices = matrix.rows() as u32;
        let weighted = Csr::new(vertices, vertices, offsets, columns, weights.to_vec())
            .expect("the sliced matrix was a matrix");
        let own = if side == Side::Matrix { weighted } else { weighted.transpose() };
        let (offsets, columns, weights) = own.into_arrays();
        let ((weights, codes), vertices) = (numbered(&weights), Some(bits(factors)));
        Self { offsets, columns, weights, codes, vertices, lengths: None }
    }

    /// What differences are taken of.
    pub(super) fn entries(&self) -> MatrixRows<'_> {
        MatrixRows {
            offsets: &self.offsets,
            columns: &self.columns,
            weights: self.weights.as_deref(),
        }
    }
}

/// Weights as differences are taken of, and their bits by number.
fn numbered(weights: &[f32]) -> (Option<Vec<u32>>, Option<Vec<u32>>) {
    let mut weights = bits(weights);
    let codes = codes::number(&mut weights);
    (Some(weights), codes)
}

fn bits(values: &[f32]) -> Vec<u32> {
    bytemuck::cast_slice(values).to_vec()
}
