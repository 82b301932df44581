//! Reusable memory for kernels: no allocation once a thread has seen its largest request.
//!
//! A kernel *takes* a buffer and gives it back by dropping it, instead of borrowing one shared
//! buffer: while a thread waits for its half of a parallel region it may run a piece of another
//! kernel, which needs memory of its own.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// One cache line of floats; gives buffers an alignment of 64 bytes.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct Line([f32; 16]);

thread_local! {
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// A borrowed buffer with arbitrary contents.
pub(crate) struct Scratch {
    lines: Vec<Line>,
    len: usize,
}

/// A buffer of `len` floats that hold arbitrary earlier values.
pub(crate) fn take(len: usize) -> Scratch {
    let need = len.div_ceil(16);
    let mut lines = FREE.with_borrow_mut(|free| {
        let fit = (0..free.len())
            .filter(|&i| free[i].len() >= need)
            .min_by_key(|&i| free[i].len())
            .or_else(|| (0..free.len()).max_by_key(|&i| free[i].len()));
        fit.map(|i| free.swap_remove(i)).unwrap_or_default()
    });
    if lines.len() < need {
        lines.resize(need, Line([0.0; 16]));
    }
    Scratch { lines, len }
}

/// A buffer of `len` zeros.
pub(crate) fn zeroed(len: usize) -> Scratch {
    let mut scratch = take(len);
    scratch.fill(0.0);
    scratch
}

impl Scratch {
    /// Changes the length; contents are arbitrary afterwards.
    pub(crate) fn resize(&mut self, len: usize) {
        if len > self.lines.len() * 16 {
            *self = take(len);
        }
        self.len = len;
    }
}

impl Deref for Scratch {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        // The thread may be ending, with its list gone: then the buffer is freed.
        let _ = FREE.try_with(|free| free.borrow_mut().push(lines));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again() {
        let first = take(100).as_ptr();
        let second = take(80).as_ptr();
        assert_eq!(first, second);
        assert_eq!(first as usize % 64, 0);
    }

    #[test]
    fn buffers_in_use_at_once_are_distinct() {
        let mut a = take(40);
        let mut b = take(40);
        a.fill(1.0);
        b.fill(2.0);
        assert!(a.iter().all(|&x| x == 1.0));
        assert_eq!(zeroed(17).len(), 17);
    }
}
