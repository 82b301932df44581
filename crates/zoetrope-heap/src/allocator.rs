//! The allocator of the program.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::{count, last_words, limit};

/// The system's allocator, counted: a block that would break the limit ends the process.
///
/// Declared by the program with `#[global_allocator]`; in programs without it nothing is counted, and
/// limits hold for what [`need`](crate::need) is asked about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tracking;

// SAFETY: every block comes from the system's allocator and goes back to it with the layout it came
// with; counting allocates nothing, and nothing here unwinds.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Tracking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        before(layout.size());
        // SAFETY: the caller keeps the promise of `alloc`.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        before(layout.size());
        // SAFETY: as in `alloc`.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) };
        count::remove(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks move without a second copy (`mremap`): the old one is no longer counted.
        count::remove(layout.size());
        before(size);
        // SAFETY: as in `dealloc`, and the caller keeps the promise of `realloc`.
        given(unsafe { System.realloc(block, layout, size) }, size)
    }
}

/// Counts a block before it is taken.
fn before(size: usize) {
    if count::add(size) && limit::is_broken(size) {
        last_words::of_limit(size);
    }
}

/// The block, if the system gave one.
fn given(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() && size > 0 {
        last_words::of_system(size);
    }
    block
}
