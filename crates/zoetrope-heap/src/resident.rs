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

/// Bytes that the system counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) all: i64,
    /// Those of them that belong to files, such as the program: no block of the allocator is among them.
    pub(crate) of_files: i64,
}

/// What is resident; None if the system does not tell. Allocates nothing.
#[allow(unsafe_code)]
pub(crate) fn bytes() -> Option<Resident> {
    let file = FILE.load(Relaxed);
    let mut text = [0_u8; 128];
    if file < 0 {
        return None;
    }
    // SAFETY: the buffer has as many bytes as are asked for.
    let count = unsafe { libc::pread(file, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = text.get(..usize::try_from(count).ok()?)?;
    // The second number counts resident pages, the third those of files.
    let mut numbers = text.split(|&byte| byte == b' ').skip(1);
    let (all, of_files) = (number(numbers.next()?)?, number(numbers.next()?)?);
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(Resident { all: all * page, of_files: of_files * page })
}

fn number(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |sum, &byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
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
