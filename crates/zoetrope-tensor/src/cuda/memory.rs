//! Device memory: blocks that are used again in stream order, counted and limited.
//!
//! Everything that computes runs on one stream. So a block may be handed to the next user the moment
//! its last user was *launched*: the stream orders the two. Blocks go back to lists by size when
//! they are dropped, and to the driver only when memory runs short.
//!
//! A request that does not fit is still met, from page-locked host memory that the GPU can reach,
//! and remembered as a fault: an operator has no way to fail half-way, and whoever drives the
//! computation asks for faults between steps and stops there.

use std::cell::Cell;

use cudarc::driver::sys;

use super::driver::check;
use super::error::CudaError;
use super::gpu::Gpu;
use super::view::{View, ViewMut};
use crate::size_classes::{SizeClasses, size_class};

/// Blocks are whole multiples of this many bytes, and start at one.
const GRAIN: usize = 256;
/// Least bytes of a large block, which gets a size class of its own.
const LARGE_BLOCK_BYTES_MIN: usize = 1 << 20;

/// What device memory is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Consumer {
    /// Values and gradients of a step, and what kernels leave for each other.
    #[default]
    Activations,
    /// The matrices of snapshots, or the index of events.
    Graph,
    /// Features and what is kept of them.
    Features,
    /// Weights, gradients and the state of the optimiser.
    Parameters,
    /// States between frames and between the blocks of one.
    States,
    /// What libraries work with.
    Workspace,
}

impl Consumer {
    const ALL: [Self; 6] = [
        Self::Activations,
        Self::Graph,
        Self::Features,
        Self::Parameters,
        Self::States,
        Self::Workspace,
    ];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activations => "activations",
            Self::Graph => "the graph",
            Self::Features => "features",
            Self::Parameters => "parameters",
            Self::States => "states between blocks",
            Self::Workspace => "workspace of libraries",
        }
    }
}

thread_local! {
    /// What memory is taken for that is asked for without saying so.
    static CHARGED: Cell<Consumer> = const { Cell::new(Consumer::Activations) };
}

/// Lists of free blocks, and the account of all.
#[derive(Debug, Default)]
pub(super) struct Arena {
    free: SizeClasses<u64>,
    /// Blocks that recordings use: their launches write there whenever they are repeated, so that
    /// only other recordings may have them.
    free_to_recordings: SizeClasses<u64>,
    /// Where a recording in the making finds the number of its step.
    recording: Option<u64>,
    /// Whether a recording is between two of its parts: its blocks have to stay.
    launching: bool,
    limit: usize,
    reserved: usize,
    used: usize,
    peak: usize,
    /// The bytes in use by each consumer.
    used_for: [usize; Consumer::ALL.len()],
    /// The most of each.
    peak_for: [usize; Consumer::ALL.len()],
    /// Grows whenever blocks went back to the driver: recordings made before may point at them.
    generation: u64,
}

/// What the account of a device's memory says, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// What may be taken from the device.
    pub limit: usize,
    /// What is taken from the device, in use or not.
    pub reserved: usize,
    /// What is in use.
    pub used: usize,
    /// The most that was in use at one time.
    pub peak: usize,
    /// The most of each consumer, not all at the same time.
    peak_for: [usize; Consumer::ALL.len()],
}

impl MemoryUse {
    /// The most that was in use at one time for a consumer.
    pub fn peak_of(&self, consumer: Consumer) -> usize {
        self.peak_for[consumer as usize]
    }
}

impl Arena {
    pub(super) fn limited(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    fn free(&mut self, recorded: bool) -> &mut SizeClasses<u64> {
        if recorded { &mut self.free_to_recordings } else { &mut self.free }
    }

    pub(super) fn set_recording(&mut self, step_at: Option<u64>) {
        self.recording = step_at;
    }

    pub(super) fn set_launching(&mut self, launching: bool) {
        self.launching = launching;
    }

    pub(super) fn recorded_step(&self) -> Option<u64> {
        self.recording
    }

    fn taken(&mut self, bytes: usize, consumer: Consumer) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        let used = &mut self.used_for[consumer as usize];
        *used += bytes;
        let peak = &mut self.peak_for[consumer as usize];
        *peak = (*peak).max(*used);
    }

