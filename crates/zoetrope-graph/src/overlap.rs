//! What the matrices of several snapshots have in common, and what each has besides (PiPAD §4.1).
//!
//! The matrices of a group are regrouped into one common topology and one exclusive remainder for
//! each, so that the common part is sent once and multiplied with the features of all snapshots at
//! once.
//!
//! The overlap is one of *topology*: an entry belongs to the common part if every matrix has it,
//! whatever its weights. Matrices are multisets: an entry that occurs `c_t` times in matrix `t` is
//! common `min c_t` times, by its first copies. The weights of the common entries are held once if
//! all matrices agree on every bit of them, otherwise once for each matrix ([`CommonWeights`]).
//! Common and exclusive part together give each matrix back, bit for bit.
//!
//! The paper names a *topology overlap rate* of a group without a formula; [`Overlap::rate`] is
//! the share of the group's entries that lie in the common part.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::GraphError;
use crate::ids::VertexId;
use crate::intersect::keep_common;
use crate::matrix_rows::{MatrixRows, OwnedRows};
use crate::row_blocks::{BLOCK_WORK, row_blocks};

/// The weights of the entries that all matrices of a group have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommonWeights {
    /// The matrices have no weights.
    Ones,
    /// All matrices give every common entry the same weight.
    Shared(Vec<u32>),
    /// The weights of each matrix, in the order of the common entries.
    PerSnapshot(Vec<Vec<u32>>),
}

/// A group of matrices as common topology and exclusive remainders.
///
/// ```
/// # use zoetrope_graph::{MatrixRows, Overlap};
/// let rows = |columns| MatrixRows { offsets: &[0, 1, 2], columns, weights: None };
/// let overlap = Overlap::of(&[rows(&[0, 1]), rows(&[0, 2])])?;
/// assert_eq!(overlap.common().columns, [0]);
/// assert_eq!((overlap.exclusive(0).row(1).0, overlap.exclusive(1).row(1).0), (&[1][..], &[2][..]));
/// assert_eq!(overlap.rate(), 0.5);
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    common: OwnedRows,
    weights: CommonWeights,
    exclusive: Vec<OwnedRows>,
}

impl Overlap {
    /// Regroups matrices, in parallel over ranges of rows.
    ///
    /// # Errors
    /// If there is no matrix, they differ in rows, or only some have weights.
    pub fn of(matrices: &[MatrixRows<'_>]) -> Result<Self, GraphError> {
        Self::of_in_blocks(matrices, BLOCK_WORK)
    }

    fn of_in_blocks(matrices: &[MatrixRows<'_>], block_work: usize) -> Result<Self, GraphError> {
        let Some((first, others)) = matrices.split_first() else {
            return Err(GraphError::BadParameter {
                parameter: "matrices of a group",
                value: "0".into(),
                expected: "at least 1",
            });
        };
        first.expect_alike(others)?;
        let largest = matrices.iter().max_by_key(|matrix| matrix.entries()).unwrap_or(first);
        let blocks: Vec<OverlapBlock> = row_blocks(largest.offsets, block_work)
            .into_par_iter()
            .map(|rows| OverlapBlock::of(matrices, rows))
            .collect();
        let weighted = first.weights.is_some();
        let exclusive = (0..matrices.len()).into_par_iter().map(|matrix| {
            let parts = || blocks.iter().map(move |block| &block.exclusive[matrix]);
            OwnedRows {
                offsets: offsets(parts().map(|part| &part.lengths[..])),
                columns: joined(parts().map(|part| &part.columns[..])),
                weights: weighted.then(|| joined(parts().map(|part| &part.weights[..]))),
            }
        });
        Ok(Self {
            common: OwnedRows {
                offsets: offsets(blocks.iter().map(|block| &block.lengths[..])),
                columns: joined(blocks.iter().map(|block| &block.columns[..])),
                weights: None,
            },
            weights: if weighted {
                common_weights(matrices.len(), &blocks)
            } else {
                CommonWeights::Ones
            },
            exclusive: exclusive.collect(),
        })
    }

    /// The topology that all matrices have; without weights.
    pub fn common(&self) -> MatrixRows<'_> {
        self.common.view()
    }

    /// The weights of the common entries.
    pub fn common_weights(&self) -> &CommonWeights {
        &self.weights
    }

    /// The common entries with the weights of one matrix.
    ///
    /// # Panics
    /// If `matrix` is not below [`len`](Self::len).
    pub fn common_of(&self, matrix: usize) -> MatrixRows<'_> {
        let weights = match &self.weights {
            CommonWeights::Ones => None,
            CommonWeights::Shared(weights) => Some(&weights[..]),
            CommonWeights::PerSnapshot(all) => Some(&all[matrix][..]),
        };
        MatrixRows { weights, ..self.common.view() }
    }

