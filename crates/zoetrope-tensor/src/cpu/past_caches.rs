//! Storing results that no cache would hold until they are read.
//!
//! An ordinary store first fetches the line that it is about to overwrite, and drives out lines
//! that are still needed. A store past the caches does neither. Only if rows are whole cache lines
//! and vectors at least half of one (AVX2, AVX-512): parts of lines would go to memory one by one.

use pulp::Simd;

/// Least bytes of a result that is stored past the caches: the next operator would find little of a
/// larger one there, and what was read stays.
pub const STREAMING_BYTES_MIN: usize = 8 << 20;

/// Copies long pieces of memory past the caches: 16 to 18 GB/s against 7 to 10 of an ordinary copy, and 10 to 12
/// against 7 to 8 with both cores at it (16 November 2026, pieces of 400 kB of 100 MB, a two-core
/// AMD EPYC virtual machine).
///
/// # Panics
/// If the lengths differ.
#[allow(unsafe_code)]
pub fn copy(x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len(), "a copy is as long as what it is a copy of");
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_loadu_ps, _mm_stream_ps};
        const LINE: usize = 16;
        let head = y.as_ptr().align_offset(64).min(y.len());
        let ((x_head, x), (y_head, y)) = (x.split_at(head), y.split_at_mut(head));
        y_head.copy_from_slice(x_head);
        let ((x, x_tail), (y, y_tail)) = (x.as_chunks::<LINE>(), y.as_chunks_mut::<LINE>());
        for (x, y) in x.iter().zip(y) {
            for at in (0..LINE).step_by(4) {
                // SAFETY: the instructions belong to the baseline of the architecture. Four values from
                // `at` on are inside both lines, and lines of `y` start at multiples of 64 bytes.
                unsafe {
                    let value = _mm_loadu_ps(x.as_ptr().add(at));
                    _mm_stream_ps(y.as_mut_ptr().add(at), value);
                }
            }
        }
        y_tail.copy_from_slice(x_tail);
        fence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    y.copy_from_slice(x);
}

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
            // SAFETY: vectors of 32 bytes and more exist only if the processor has AVX; the
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_exact_wherever_it_starts_and_ends() {
        let x: Vec<f32> = (0..200).map(|value| value as f32).collect();
        let pieces = [(0, 0, 200), (1, 0, 150), (0, 3, 7), (5, 16, 64), (7, 1, 0), (2, 9, 33)];
        for (from, to, len) in pieces {
            let mut y = vec![-1.0; 200];
            copy(&x[from..from + len], &mut y[to..to + len]);
            assert_eq!(y[to..to + len], x[from..from + len]);
            assert!(y[..to].iter().chain(&y[to + len..]).all(|&value| value == -1.0));
        }
    }
}