    /// Who has most, if `wanted` more bytes are taken for `consumer`. What libraries work with counts only if it
    /// is what was wanted: nobody can make it less.
    fn largest(&self, wanted: usize, consumer: Consumer) -> (Consumer, usize) {
        let of = |one: Consumer| {
            (one, self.used_for[one as usize] + if one == consumer { wanted } else { 0 })
        };
        let counts = |one: &Consumer| *one != Consumer::Workspace || consumer == *one;
        let all = Consumer::ALL.into_iter().filter(counts).map(of);
        all.max_by_key(|&(_, bytes)| bytes).expect("there are consumers")
    }
}

/// A block of device memory; goes back to its GPU when dropped.
#[derive(Debug)]
pub struct Memory {
    gpu: Gpu,
    ptr: u64,
    bytes: usize,
    consumer: Consumer,
    /// Whether a recording uses it.
    recorded: bool,
    /// The host's address if the block is host memory, because the device had no room.
    spilled: Option<usize>,
}

impl Memory {
    /// The bytes of the block.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn ptr(&self) -> u64 {
        self.ptr
    }

    /// The GPU that the block is on.
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The first values of the block.
    pub(crate) fn view<T>(&self, len: usize) -> View<'_, T> {
        assert!(len * size_of::<T>() <= self.bytes, "{len} values in {} bytes", self.bytes);
        View::new(self.ptr, len)
    }

    /// The first values of the block, to be changed.
    pub(crate) fn view_mut<T>(&mut self, len: usize) -> ViewMut<'_, T> {
        let ptr = self.view::<T>(len).ptr();
        ViewMut::new(ptr, len)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut arena = self.gpu.arena();
        arena.used -= self.bytes;
        arena.used_for[self.consumer as usize] -= self.bytes;
        match self.spilled {
            None => arena.free(self.recorded).give(self.bytes, self.ptr),
            Some(host) => {
                drop(arena);
                self.gpu.make_current();
                // The last user may not have finished with it.
                self.gpu.wait();
                // SAFETY: allocated by `cuMemHostAlloc` below and not freed since.
                unsafe { sys::cuMemFreeHost(host as *mut _) };
            }
        }
    }
}

impl Gpu {
    /// A block with unspecified contents.
    pub(crate) fn allocate(&self, bytes: usize) -> Memory {
        let bytes = size_class(bytes, GRAIN, LARGE_BLOCK_BYTES_MIN);
        let consumer = CHARGED.get();
        let mut arena = self.arena();
        let recorded = arena.recording.is_some();
        if let Some((bytes, ptr)) = arena.free(recorded).take(bytes) {
            arena.taken(bytes, consumer);
            return Memory { gpu: self.clone(), ptr, bytes, consumer, recorded, spilled: None };
        }
        if arena.reserved + bytes > arena.limit && !recorded {
            drop(arena);
            // Copies of what is gone on the host are of no use to anybody.
            self.residents().sweep();
            arena = self.arena();
            self.release_free(&mut arena);
        }
        let mut fresh = self.ask_driver(&arena, bytes, consumer);
        if fresh.is_err() {
            self.release_free(&mut arena);
            fresh = self.ask_driver(&arena, bytes, consumer);
        }
        match fresh {
            Ok(ptr) => {
                arena.reserved += bytes;
                arena.taken(bytes, consumer);
                Memory { gpu: self.clone(), ptr, bytes, consumer, recorded, spilled: None }
            }
            Err(error) => {
                arena.taken(bytes, consumer);
                drop(arena);
                self.fail(error);
                self.spill(bytes, consumer)
            }
        }
    }

    /// Counts what `work` takes on this thread as memory of that consumer, unless something inside says
    /// otherwise.
    pub fn charging<T>(&self, consumer: Consumer, work: impl FnOnce() -> T) -> T {
        /// Restores the consumer of before, also if `work` panics.
        struct Before(Consumer);
        impl Drop for Before {
            fn drop(&mut self) {
                CHARGED.set(self.0);
            }
        }
        let _before = Before(CHARGED.replace(consumer));
        work()
    }

    /// Begins to count anew: what the most in use is counts from here on, without copies of what is gone on the host.
    pub fn restart_memory_use(&self) {
        self.residents().sweep();
        let mut arena = self.arena();
        arena.peak = arena.used;
        arena.peak_for = arena.used_for;
    }

    /// Does some work and tells the most bytes that were in use for a consumer meanwhile beside those that were before.
    pub fn most_in_use<T>(&self, consumer: Consumer, work: impl FnOnce() -> T) -> (T, usize) {
        let at = consumer as usize;
        let (before, peak) = {
            let mut arena = self.arena();
            let used = arena.used_for[at];
            (used, std::mem::replace(&mut arena.peak_for[at], used))
        };
        let found = work();
        let mut arena = self.arena();
        let most = arena.peak_for[at];
        arena.peak_for[at] = most.max(peak);
        (found, most - before)
    }