    /// The entries of one matrix that are not common to all.
    ///
    /// # Panics
    /// If `matrix` is not below [`len`](Self::len).
    pub fn exclusive(&self, matrix: usize) -> MatrixRows<'_> {
        self.exclusive[matrix].view()
    }

    /// The number of matrices of the group.
    pub fn len(&self) -> usize {
        self.exclusive.len()
    }

    /// Never true: a group has at least one matrix.
    pub fn is_empty(&self) -> bool {
        self.exclusive.is_empty()
    }

    /// The share of all entries of the group that lie in the common part, 0 to 1; 1 for a group
    /// without entries, whose matrices are alike.
    pub fn rate(&self) -> f64 {
        let exclusive: usize = self.exclusive.iter().map(|rows| rows.columns.len()).sum();
        let common = self.common.columns.len() * self.len();
        let all = common + exclusive;
        if all == 0 { 1.0 } else { common as f64 / all as f64 }
    }
}

/// Common and exclusive entries of some consecutive rows.
struct OverlapBlock {
    /// Common entries of each row.
    lengths: Vec<u32>,
    columns: Vec<VertexId>,
    /// The weights of the common entries in each matrix.
    common_weights: Vec<Vec<u32>>,
    exclusive: Vec<ExclusiveEntries>,
}

/// What a matrix has besides the common entries in some consecutive rows.
struct ExclusiveEntries {
    lengths: Vec<u32>,
    columns: Vec<VertexId>,
    weights: Vec<u32>,
}

impl OverlapBlock {
    fn of(matrices: &[MatrixRows<'_>], rows: Range<usize>) -> Self {
        let keys: Vec<Vec<u64>> = matrices.iter().map(|matrix| matrix.keys(rows.clone())).collect();
        let mut common = keys[0].clone();
        for other in &keys[1..] {
            keep_common(&mut common, 0..other.len(), |at| other[at]);
        }
        let mut lengths = vec![0; rows.len()];
        for key in &common {
            lengths[(key >> 32) as usize - rows.start] += 1;
        }
        let (common_weights, exclusive) = matrices
            .iter()
            .zip(&keys)
            .map(|(matrix, keys)| split(matrix, rows.clone(), keys, &common, &lengths))
            .unzip();
        let columns = common.iter().map(|&key| key as VertexId).collect();
        Self { lengths, columns, common_weights, exclusive }
    }
}

/// Splits the entries of some rows, with their keys, into those of `common` (by their first
/// copies), of which only the weights are returned, and the others.
fn split(
    matrix: &MatrixRows<'_>,
    rows: Range<usize>,
    keys: &[u64],
    common: &[u64],
    common_lengths: &[u32],
) -> (Vec<u32>, ExclusiveEntries) {
    let others = keys.len() - common.len();
    let weights = matrix.weights.map(|weights| &weights[matrix.positions(rows.clone())]);
    // One place to spare: the cursor that does not advance writes where the other kind would go.
    let mut columns = vec![0; others + 1];
    let room = |entries: usize| if weights.is_some() { vec![0; entries + 1] } else { vec![] };
    let (mut own_weights, mut common_weights) = (room(others), room(common.len()));
    let (mut shared, mut own) = (0, 0);
    for (at, key) in keys.iter().enumerate() {
        let hit = common.get(shared) == Some(key);
        columns[own] = *key as VertexId;
        if let Some(weights) = weights {
            own_weights[own] = weights[at];
            common_weights[shared] = weights[at];
        }
        shared += usize::from(hit);
        own += usize::from(!hit);
    }
    debug_assert_eq!((shared, own), (common.len(), others));
    columns.truncate(others);
    own_weights.truncate(others);
    common_weights.truncate(common.len());
    let lengths = matrix.offsets[rows.start..=rows.end].windows(2);
    let lengths = lengths.zip(common_lengths).map(|(row, common)| row[1] - row[0] - common);
    let exclusive = ExclusiveEntries { lengths: lengths.collect(), columns, weights: own_weights };
    (common_weights, exclusive)
}

/// Where rows of the given lengths start, and where the last ends.
fn offsets<'a>(lengths: impl Iterator<Item = &'a [u32]>) -> Vec<u32> {
    let ends = lengths.flatten().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn joined<'a>(parts: impl Iterator<Item = &'a [u32]> + Clone) -> Vec<u32> {
    let mut joined = Vec::with_capacity(parts.clone().map(<[u32]>::len).sum());
    parts.for_each(|part| joined.extend_from_slice(part));
    joined
}

