//! Host memory whose pages are locked, so that copies out of it run beside everything else.

use cudarc::driver::sys;

use super::slices::{PAGE, Page};
use crate::cuda::Gpu;

/// Pages that are locked for as long as this lives; their owner keeps them for at least as long.
#[derive(Debug)]
pub(super) struct Lock {
    gpu: Gpu,
    address: *mut u8,
}

// SAFETY: the address is only handed back to the driver, which any thread may do.
unsafe impl Send for Lock {}
// SAFETY: as above; nothing is read or written through it.
unsafe impl Sync for Lock {}

impl Lock {
    /// Locks whole pages. None if the system does not allow it: copies out of them are slower then,
    /// and the host waits for them.
    pub(super) fn new(gpu: &Gpu, pages: &[u8]) -> Option<Self> {
        if pages.is_empty() {
            return None;
        }
        gpu.make_current();
        let address = pages.as_ptr().cast_mut();
        // SAFETY: whole pages that nothing else has a part of; the owner keeps them while they are
        // locked.
        let result = unsafe { sys::cuMemHostRegister_v2(address.cast(), pages.len(), 0) };
        (result == sys::CUresult::CUDA_SUCCESS).then(|| Self { gpu: gpu.clone(), address })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.gpu.make_current();
        // SAFETY: locked by `new`; whoever copies from the pages waits for that before it drops this.
        unsafe { sys::cuMemHostUnregister(self.address.cast()) };
    }
}

/// Words in pages of their own, which can be locked.
#[derive(Debug)]
pub(super) struct PageWords {
    pages: Vec<Page>,
    len: usize,
}

impl PageWords {
    pub(super) fn new(words: &[u32]) -> Self {
        let mut pages: Vec<Page> = bytemuck::zeroed_vec(words.len().div_ceil(PAGE));
        bytemuck::cast_slice_mut::<Page, u32>(&mut pages)[..words.len()].copy_from_slice(words);
        Self { pages, len: words.len() }
    }

    pub(super) fn words(&self) -> &[u32] {
        &bytemuck::cast_slice(&self.pages)[..self.len]
    }

    /// All bytes of the pages.
    pub(super) fn pages(&self) -> &[u8] {
        bytemuck::cast_slice(&self.pages)
    }
}