    fn ask_driver(
        &self,
        arena: &Arena,
        bytes: usize,
        consumer: Consumer,
    ) -> Result<u64, CudaError> {
        let (largest, largest_bytes) = arena.largest(bytes, consumer);
        let full = CudaError::OutOfMemory {
            wanted: bytes,
            consumer,
            used: arena.used,
            limit: arena.limit,
            largest,
            largest_bytes,
        };
        if arena.reserved + bytes > arena.limit {
            return Err(full);
        }
        self.make_current();
        let mut ptr = 0;
        // SAFETY: the driver writes the address of a fresh block.
        let result = unsafe { sys::cuMemAlloc_v2(&mut ptr, bytes) };
        check("taking memory", result).map(|()| ptr).map_err(|_| full)
    }

    /// Host memory that the GPU can reach.
    fn spill(&self, bytes: usize, consumer: Consumer) -> Memory {
        self.make_current();
        let (mut host, mut ptr) = (std::ptr::null_mut(), 0);
        // SAFETY: the driver writes the two addresses of a fresh block.
        let result = unsafe {
            let result = sys::cuMemHostAlloc(&mut host, bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP);
            check("taking page-locked memory", result).and_then(|()| {
                check("mapping it", sys::cuMemHostGetDevicePointer_v2(&mut ptr, host, 0))
            })
        };
        if let Err(error) = result {
            // Neither the GPU nor the host has memory: there is nothing left to go on with.
            panic!("{error}, after the device's memory was spent");
        }
        Memory {
            gpu: self.clone(),
            ptr,
            bytes,
            consumer,
            recorded: false,
            spilled: Some(host as usize),
        }
    }

    /// Gives free blocks back to the driver.
    fn release_free(&self, arena: &mut Arena) {
        // Nothing can be waited for while launches are recorded.
        let stays = arena.launching || arena.free_to_recordings.is_empty();
        if arena.recording.is_some() || (arena.free.is_empty() && stays) {
            return;
        }
        self.make_current();
        self.wait();
        let mut all: Vec<_> = arena.free.drain().collect();
        if !arena.launching {
            all.extend(arena.free_to_recordings.drain());
        }
        for (bytes, ptr) in all {
            // SAFETY: allocated by `ask_driver`; nothing uses it, the stream is idle.
            unsafe { sys::cuMemFree_v2(ptr) };
            arena.reserved -= bytes;
        }
        // What the recording that is launched reads and writes is in use or stays.
        if !arena.launching {
            arena.generation += 1;
        }
    }

    /// Before the first recording, which takes blocks of its own and cannot give others back: those that computing
    /// has left go back now if there might be no room beside them.
    pub(super) fn make_room_to_record(&self) {
        let mut arena = self.arena();
        let idle = arena.reserved.saturating_sub(arena.used);
        if arena.free_to_recordings.is_empty() && arena.limit.saturating_sub(arena.reserved) < idle
        {
            self.release_free(&mut arena);
        }
    }

    /// What the account of the device's memory says.
    pub fn memory_use(&self) -> MemoryUse {
        let arena = self.arena();
        let Arena { limit, reserved, used, peak, peak_for, .. } = *arena;
        MemoryUse { limit, reserved, used, peak, peak_for }
    }

    /// Allows no more than so many bytes of the device's memory.
    pub fn limit_memory(&self, bytes: usize) {
        self.arena().limit = bytes;
    }

    /// Changes whenever free blocks were given back to the driver.
    pub(super) fn memory_generation(&self) -> u64 {
        self.arena().generation
    }

    /// Scratch of `len` values with unspecified contents.
    pub(crate) fn take(&self, len: usize) -> Scratch {
        self.take_of(len)
    }

    /// Scratch of another type of values.
    pub(crate) fn take_of<T>(&self, len: usize) -> Scratch<T> {
        Scratch { memory: self.allocate(len * size_of::<T>()), len, of: std::marker::PhantomData }
    }
}

/// A block of values of one type.
#[derive(Debug)]
pub struct Scratch<T = f32> {
    memory: Memory,
    len: usize,
    of: std::marker::PhantomData<T>,
}

impl<T> Scratch<T> {
    /// The values.
    pub(crate) fn view(&self) -> View<'_, T> {
        self.memory.view(self.len)
    }

    /// The values, to be changed.
    pub(crate) fn view_mut(&mut self) -> ViewMut<'_, T> {
        self.memory.view_mut(self.len)
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}
