//! Cuts the rows of a matrix into blocks of about equal work.
//!
//! Where the cuts fall depends on the matrix alone, never on the number of threads.

use std::ops::Range;

/// Rows plus entries of one block: large enough that a task outweighs its scheduling (tens of
/// microseconds of work), small enough that a million entries still spread over many cores.
pub(crate) const BLOCK_WORK: usize = 1 << 15;

/// Consecutive ranges of rows, each of about `block_work` rows plus entries; a row is never split.
pub(crate) fn row_blocks(offsets: &[u32], block_work: usize) -> Vec<Range<usize>> {
    let rows = offsets.len() - 1;
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < rows {
        let target = offsets[start] as usize + start + block_work;
        let end = first_row(start + 1..rows, |row| offsets[row] as usize + row >= target);
        blocks.push(start..end);
        start = end;
    }
    blocks
}

/// The first row of `range` that meets a condition which stays met, or the end of the range.
fn first_row(range: Range<usize>, met: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if met(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The entries of each block of rows as a slice of its own.
pub(crate) fn split_entries<'a, T>(
    offsets: &[u32],
    blocks: &[Range<usize>],
    mut entries: &'a mut [T],
) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        let length = (offsets[block.end] - offsets[block.start]) as usize;
        let (part, rest) = entries.split_at_mut(length);
        parts.push(part);
        entries = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_rows_once_and_are_about_equal() {
        let offsets = [0, 5, 5, 5, 40, 41, 42, 43];
        let blocks = row_blocks(&offsets, 8);
        assert_eq!(blocks.first().unwrap().start, 0);
        assert_eq!(blocks.last().unwrap().end, 7);
        assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(blocks.len() >= 3);
        assert!(row_blocks(&[0], 8).is_empty());
    }

    #[test]
    fn every_entry_belongs_to_the_block_of_its_row() {
        let offsets = [0, 2, 2, 5, 6];
        let blocks = row_blocks(&offsets, 3);
        let mut entries = [0, 1, 2, 3, 4, 5];
        let parts = split_entries(&offsets, &blocks, &mut entries);
        assert_eq!(parts.iter().map(|part| part.len()).sum::<usize>(), 6);
        for (block, part) in blocks.iter().zip(parts) {
            assert_eq!(
                part.first().copied(),
                Some(offsets[block.start]).filter(|_| !part.is_empty())
            );
        }
    }
}
