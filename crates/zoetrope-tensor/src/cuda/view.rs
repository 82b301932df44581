//! Parts of device memory as kernels take them: what `&[T]` and `&mut [T]` are on the host.

use std::marker::PhantomData;
use std::ops::Range;

use crate::cpu::matmul::Accumulate;

/// Values on the device, to be read.
#[derive(Debug)]
pub struct View<'a, T = f32> {
    ptr: u64,
    len: usize,
    of: PhantomData<&'a [T]>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T> View<'a, T> {
    pub(crate) fn new(ptr: u64, len: usize) -> Self {
        Self { ptr, len, of: PhantomData }
    }

    /// No values.
    pub(crate) fn none() -> Self {
        Self::new(0, 0)
    }

    /// The number of values.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(crate) fn ptr(self) -> u64 {
        self.ptr
    }

    /// Some consecutive values.
    ///
    /// # Panics
    /// If there are no such values.
    pub fn slice(self, range: Range<usize>) -> View<'a, T> {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        Self::new(self.ptr + (range.start * size_of::<T>()) as u64, range.len())
    }
}

/// Values on the device, to be changed.
#[derive(Debug)]
pub struct ViewMut<'a, T = f32> {
    ptr: u64,
    len: usize,
    of: PhantomData<&'a mut [T]>,
}

impl<'a, T> ViewMut<'a, T> {
    pub(crate) fn new(ptr: u64, len: usize) -> Self {
        Self { ptr, len, of: PhantomData }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn ptr(&self) -> u64 {
        self.ptr
    }

    /// The same values, to be read.
    pub fn as_view(&self) -> View<'_, T> {
        View::new(self.ptr, self.len)
    }

    /// The same values for a shorter time.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut::new(self.ptr, self.len)
    }

    /// Some consecutive values.
    ///
    /// # Panics
    /// If there are no such values.
    pub fn slice(&mut self, range: Range<usize>) -> ViewMut<'_, T> {
        let part = self.as_view().slice(range);
        ViewMut::new(part.ptr(), part.len())
    }

    /// The values before and from a position on.
    ///
    /// # Panics
    /// If there are not as many values.
    pub fn split_at(self, at: usize) -> (ViewMut<'a, T>, ViewMut<'a, T>) {
        assert!(at <= self.len, "{at} of {}", self.len);
        let beyond = self.ptr + (at * size_of::<T>()) as u64;
        (ViewMut::new(self.ptr, at), ViewMut::new(beyond, self.len - at))
    }
}

/// A gradient that a kernel writes or adds to; absent if it is not wanted.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    pub(crate) place: Option<ViewMut<'a>>,
    pub(crate) mode: Accumulate,
}
