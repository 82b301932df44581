//! A mutable slice whose scattered parts belong to different threads.
//!
//! A recurrent kernel gives each thread a range of vertices; in a stacked matrix their rows lie
//! apart, one piece per time step, which `split_at_mut` cannot express.

use std::marker::PhantomData;

/// Hands out pieces of a mutable slice to threads that never touch each other's pieces.
#[derive(Clone, Copy)]
pub(crate) struct Scattered<'a> {
    start: *mut f32,
    len: usize,
    slice: PhantomData<&'a mut [f32]>,
}

// SAFETY: only an address; `piece` puts the duty of disjointness on its callers.
#[allow(unsafe_code)]
unsafe impl Send for Scattered<'_> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Scattered<'_> {}

impl<'a> Scattered<'a> {
    pub(crate) fn new(slice: &'a mut [f32]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// The elements `from..from + len`.
    ///
    /// # Safety
    ///
    /// While the result is in use nobody else holds a piece that overlaps it.
    #[allow(unsafe_code)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn piece(&self, from: usize, len: usize) -> &'a mut [f32] {
        assert!(from <= self.len && len <= self.len - from, "a piece lies inside its slice");
        // SAFETY: inside the slice by the assertion, which outlives 'a; exclusive by the
        // caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), len) }
    }

    /// The whole slice, to read.
    ///
    /// # Safety
    ///
    /// While the result is in use nobody holds a piece.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn read(&self) -> &'a [f32] {
        // SAFETY: the slice that this was made of; only read by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}
