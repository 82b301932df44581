//! Kernels by name, and what they are called with.

use std::ffi::c_void;

use bytemuck::Pod;

use super::view::{View, ViewMut};
use crate::cpu::matmul::Accumulate;

/// A kernel of one of the `.cu` files.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(super) file: &'static str,
    pub(super) name: &'static str,
}

impl Kernel {
    /// The kernel `name` of `file.cu`.
    pub(crate) const fn new(file: &'static str, name: &'static str) -> Self {
        Self { file, name }
    }
}

/// Threads of a block or blocks of a grid, in three directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dim(pub(crate) [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

/// How many blocks take `items` when each takes `per_block`.
pub(crate) fn grid_for(items: usize, per_block: usize) -> u32 {
    items.div_ceil(per_block).min(i32::MAX as usize) as u32
}

/// The most arguments of a kernel.
pub(super) const MOST_ARGUMENTS: usize = 48;

/// An argument of a kernel.
pub(crate) trait Arg {
    /// Where the driver finds the bytes of the argument: in `slot`, or in the argument itself.
    fn place(&self, slot: &mut u64) -> *const c_void;
}

macro_rules! number {
    ($($type:ty)*) => {$(
        impl Arg for $type {
            fn place(&self, slot: &mut u64) -> *const c_void {
                bytemuck::bytes_of_mut(slot)[..size_of::<Self>()]
                    .copy_from_slice(bytemuck::bytes_of(self));
                std::ptr::from_ref(slot).cast()
            }
        }
    )*};
}

number!(u32 i32 u64 i64 f32 f64);

impl<T> Arg for View<'_, T> {
    fn place(&self, slot: &mut u64) -> *const c_void {
        self.ptr().place(slot)
    }
}

impl<T> Arg for ViewMut<'_, T> {
    fn place(&self, slot: &mut u64) -> *const c_void {
        self.ptr().place(slot)
    }
}

/// An absent operand is a null pointer.
impl<T> Arg for Option<View<'_, T>> {
    fn place(&self, slot: &mut u64) -> *const c_void {
        self.map_or(0, View::ptr).place(slot)
    }
}

impl<T> Arg for Option<ViewMut<'_, T>> {
    fn place(&self, slot: &mut u64) -> *const c_void {
        self.as_ref().map_or(0, ViewMut::ptr).place(slot)
    }
}

/// 0 overwrites, 1 adds.
impl Arg for Accumulate {
    fn place(&self, slot: &mut u64) -> *const c_void {
        u32::from(*self == Accumulate::Add).place(slot)
    }
}

/// A struct that is passed by value.
pub(crate) struct ByValue<'a, T: Pod>(pub(crate) &'a T);

impl<T: Pod> Arg for ByValue<'_, T> {
    fn place(&self, _slot: &mut u64) -> *const c_void {
        std::ptr::from_ref(self.0).cast()
    }
}
