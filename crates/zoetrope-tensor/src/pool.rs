//! The memory pool of a tape: blocks are reused instead of being freed.
//!
//! A step of training asks for the same sizes in the same order as the step before, so that after
//! the first step every request is met by a block that came back. Sizes are rounded up to classes,
//! an eighth apart if blocks are small and a sixty-fourth if they are large, and a request is
//! met by a block that is up to a quarter larger: nearly equal sizes share blocks. A large block that
//! was just too small makes room for the larger one.

use std::sync::Mutex;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::size_classes::{SizeClasses, size_class};

/// Blocks of one device by size class.
#[derive(Debug, Default)]
pub struct Pool {
    device: Device,
    /// Locked, because a value may be computed when it is first read.
    account: Mutex<Account>,
}

#[derive(Debug, Default)]
struct Account {
    free: SizeClasses<Buffer>,
    allocated_bytes: usize,
    used_bytes: usize,
    peak_bytes: usize,
}

/// Values of a cache line: classes are whole lines.
const LINE: usize = 16;
/// Least values of a large block, which gets a size class of its own: 1 MiB.
const LARGE_BLOCK_VALUES_MIN: usize = 1 << 18;

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
    pub fn take(&self, len: usize) -> Buffer {
        let class = size_class(len, LINE, LARGE_BLOCK_VALUES_MIN);
        let mut account = self.account();
        let found = account.free.take(class).map(|(_, buffer)| buffer);
        let buffer = found.unwrap_or_else(|| {
            let fresh = match &self.device {
                Device::Cpu => {
                    // A slightly smaller one would lie idle from now on: blocks of a frame differ by
                    // a snapshot, and what serves the largest serves all. Small ones are not worth
                    // asking the system again. (A GPU's stay where they are: recordings know their
                    // addresses.)
                    if class >= LARGE_BLOCK_VALUES_MIN
                        && let Some((_, smaller)) = account.free.take_smaller(class)
                    {
                        account.allocated_bytes -= smaller.bytes();
                    }
                    Buffer::zeroed(class)
                }
                Device::Cuda(gpu) => Buffer::on_device(gpu, class),
            };
            account.allocated_bytes += fresh.bytes();
            fresh
        });
        account.used_bytes += buffer.bytes();
        account.peak_bytes = account.peak_bytes.max(account.used_bytes);
        buffer.reshaped(len)
    }

    /// A block of `len` zeros.
    pub fn take_zeroed(&self, len: usize) -> Buffer {
        let mut buffer = self.take(len);
        buffer.clear();
        buffer
    }

    /// Takes a block back. Blocks of other origin are welcome too; a part of a larger block stays
    /// with that one.
    pub fn give(&self, buffer: Buffer) {
        if buffer.room() == 0 {
            return;
        }
        let mut account = self.account();
        account.used_bytes = account.used_bytes.saturating_sub(buffer.bytes());
        account.free.give(buffer.room(), buffer);
    }

    /// Frees the blocks that are not in use. On a GPU it does nothing: recorded CUDA graphs hold the addresses of
    /// its blocks.
    pub fn free_unused(&self) {
        if matches!(self.device, Device::Cuda(_)) {
            return;
        }
        let mut account = self.account();
        let freed: usize = account.free.drain().map(|(_, buffer)| buffer.bytes()).sum();
        account.allocated_bytes = account.allocated_bytes.saturating_sub(freed);
    }

    /// The bytes that the pool has asked of the system so far, without those that it freed.
    pub fn allocated_bytes(&self) -> usize {
        self.account().allocated_bytes
    }

    /// The most bytes that were in use at one time.
    pub fn peak_bytes(&self) -> usize {
        self.account().peak_bytes
    }

    fn account(&self) -> std::sync::MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_nobody_uses_are_freed_and_others_stay() {
        let pool = Pool::default();
        let (used, unused) = (pool.take(1000), pool.take(5000));
        pool.give(unused);
        pool.free_unused();
        assert_eq!(pool.allocated_bytes(), used.bytes());
        pool.give(used);
        pool.free_unused();
        assert_eq!(pool.allocated_bytes(), 0);
    }

    #[test]
    fn a_block_that_came_back_is_used_again() {
        let pool = Pool::default();
        let first = pool.take_zeroed(1000);
        pool.give(first);
        let second = pool.take(990);
        assert_eq!(second.len(), 990);
        assert_eq!(pool.allocated_bytes(), second.bytes());
        assert_eq!(pool.peak_bytes(), second.bytes());
    }

    #[test]
    fn a_block_that_is_a_little_too_small_makes_room_for_a_larger_one() {
        let pool = Pool::default();
        for len in [
            LARGE_BLOCK_VALUES_MIN,
            LARGE_BLOCK_VALUES_MIN * 11 / 10,
            LARGE_BLOCK_VALUES_MIN * 12 / 10,
            LARGE_BLOCK_VALUES_MIN + 1,
        ] {
            let block = pool.take(len);
            pool.give(block);
        }
        assert_eq!(pool.allocated_bytes(), pool.take(LARGE_BLOCK_VALUES_MIN * 12 / 10).bytes());
    }
}
