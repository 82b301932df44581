//! What becomes of freed memory.

/// Blocks of this size and more go back to the system at once.
const LARGE: i32 = 256 << 10;

/// Has large blocks go back to the system as soon as they are freed, for the whole process: for
/// programs that have to keep to a limit.
///
/// The allocator of glibc raises the size from which it does so to that of the largest block it ever
/// freed, and keeps what is smaller for each thread apart: eight ranks as threads take up to 14 % more
/// memory than they have in use. Fresh pages for every block cost up to a quarter of an epoch instead.
#[allow(unsafe_code)]
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the option exists, and a size is a number.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = LARGE;
}
