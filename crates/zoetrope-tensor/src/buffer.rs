//! Cache-line aligned storage of f32 values.

use bytemuck::{Pod, Zeroable};

use crate::cpu::pages::prefer_large;

/// One cache line; the unit of allocation, so that vectors of 64 bytes never straddle two lines.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Line([f32; LINE]);

const LINE: usize = 16;

/// A block of f32 values that starts on a cache line.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

impl Buffer {
    /// A block of `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        let mut lines = Vec::with_capacity(len.div_ceil(LINE));
        prefer_large(&mut lines);
        lines.resize(len.div_ceil(LINE), Line([0.0; LINE]));
        Self { lines, len }
    }

    /// A block with the given values.
    pub fn from_slice(values: &[f32]) -> Self {
        let mut buffer = Self::zeroed(values.len());
        buffer.as_mut_slice().copy_from_slice(values);
        buffer
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes held, whole cache lines.
    pub fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }

    /// The values that the block has room for.
    pub(crate) fn room(&self) -> usize {
        self.lines.len() * LINE
    }

    /// The same block seen as one of `len` values; what it holds is unspecified.
    ///
    /// # Panics
    /// Where the block has no room for `len` values.
    pub(crate) fn reshaped(mut self, len: usize) -> Self {
        assert!(len <= self.room(), "a block of {} values cannot hold {len}", self.room());
        self.len = len;
        self
    }

    /// The values.
    pub fn as_slice(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    /// The values, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_starts_on_a_cache_line() {
        let buffer = Buffer::zeroed(5);
        assert_eq!(buffer.as_slice().as_ptr() as usize % 64, 0);
        assert_eq!(buffer.as_slice(), [0.0; 5]);
        assert_eq!(buffer.bytes(), 64);
    }
}
