//! What the system says that the process holds.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

static FILE: AtomicI32 = AtomicI32::new(-1);

/// Opens what [`bytes`] reads. To be called once, before a limit is set.
#[allow(unsafe_code)]
pub(crate) fn prepare() {
    if cfg!(target_os = "linux") && FILE.load(Relaxed) < 0 {
        // SAFETY: the path ends with a zero byte.
        let file =
            unsafe { libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        FILE.store(file, Relaxed);
    }
}

/// Resident bytes; None if the system does not tell. Allocates nothing.
#[allow(unsafe_code)]
pub(crate) fn bytes() -> Option<i64> {
    let file = FILE.load(Relaxed);
    let mut text = [0_u8; 128];
    if file < 0 {
        return None;
    }
    // SAFETY: the buffer has as many bytes as are asked for.
    let count = unsafe { libc::pread(file, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = text.get(..usize::try_from(count).ok()?)?;
    // The second number counts resident pages.
    let pages = text.split(|&byte| byte == b' ').nth(1)?;
    let digit =
        |sum: i64, &byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'));
    let pages = pages.iter().try_fold(0, digit)?;
    // SAFETY: asks for a number.
    Some(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) })
}

/// Gives back what the allocator of the system keeps between uses, as far as it can.
#[allow(unsafe_code)]
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: no block in use is touched.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has large blocks go back to the system as soon as they are freed, for the whole process.
///
/// The allocator of glibc raises the size from which it does so to that of the largest block it ever
/// freed, and keeps what is smaller for each thread apart: eight ranks as threads take up to 14 % more
/// memory than they have in use. Fresh pages for every block cost up to a quarter of an epoch instead.
#[allow(unsafe_code)]
pub(crate) fn return_large_blocks() {
    /// Least bytes of a block that goes back to the system at once.
    const RETURNED_BYTES_MIN: i32 = 256 << 10;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the option exists, and a size is a number.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES_MIN) };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = RETURNED_BYTES_MIN;
}
