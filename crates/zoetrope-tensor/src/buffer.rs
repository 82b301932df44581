//! Storage of f32 values: cache-line aligned on the host, or on a device.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::cpu::pages::prefer_large;
use crate::cuda::{Gpu, Memory, View, ViewMut};
use crate::device::Device;

/// One cache line; the unit of allocation, so that vectors of 64 bytes never straddle two lines.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Line([f32; LINE]);

const LINE: usize = 16;

/// A block of f32 values, on the host (from a cache line on) or on a device.
#[derive(Debug)]
pub struct Buffer {
    place: Place,
    len: usize,
}

#[derive(Debug)]
enum Place {
    Host(Vec<Line>),
    Device(Memory),
    /// Part of a larger block of a device, from this value on.
    Part(Arc<Memory>, usize),
}

impl Default for Buffer {
    fn default() -> Self {
        Self { place: Place::Host(Vec::new()), len: 0 }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        match &self.place {
            Place::Host(lines) => Self { place: Place::Host(lines.clone()), len: self.len },
            Place::Device(memory) => self.copied_on(memory),
            Place::Part(memory, _) => self.copied_on(memory),
        }
    }
}

impl Buffer {
    /// A block of `len` zeros on the host.
    pub fn zeroed(len: usize) -> Self {
        let mut lines = Vec::with_capacity(len.div_ceil(LINE));
        prefer_large(&mut lines);
        lines.resize(len.div_ceil(LINE), Line([0.0; LINE]));
        Self { place: Place::Host(lines), len }
    }

    /// A block with the given values on the host.
    pub fn from_slice(values: &[f32]) -> Self {
        let mut buffer = Self::zeroed(values.len());
        buffer.as_mut_slice().copy_from_slice(values);
        buffer
    }

    /// A block of `len` values on a GPU, with unspecified contents.
    pub(crate) fn on_device(gpu: &Gpu, len: usize) -> Self {
        Self { place: Place::Device(gpu.allocate(len * size_of::<f32>())), len }
    }

    /// Some values of a larger block of a GPU.
    pub(crate) fn part(memory: &Arc<Memory>, values: Range<usize>) -> Self {
        debug_assert!(values.end * size_of::<f32>() <= memory.bytes());
        Self { place: Place::Part(Arc::clone(memory), values.start), len: values.len() }
    }

    fn copied_on(&self, memory: &Memory) -> Self {
        let mut copy = Self::on_device(memory.gpu(), self.len);
        memory.gpu().copy(self.view(), copy.view_mut());
        copy
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes held: whole cache lines, whole blocks of a device.
    pub fn bytes(&self) -> usize {
        match &self.place {
            Place::Host(lines) => lines.len() * size_of::<Line>(),
            Place::Device(memory) => memory.bytes(),
            Place::Part(..) => 0,
        }
    }

    /// The values that the block has room for; 0 if it belongs to a larger one, which keeps it.
    pub(crate) fn room(&self) -> usize {
        self.bytes() / size_of::<f32>()
    }

    /// The same block seen as one of `len` values; what it holds is unspecified.
    ///
    /// # Panics
    /// If the block has no room for `len` values.
    pub(crate) fn reshaped(mut self, len: usize) -> Self {
        assert!(len <= self.room(), "a block of {} values cannot hold {len}", self.room());
        self.len = len;
        self
    }

    /// The values.
    ///
    /// # Panics
    /// If the block is on a device; [`Buffer::to_vec`] reads from there.
    pub fn as_slice(&self) -> &[f32] {
        match &self.place {
            Place::Host(lines) => &bytemuck::cast_slice(lines)[..self.len],
            _ => panic!("these values are on a device"),
        }
    }

    /// The values, to be changed.
    ///
    /// # Panics
    /// If the block is on a device; [`Buffer::write`] writes there.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        match &mut self.place {
            Place::Host(lines) => &mut bytemuck::cast_slice_mut(lines)[..self.len],
            _ => panic!("these values are on a device"),
        }
    }

    /// The values on the device.
    ///
    /// # Panics
    /// If the block is on the host.
    pub fn view(&self) -> View<'_> {
        match &self.place {
            Place::Host(_) => panic!("these values are on the host"),
            Place::Device(memory) => memory.view(self.len),
            Place::Part(memory, from) => memory.view(from + self.len).slice(*from..from + self.len),
        }
    }

    /// The values on the device, to be changed.
    ///
    /// # Panics
    /// If the block is on the host.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        let view = self.view();
        ViewMut::new(view.ptr(), view.len())
    }

    fn gpu(&self) -> Option<&Gpu> {
        match &self.place {
            Place::Host(_) => None,
            Place::Device(memory) => Some(memory.gpu()),
            Place::Part(memory, _) => Some(memory.gpu()),
        }
    }

    /// Whether the block is on that device.
    pub(crate) fn is_on(&self, device: &Device) -> bool {
        self.gpu() == device.gpu()
    }

    /// A copy of the values on the host; waits for a device.
    pub fn to_vec(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.len];
        self.read(&mut values);
        values
    }

    /// Copies the values to the host; waits for a device.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn read(&self, to: &mut [f32]) {
        match self.gpu() {
            None => to.copy_from_slice(self.as_slice()),
            Some(gpu) => gpu.download(self.view(), to),
        }
    }

    /// Overwrites the values.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn write(&mut self, values: &[f32]) {
        match self.gpu().cloned() {
            None => self.as_mut_slice().copy_from_slice(values),
            Some(gpu) => gpu.upload(values, self.view_mut()),
        }
    }

    /// Sets all values to 0.
    pub fn clear(&mut self) {
        match self.gpu().cloned() {
            None => self.as_mut_slice().fill(0.0),
            Some(gpu) => gpu.zero(self.view_mut()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_starts_on_a_cache_line() {
        let buffer = Buffer::zeroed(5);
        assert_eq!(buffer.as_slice().as_ptr() as usize % 64, 0);
        assert_eq!(buffer.as_slice(), [0.0; 5]);
        assert_eq!(buffer.bytes(), 64);
    }
}
