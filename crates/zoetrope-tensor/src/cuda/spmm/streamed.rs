//! The matrices of a sequence on the device a group at a time, copied ahead of their use.
//!
//! Two areas of device memory take turns: while products read the group in one, the copy stream
//! fills the other from page-locked host memory. A copy waits until everything that was launched
//! before it was asked for is done, so that nothing still reads the area; products wait for the copies
//! of their group. Kernels find matrices through one table of addresses, which is changed when the next
//! group is entered: a recorded launch serves both areas.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys;

use super::{Limits, Slices, THREADS};
use crate::cuda::{Event, Gpu, Kernel, Queue, Scratch, View};
use crate::sparse::{Sequence, Side};

static NAMES: Kernel = Kernel::new("spmm", "spmm_names");
/// Blocks of it that a multiprocessor gets.
const BLOCKS: u32 = 16;

/// One side of a sequence, of which one group is on the device and another on its way.
#[derive(Debug)]
pub(super) struct Streamed {
    gpu: Gpu,
    /// The matrices, and what unlocks their pages again.
    members: Vec<Arc<Slices>>,
    locked: Vec<*mut u8>,
    limits: Limits,
    /// Words of an area that a matrix has.
    stride: usize,
    areas: [Area; 2],
    /// The area that products read, and the addresses of its matrices.
    current: usize,
    forms: Scratch<u64>,
}

// SAFETY: the addresses of locked pages are only handed back to the driver, which any thread may do.
unsafe impl Send for Streamed {}

#[derive(Debug)]
struct Area {
    words: Scratch<u32>,
    addresses: Scratch<u64>,
    /// What is there or on its way; empty at first.
    steps: Range<usize>,
    /// After the copies.
    copied: Option<Event>,
}

impl Area {
    fn new(gpu: &Gpu, stride: usize, at_once: usize) -> Self {
        let words = gpu.take_of(stride * at_once);
        let bytes = (stride * size_of::<u32>()) as u64;
        let addresses: Vec<u64> =
            (0..at_once as u64).map(|at| words.view().ptr() + at * bytes).collect();
        Self { words, addresses: gpu.uploaded(&addresses), steps: 0..0, copied: None }
    }

    fn holds(&self, steps: &Range<usize>) -> bool {
        self.steps.start <= steps.start && steps.end <= self.steps.end
    }
}

impl Streamed {
    pub(super) fn new(gpu: &Gpu, sequence: &Sequence, side: Side, at_once: usize) -> Self {
        let members: Vec<_> =
            sequence.members().iter().map(|member| Arc::clone(member.slices(side))).collect();
        let stride = members.iter().map(|slices| slices.words().len()).max().unwrap_or(0);
        // Whole lines of the device's memory.
        let stride = stride.next_multiple_of(64);
        let at_once = at_once.min(members.len());
        let area = || Area::new(gpu, stride, at_once);
        let areas = [area(), area()];
        let mut streamed = Self {
            gpu: gpu.clone(),
            limits: Limits::of(members.iter()),
            members,
            locked: Vec::new(),
            stride,
            current: 0,
            forms: gpu.take_of(at_once),
            areas,
        };
        streamed.lock_pages();
        let Self { areas, forms, .. } = &mut streamed;
        gpu.copy(areas[0].addresses.view(), forms.view_mut());
        streamed
    }

    /// Locks the pages of the matrices, so that copies run beside everything else. Where the system
    /// does not allow that, copies are slower and the host waits for them.
    fn lock_pages(&mut self) {
        self.gpu.make_current();
        for slices in &self.members {
            let pages = slices.pages();
            let address = pages.as_ptr().cast_mut();
            if self.locked.contains(&address) {
                continue;
            }
            // SAFETY: whole pages that nothing else has a part of; they live as long as `members`,
            // and are unlocked before.
            let result = unsafe { sys::cuMemHostRegister_v2(address.cast(), pages.len(), 0) };
            if result == sys::CUresult::CUDA_SUCCESS {
                self.locked.push(address);
            }
        }
    }

    /// Begins to copy some consecutive matrices, unless they are there or on their way.
    pub(super) fn prefetch(&mut self, steps: Range<usize>) {
        if self.areas.iter().any(|area| area.holds(&steps)) {
            return;
        }
        let gpu = &self.gpu;
        let area = &mut self.areas[1 - self.current];
        let before = gpu.mark();
        gpu.make_current();
        // SAFETY: stream and event are alive.
        let result = unsafe { sys::cuStreamWaitEvent(gpu.copy_stream(), before.handle(), 0) };
        gpu.attempt("waiting for products", result);
        for (at, slices) in self.members[steps.clone()].iter().enumerate() {
            let from = slices.essence();
            let to = area.words.view().slice(at * self.stride..at * self.stride + from.len());
            let bytes = size_of_val(from);
            // SAFETY: the source lives as long as `members`, for whose copies `drop` waits, and does
            // not change; the target has as many bytes.
            let result = gpu.spanned("matrices", Queue::Copy, |stream| unsafe {
                sys::cuMemcpyHtoDAsync_v2(to.ptr(), from.as_ptr().cast(), bytes, stream)
            });
            gpu.attempt("copying matrices", result);
            gpu.count_uploaded(bytes);
        }
        area.copied = Some(gpu.mark_copies());
        area.steps = steps;
    }

    /// Lets products that are launched from here on read some consecutive matrices.
    pub(super) fn enter(&mut self, steps: Range<usize>) {
        if self.areas[self.current].holds(&steps) {
            return;
        }
        self.prefetch(steps);
        self.current = 1 - self.current;
        let Self { gpu, areas, current, forms, .. } = self;
        let area = &mut areas[*current];
        if let Some(copied) = area.copied.take() {
            gpu.compute_after(copied.handle());
        }
        gpu.copy(area.addresses.view(), forms.view_mut());
        self.complete();
    }

    /// Computes what stands for the values that were not copied.
    fn complete(&self) {
        let steps = self.areas[self.current].steps.clone();
        if !self.members[steps.clone()].iter().any(|slices| slices.is_factored()) {
            return;
        }
        let grid = (BLOCKS * self.gpu.multiprocessors(), steps.len() as u32);
        self.gpu.launch(&NAMES, grid, THREADS as u32, 0, &[&self.forms.view()]);
    }

    /// The addresses of some matrices of the group that was entered.
    pub(super) fn forms(&self, steps: Range<usize>) -> View<'_, u64> {
        let first = self.areas[self.current].steps.start;
        self.forms.view().slice(steps.start - first..steps.end - first)
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        self.gpu.mark_copies().wait();
        self.gpu.make_current();
        for address in &self.locked {
            // SAFETY: locked by `lock_pages`, and no copy reads it any more.
            unsafe { sys::cuMemHostUnregister(address.cast()) };
        }
    }
}
