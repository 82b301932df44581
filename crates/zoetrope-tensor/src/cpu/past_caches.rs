//! Storing results that no cache would hold until they are read.
//!
//! An ordinary store first fetches the line that it is about to overwrite, and drives out lines
//! that are still needed. A store past the caches does neither. Only where vectors are whole cache
//! lines (AVX-512); elsewhere nothing qualifies.

use pulp::Simd;

/// Whether rows of `width` elements of `y` are made of vectors that are whole cache lines.
#[inline(always)]
pub(crate) fn lines<S: Simd>(width: usize, y: &[f32]) -> bool {
    cfg!(target_arch = "x86_64")
        && size_of::<S::f32s>() == 64
        && width.is_multiple_of(16)
        && y.as_ptr().addr().is_multiple_of(64)
}

/// Stores a vector for which [`lines`] holds; [`fence`] has to follow before anybody reads it.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn store_past<S: Simd>(_: S, value: S::f32s, y: &mut S::f32s) {
    #[cfg(target_arch = "x86_64")]
    if size_of::<S::f32s>() == 64 {
        use core::arch::x86_64::{__m512, _mm512_stream_ps};
        let to = std::ptr::from_mut(y).cast::<f32>();
        assert!(to.addr().is_multiple_of(64), "a whole line");
        // SAFETY: both types are sixteen floats without padding.
        let value = unsafe { std::mem::transmute_copy::<S::f32s, __m512>(&value) };
        // SAFETY: vectors of 64 bytes exist only where the processor has AVX-512; the address is
        // that of an exclusive reference, aligned as asserted.
        return unsafe { _mm512_stream_ps(to, value) };
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
