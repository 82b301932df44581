//! Copies between host and device.
//!
//! What goes up is written into a ring of page-locked memory and copied from there on the compute
//! stream: the caller's memory is free at once, and the copy runs at the speed of the bus (55 GB/s
//! against 8 GB/s from pageable memory on an H200). Half of the ring is filled while the other
//! half is being copied.

use bytemuck::Pod;
use cudarc::driver::sys::{self, CUevent};

use super::event::Event;
use super::gpu::Gpu;
use super::trace::Queue;
use super::view::{View, ViewMut};

/// Bytes of a half of the ring.
const HALF: usize = 16 << 20;

/// Bytes up to which a download lands in the ring.
const RING_DOWNLOAD_BYTES_MAX: usize = 1 << 20;

/// Parts of the ring begin at multiples of this.
const GRAIN: usize = 64;

/// Page-locked memory in two halves.
#[derive(Debug, Default)]
pub(super) struct Ring {
    halves: Option<[usize; 2]>,
    /// When the copies out of each half are done.
    done: [Option<Event>; 2],
    half: usize,
    filled: usize,
}

impl Ring {
    /// Room for some bytes, at most a half.
    fn room(&mut self, gpu: &Gpu, bytes: usize) -> Option<*mut u8> {
        let halves = match self.halves {
            Some(halves) => halves,
            None => *self.halves.insert([gpu.lock_pages(HALF)?, gpu.lock_pages(HALF)?]),
        };
        if self.filled + bytes > HALF {
            self.done[self.half] = Some(gpu.record_on_compute());
            self.half = 1 - self.half;
            self.filled = 0;
            if let Some(done) = self.done[self.half].take() {
                done.wait();
            }
        }
        let at = halves[self.half] + self.filled;
        self.filled = (self.filled + bytes).next_multiple_of(GRAIN);
        Some(at as *mut u8)
    }
}

/// Page-locked memory in which a copy from the device lands.
#[derive(Debug, Default)]
pub(super) struct Landing {
    host: Option<(Gpu, usize)>,
    bytes: usize,
}

impl Landing {
    /// Copies values to the host and waits for them, but not for what is launched after this call.
    pub(super) fn receive(&mut self, gpu: &Gpu, from: View<'_, u32>) -> &[u32] {
        let bytes = from.len() * size_of::<u32>();
        if self.bytes < bytes {
            self.free();
            let room = bytes.next_power_of_two();
            self.host = gpu.lock_pages(room).map(|host| (gpu.clone(), host));
            self.bytes = if self.host.is_some() { room } else { 0 };
        }
        let Some((gpu, host)) = &self.host else { return &[] };
        gpu.count_downloaded(bytes);
        gpu.make_current();
        // SAFETY: the memory has room for as many bytes, and the event below comes after the copy.
        let result = gpu.spanned("copy down", Queue::Compute, |stream| unsafe {
            sys::cuMemcpyDtoHAsync_v2(*host as *mut _, from.ptr(), bytes, stream)
        });
        gpu.attempt("copying from the device", result);
        gpu.record_on_compute().wait();
        // SAFETY: page-locked memory of at least as many bytes, written in full by the copy, which
        // nothing changes until the next call.
        unsafe { std::slice::from_raw_parts(*host as *const u32, from.len()) }
    }

    fn free(&mut self) {
        if let Some((gpu, host)) = self.host.take() {
            gpu.make_current();
            // SAFETY: allocated by `lock_pages`; every copy into it was waited for.
            unsafe { sys::cuMemFreeHost(host as *mut _) };
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.free();
    }
}

/// Page-locked memory out of which copies run beside everything else.
#[derive(Debug)]
pub(super) struct PinnedBlock {
    gpu: Gpu,
    host: Option<usize>,
    bytes: usize,
    /// In place of it, if the system has none.
    plain: Vec<u8>,
}

impl PinnedBlock {
    pub(super) fn new(gpu: &Gpu, bytes: usize) -> Self {
        let host = if bytes > 0 { gpu.lock_pages(bytes) } else { None };
        let plain = if host.is_none() { vec![0; bytes] } else { Vec::new() };
        Self { gpu: gpu.clone(), host, bytes, plain }
    }

    /// The bytes that there is room for.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it begins, for whoever orders what is written and read there by a stream.
    pub(super) fn address(&mut self) -> *mut u8 {
        self.host.map_or(self.plain.as_mut_ptr(), |host| host as *mut u8)
    }

    /// The address of a copy of some bytes, which the caller must not ask for again before what he does with
    /// it is over.
    pub(super) fn filled(&mut self, from: &[u8]) -> *const u8 {
        assert!(from.len() <= self.bytes, "{} bytes in room for {}", from.len(), self.bytes);
        let place = self.address();
        // SAFETY: the block has room for as many bytes, and nobody else has a part of it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), place, from.len()) };
        place
    }
}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            self.gpu.make_current();
            // SAFETY: allocated by `lock_pages`; who copies out of it waits for that before it is dropped.
            unsafe { sys::cuMemFreeHost(host as *mut _) };
        }
    }
}

