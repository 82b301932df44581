//! Blocks that are used again instead of being freed: the arena of a tape.
//!
//! A step of training asks for the same sizes in the same order as the step before, so that after
//! the first step every request is met by a block that came back. Sizes are rounded up to classes
//! an eighth apart, which lets nearly equal sizes share blocks and wastes at most an eighth.

use crate::buffer::Buffer;
use crate::device::Device;

/// Blocks of one device by size class.
#[derive(Debug, Default)]
pub struct Pool {
    device: Device,
    classes: Vec<(usize, Vec<Buffer>)>,
    allocated_bytes: usize,
    used_bytes: usize,
    peak_bytes: usize,
}

impl Pool {
    /// An empty pool of blocks of a device.
    pub fn on(device: Device) -> Self {
        Self { device, ..Self::default() }
    }

    /// The device of the blocks.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A block of `len` values with unspecified contents.
    pub fn take(&mut self, len: usize) -> Buffer {
        let class = size_class(len);
        let at = self.class(class);
        let buffer = self.classes[at].1.pop().unwrap_or_else(|| {
            let fresh = match &self.device {
                Device::Cpu => Buffer::zeroed(class),
                Device::Cuda(gpu) => Buffer::on_device(gpu, class),
            };
            self.allocated_bytes += fresh.bytes();
            fresh
        });
        self.used_bytes += buffer.bytes();
        self.peak_bytes = self.peak_bytes.max(self.used_bytes);
        buffer.reshaped(len)
    }

    /// A block of `len` zeros.
    pub fn take_zeroed(&mut self, len: usize) -> Buffer {
        let mut buffer = self.take(len);
        buffer.clear();
        buffer
    }

    /// Takes a block back. Blocks of other origin are welcome too; a part of a larger block stays
    /// with that one.
    pub fn give(&mut self, buffer: Buffer) {
        if buffer.room() == 0 {
            return;
        }
        let at = self.class(buffer.room());
        self.used_bytes = self.used_bytes.saturating_sub(buffer.bytes());
        self.classes[at].1.push(buffer);
    }

    /// The bytes that the pool has asked of the system so far.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated_bytes
    }

    /// The most bytes that were in use at one time.
    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    fn class(&mut self, class: usize) -> usize {
        match self.classes.binary_search_by_key(&class, |(size, _)| *size) {
            Ok(at) => at,
            Err(at) => {
                self.classes.insert(at, (class, Vec::new()));
                at
            }
        }
    }
}

/// The size class of `len`: whole cache lines, eight classes between powers of two.
fn size_class(len: usize) -> usize {
    let len = len.max(1).next_multiple_of(16);
    let step = (len.next_power_of_two() / 16).max(16);
    len.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_came_back_is_used_again() {
        let mut pool = Pool::default();
        let first = pool.take_zeroed(1000);
        pool.give(first);
        let second = pool.take(990);
        assert_eq!(second.len(), 990);
        assert_eq!(pool.allocated_bytes(), second.bytes());
        assert_eq!(pool.peak_bytes(), second.bytes());
    }

    #[test]
    fn a_size_class_wastes_at_most_an_eighth_and_a_line() {
        for len in 1..20_000 {
            let class = size_class(len);
            assert!(class >= len && class <= len + len / 8 + 16, "{len} → {class}");
            assert_eq!(size_class(class), class);
        }
    }
}
