//! Large pages for large blocks.
//!
//! The rows that are gathered from a block of many megabytes lie on pages whose addresses are no longer in
//! the processor's TLB: it has to look each page up before it can fetch the row, in a virtual machine twice. Pages of 2 MiB
//! instead of 4 KiB make that rare, and the first touch of a block cheaper.

/// Least bytes of a block for which large pages are requested.
const LARGE_PAGES_BYTES_MIN: usize = 4 << 20;
/// What the system expects the range to start and end with.
const PAGE: usize = 4096;

/// Asks for large pages for the memory that a vector has reserved and not touched yet. The system
/// may ignore it.
#[allow(unsafe_code)]
pub(crate) fn prefer_large<T>(reserved: &mut Vec<T>) {
    let bytes = reserved.capacity() * size_of::<T>();
    if bytes < LARGE_PAGES_BYTES_MIN {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        let start = reserved.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        let len = (bytes - skip) / PAGE * PAGE;
        // SAFETY: the range is inside the vector's own allocation, and the advice changes nothing
        // that a program sees.
        let _ = unsafe { madvise(start.wrapping_add(skip).cast(), len, Advice::LinuxHugepage) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = PAGE;
}