fn common_weights(matrices: usize, blocks: &[OverlapBlock]) -> CommonWeights {
    let alike = |block: &OverlapBlock| {
        let (first, others) = (&block.common_weights[0], &block.common_weights[1..]);
        others.iter().all(|other| other == first)
    };
    let of = |matrix: usize| joined(blocks.iter().map(|block| &block.common_weights[matrix][..]));
    if blocks.par_iter().all(alike) {
        CommonWeights::Shared(of(0))
    } else {
        CommonWeights::PerSnapshot((0..matrices).map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSETS: [&[u32]; 3] = [&[0, 2, 4, 4, 4], &[0, 2, 3, 3, 3], &[0, 3, 4, 4, 5]];
    // (0, 1) occurs 2, 1 and 3 times; (1, 2) in all; the rest not in all.
    const COLUMNS: [&[u32]; 3] = [&[1, 1, 2, 3], &[0, 1, 2], &[1, 1, 1, 2, 0]];

    fn sample<'a>(weights: Option<&'a [u32]>) -> Vec<MatrixRows<'a>> {
        let mut first = 0;
        let matrix = |at: usize| {
            let own = first..first + COLUMNS[at].len();
            first = own.end;
            let weights = weights.map(|weights| &weights[own]);
            MatrixRows { offsets: OFFSETS[at], columns: COLUMNS[at], weights }
        };
        (0..3).map(matrix).collect()
    }

    #[test]
    fn an_entry_is_common_as_often_as_every_matrix_has_it() {
        let overlap = Overlap::of(&sample(None)).unwrap();
        assert_eq!(overlap.common().columns, [1, 2]);
        assert_eq!(overlap.common().offsets, [0, 1, 2, 2, 2]);
        assert_eq!(overlap.exclusive(2).columns, [1, 1, 0]);
        assert_eq!(overlap.exclusive(2).offsets, [0, 2, 2, 2, 3]);
        assert_eq!(overlap.rate(), 0.5);
        assert_eq!(overlap.common_weights(), &CommonWeights::Ones);
    }

    #[test]
    fn weights_are_held_once_if_they_agree_and_per_matrix_if_not() {
        let overlap = Overlap::of(&sample(Some(&[2; 12]))).unwrap();
        assert_eq!(overlap.common_weights(), &CommonWeights::Shared(vec![2, 2]));
        let different: Vec<u32> = (0..12).collect();
        let overlap = Overlap::of(&sample(Some(&different))).unwrap();
        let expected = vec![vec![0, 2], vec![5, 6], vec![7, 10]];
        assert_eq!(overlap.common_weights(), &CommonWeights::PerSnapshot(expected));
        assert_eq!(overlap.exclusive(0).weights, Some(&[1, 3][..]));
        assert_eq!(overlap.common_of(1).weights, Some(&[5, 6][..]));
    }

    #[test]
    fn blocks_do_not_change_the_overlap() {
        let different: Vec<u32> = (0..12).collect();
        let matrices = sample(Some(&different));
        let whole = Overlap::of(&matrices).unwrap();
        for block_work in 1..13 {
            assert_eq!(Overlap::of_in_blocks(&matrices, block_work).unwrap(), whole);
        }
    }

    #[test]
    fn a_group_of_one_is_all_common_and_an_empty_group_is_refused() {
        let matrices = sample(None);
        let overlap = Overlap::of(&matrices[1..2]).unwrap();
        assert_eq!((overlap.common(), overlap.rate()), (matrices[1], 1.0));
        assert!(Overlap::of(&[]).is_err());
        assert!(Overlap::of(&[matrices[0], sample(Some(&[1; 12]))[1]]).is_err());
        let fewer = MatrixRows { offsets: &[0, 0], columns: &[], weights: None };
        assert!(Overlap::of(&[matrices[0], fewer]).is_err());
    }
}
