//! Section checksums: a hash of block hashes, so that one section can be checked by many threads
//! and written by one pass.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes per block.
pub(super) const BLOCK: usize = 4 << 20;

/// The checksum of a whole section, one thread.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    combine(bytes.chunks(BLOCK).map(xxh3_64))
}

/// The checksum of a section from the hashes of its blocks, in order.
pub(super) fn combine(blocks: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = Xxh3::new();
    blocks.for_each(|block| hasher.update(&block.to_le_bytes()));
    hasher.digest()
}

/// The checksum of a section that comes piece by piece.
pub(super) struct SectionHasher {
    section: Xxh3,
    block: Xxh3,
    filled: usize,
}

impl SectionHasher {
    pub(super) fn new() -> Self {
        Self { section: Xxh3::new(), block: Xxh3::new(), filled: 0 }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (head, tail) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.block.update(head);
            self.filled += head.len();
            if self.filled == BLOCK {
                self.close_block();
            }
            bytes = tail;
        }
    }

    pub(super) fn finish(mut self) -> u64 {
        if self.filled > 0 {
            self.close_block();
        }
        self.section.digest()
    }

    fn close_block(&mut self) {
        self.section.update(&self.block.digest().to_le_bytes());
        self.block.reset();
        self.filled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piecewise_and_whole_checksums_agree_around_block_ends() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut hasher = SectionHasher::new();
            for piece in bytes.chunks(1_000_003) {
                hasher.update(piece);
            }
            assert_eq!(hasher.finish(), checksum(&bytes), "{length} bytes");
        }
    }
}
