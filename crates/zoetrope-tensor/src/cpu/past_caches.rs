//! Storing results that no cache would hold until they are read.
//!
//! An ordinary store first fetches the line that it is about to overwrite, and drives out lines
//! that are still needed. A store past the caches does neither. Only where rows are whole cache lines
//! and vectors at least half of one (AVX2, AVX-512): parts of lines would go to memory one by one.

use pulp::Simd;

/// Whether rows of `width` elements of `y` are whole cache lines, and vectors a large part of one.
#[inline(always)]
pub(crate) fn lines<S: Simd>(width: usize, y: &[f32]) -> bool {
    cfg!(target_arch = "x86_64")
        && size_of::<S::f32s>() >= 32
        && width.is_multiple_of(16)
        && y.as_ptr().addr().is_multiple_of(64)
}

/// Stores a vector for which [`lines`] holds; [`fence`] has to follow before anybody reads it.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn store_past<S: Simd>(_: S, value: S::f32s, y: &mut S::f32s) {
    #[cfg(target_arch = "x86_64")]
    if size_of::<S::f32s>().is_multiple_of(32) {
        use core::arch::x86_64::{__m256, _mm256_stream_ps};
        let to = std::ptr::from_mut(y).cast::<f32>();
        assert!(to.addr().is_multiple_of(32), "a part of a line");
        let value = std::ptr::from_ref(&value).cast::<__m256>();
        for half in 0..size_of::<S::f32s>() / 32 {
            // SAFETY: the vector consists of so many halves; it need not be aligned.
            let value = unsafe { value.add(half).read_unaligned() };
            // SAFETY: vectors of 32 bytes and more exist only where the processor has AVX; the
            // address is inside an exclusive reference, aligned as asserted.
            unsafe { _mm256_stream_ps(to.add(8 * half), value) };
        }
        return;
    }
    *y = value;
}

/// Makes what [`store_past`] has stored visible before any later store of this thread.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction belongs to the baseline of the architecture.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}
