//! Rows of a sparse matrix cut into slices of bounded length (sliced CSR, PiPAD §4.1).
//!
//! Instead of one offset per row there is, for each slice, the row it belongs to (the paper's RI)
//! and the position of its first entry (SO). No slice has more than a fixed number of entries (32
//! for one warp), so slices are about equal units of work however skewed the degrees are. Rows
//! without entries have no slice. Columns and values are not touched: they stay where the matrix
//! has them.
//!
//! A row is cut into as few slices as possible, whose lengths differ by one at most: the paper
//! fills all slices of a row but the last, which can leave a slice of one entry.

use std::num::NonZeroU32;

/// The most entries of a slice that one warp multiplies (PiPAD §4.1).
pub const WARP_SLICE_ENTRIES_MAX: NonZeroU32 = NonZeroU32::new(32).unwrap();

/// Where the slices of a matrix start, and which rows they belong to.
///
/// ```
/// # use std::num::NonZeroU32;
/// # use zoetrope_graph::RowSlices;
/// let slices = RowSlices::new(&[0, 5, 5, 7], NonZeroU32::new(3).unwrap());
/// assert_eq!(slices.rows(), [0, 0, 2]);
/// assert_eq!(slices.offsets(), [0, 2, 5, 7]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSlices {
    rows: Vec<u32>,
    offsets: Vec<u32>,
}

impl RowSlices {
    /// Cuts rows, of which `row_offsets` says where each starts and where the last ends, into
    /// slices of at most `entries_max` entries.
    ///
    /// # Panics
    /// If `row_offsets` is empty or falls.
    pub fn new(row_offsets: &[u32], entries_max: NonZeroU32) -> Self {
        let end = *row_offsets.last().expect("offsets end with the last row");
        let lengths = || row_offsets.windows(2).map(|row| row[1] - row[0]);
        let slices: u32 = lengths().map(|len| len.div_ceil(entries_max.get())).sum();
        let mut rows = Vec::with_capacity(slices as usize);
        let mut offsets = Vec::with_capacity(slices as usize + 1);
        for ((row, &first), len) in (0..).zip(row_offsets).zip(lengths()) {
            let slices = len.div_ceil(entries_max.get());
            for slice in 0..slices {
                rows.push(row);
                // 64 bits: the product of a length and a number of slices may not fit into 32.
                offsets
                    .push(first + (u64::from(len) * u64::from(slice) / u64::from(slices)) as u32);
            }
        }
        offsets.push(end);
        Self { rows, offsets }
    }

    /// The row of each slice (RI); ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The position of the first entry of each slice, and the end of the last (SO).
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The number of slices.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row has an entry.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(row_offsets: &[u32], entries_max: u32) -> RowSlices {
        RowSlices::new(row_offsets, NonZeroU32::new(entries_max).unwrap())
    }

    #[test]
    fn slices_are_bounded_and_name_their_row() {
        let slices = slices(&[0, 0, 5, 5, 6, 10, 10], 2);
        assert_eq!(slices.rows(), [1, 1, 1, 3, 4, 4]);
        assert_eq!(slices.offsets(), [0, 1, 3, 5, 6, 8, 10]);
    }

    #[test]
    fn lengths_of_the_slices_of_a_row_differ_by_one_at_most() {
        for len in 1..200 {
            for entries_max in [1, 2, 3, 7, 32, u32::MAX] {
                let slices = slices(&[4, 4 + len], entries_max);
                assert_eq!(slices.len() as u32, len.div_ceil(entries_max));
                assert_eq!(*slices.offsets().last().unwrap(), 4 + len);
                let lengths = slices.offsets().windows(2).map(|slice| slice[1] - slice[0]);
                let (least, most) = (lengths.clone().min().unwrap(), lengths.max().unwrap());
                assert!(least >= 1 && most <= entries_max && most - least <= 1);
            }
        }
    }

    #[test]
    fn rows_without_entries_have_no_slice() {
        assert!(slices(&[3, 3, 3], 32).is_empty());
        assert_eq!(slices(&[0], 32).offsets(), [0]);
    }

    #[test]
    fn a_row_of_most_entries_is_cut_without_overflow() {
        let slices = slices(&[0, u32::MAX], 1 << 16);
        assert_eq!(slices.len(), 1 << 16);
        assert!(slices.offsets().is_sorted());
    }
}