impl Gpu {
    /// Page-locked host memory, which nobody frees but its owner; None (and a fault) if there is
    /// none.
    fn lock_pages(&self, bytes: usize) -> Option<usize> {
        self.make_current();
        let mut host = std::ptr::null_mut();
        // SAFETY: the driver writes the address of a fresh block.
        let result = unsafe { sys::cuMemHostAlloc(&mut host, bytes, 0) };
        self.attempt("taking page-locked memory", result).then_some(host as usize)
    }

    /// Copies values to the device; the caller's values may change at once.
    pub(crate) fn upload<T: Pod>(&self, from: &[T], to: ViewMut<'_, T>) {
        assert_eq!(from.len(), to.len(), "as many values as places");
        self.count_uploaded(size_of_val(from));
        self.make_current();
        let bytes: &[u8] = bytemuck::cast_slice(from);
        for (at, part) in bytes.chunks(HALF).enumerate() {
            let target = to.ptr() + (at * HALF) as u64;
            let mut ring = self.ring();
            let Some(room) = ring.room(self, part.len()) else { return };
            // SAFETY: the room has as many bytes as the part and nothing else uses it until its half
            // comes round again, which waits for the copy; the target is as long as the source.
            let result = self.spanned("copy up", Queue::Compute, |stream| unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), room, part.len());
                sys::cuMemcpyHtoDAsync_v2(target, room.cast(), part.len(), stream)
            });
            self.attempt("copying to the device", result);
        }
    }

    /// Copies values to the host and waits for them.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn download<T: Pod>(&self, from: View<'_, T>, to: &mut [T]) {
        assert_eq!(from.len(), to.len(), "as many places as values");
        if to.is_empty() {
            return;
        }
        let bytes = size_of_val(to);
        self.count_downloaded(bytes);
        self.make_current();
        let copy = |place: *mut u8| {
            // SAFETY: both have as many bytes, and the call below waits for the copy.
            let result = self.spanned("copy down", Queue::Compute, |stream| unsafe {
                sys::cuMemcpyDtoHAsync_v2(place.cast(), from.ptr(), bytes, stream)
            });
            self.attempt("copying from the device", result);
            self.wait();
        };
        let place = to.as_mut_ptr().cast::<u8>();
        let mut ring = self.ring();
        match if bytes <= RING_DOWNLOAD_BYTES_MAX { ring.room(self, bytes) } else { None } {
            // A little lands sooner in page-locked memory; the ring is ours until it is copied out.
            Some(room) => {
                copy(room);
                // SAFETY: both have as many bytes, and the copy into the room is done.
                unsafe { std::ptr::copy_nonoverlapping(room, place, bytes) };
            }
            None => {
                // A copy into memory that is not page-locked keeps the caller inside of the driver
                // until its turn has come, where nobody could look on.
                if self.wait_hook().is_some() {
                    self.wait();
                }
                copy(place);
            }
        }
    }

    /// Copies values on the device.
    pub(crate) fn copy<T>(&self, from: View<'_, T>, to: ViewMut<'_, T>) {
        assert_eq!(from.len(), to.len(), "as many values as places");
        let bytes = from.len() * size_of::<T>();
        if bytes == 0 {
            return;
        }
        self.make_current();
        // SAFETY: both have as many bytes.
        let result = self.spanned("copy", Queue::Compute, |stream| unsafe {
            sys::cuMemcpyDtoDAsync_v2(to.ptr(), from.ptr(), bytes, stream)
        });
        self.attempt("copying on the device", result);
    }

    /// Sets all bytes of a view to 0.
    pub fn zero<T>(&self, view: ViewMut<'_, T>) {
        let bytes = view.len() * size_of::<T>();
        if bytes == 0 {
            return;
        }
        self.make_current();
        // SAFETY: the view has as many bytes.
        let result = self.spanned("zero", Queue::Compute, |stream| unsafe {
            sys::cuMemsetD8Async(view.ptr(), 0, bytes, stream)
        });
        self.attempt("zeroing", result);
    }

    pub(super) fn record_on_compute(&self) -> Event {
        Event::record(self, self.compute_stream())
    }

    /// Makes the compute stream wait for an event.
    pub(super) fn compute_after(&self, event: CUevent) {
        self.make_current();
        // SAFETY: stream and event are alive.
        let result = unsafe { sys::cuStreamWaitEvent(self.compute_stream(), event, 0) };
        self.attempt("waiting for a copy", result);
    }
}
