//! Asking for memory before it is needed.

/// Asks for the cache lines of `x[from..from + len]`; a wrong position costs time, nothing else.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch(x: &[f32], from: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..len).step_by(16) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = x.as_ptr().wrapping_add(from + at);
        // SAFETY: a prefetch reads nothing that the program sees and never faults, whatever the
        // address; the instruction belongs to the baseline of the architecture.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, from, len);
}
