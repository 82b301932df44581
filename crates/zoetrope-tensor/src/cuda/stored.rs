//! Values of a GPU that wait on the host until they are needed again.
//!
//! They lie in page-locked memory, and the copy stream brings them there and back beside computing. The host waits
//! for neither.

use cudarc::driver::sys;

use super::event::Event;
use super::gpu::Gpu;
use super::streaming::Work;
use super::trace::Queue;
use super::transfer::PinnedBlock;
use crate::matrix::Shape;
use crate::tape::Kept;

/// A matrix that was copied to the host.
#[derive(Debug)]
pub struct Stored {
    gpu: Gpu,
    shape: Shape,
    pinned: PinnedBlock,
    /// When the last copy there or back is over.
    copied: Option<Event>,
}

impl Stored {
    /// The bytes of the matrix.
    pub fn bytes(&self) -> usize {
        self.shape.len() * size_of::<f32>()
    }

    /// Begins to copy a matrix of a shape to the host, as it is after everything that was launched so far: it may have
    /// another shape by now, if what wrote it was recorded. Memory that is there is used again. Nothing may change the
    /// matrix before [`settle`](Self::settle).
    ///
    /// # Panics
    /// If it is not on the GPU, or never was so large.
    pub fn store(gpu: &Gpu, matrix: &Kept, shape: Shape, place: &mut Option<Self>) {
        assert!(matrix.values().room() >= shape.len(), "a matrix that was as large");
        let bytes = shape.len() * size_of::<f32>();
        if place.as_ref().is_none_or(|stored| stored.pinned.bytes() < bytes) {
            let pinned = PinnedBlock::new(gpu, bytes);
            *place = Some(Self { gpu: gpu.clone(), shape, pinned, copied: None });
        }
        let Some(stored) = place else { return };
        stored.shape = shape;
        stored.after_launches();
        gpu.count_downloaded(bytes);
        let (to, from) = (stored.pinned.address(), matrix.values().view().ptr());
        // SAFETY: both have as many bytes; the page-locked memory lives until the copy is over (`drop`), and what
        // reads it are later copies of the same stream.
        let result = gpu.spanned("state to the host", Queue::Copy, |stream| unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream)
        });
        gpu.attempt("copying a state to the host", result);
        stored.copied = Some(gpu.mark_copies());
    }

    /// Begins to copy it back, into memory that nothing launched later may read before [`settle`](Self::settle).
    pub fn fetch(&mut self, place: &mut Option<Kept>) {
        let gpu = self.gpu.clone();
        let matrix = Kept::room_for(&gpu, self.shape, place);
        self.after_launches();
        let (bytes, begin) = (self.bytes(), gpu.mark_copies());
        let (to, from) = (matrix.values_mut().view_mut().ptr(), self.pinned.address());
        // SAFETY: both have as many bytes; the source is written by earlier copies of the same stream, and later
        // ones write it after this one has read it.
        let result = gpu.spanned("state to the GPU", Queue::Copy, |stream| unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, from.cast_const().cast(), bytes, stream)
        });
        gpu.attempt("copying a state to the GPU", result);
        gpu.count_uploaded(bytes);
        gpu.count_streamed(bytes);
        gpu.count_streaming(Work::Transfer(bytes), begin, gpu.mark_copies());
        self.copied = Some(gpu.mark_copies());
    }

    /// Lets what is launched from here on come after the last copy.
    pub fn settle(&self) {
        if let Some(copied) = &self.copied {
            self.gpu.compute_after(copied.handle());
        }
    }

    /// Lets the copy stream go on after everything that was launched so far.
    fn after_launches(&self) {
        let launched = self.gpu.mark();
        self.gpu.make_current();
        // SAFETY: stream and event are alive.
        let result =
            unsafe { sys::cuStreamWaitEvent(self.gpu.copy_stream(), launched.handle(), 0) };
        self.gpu.attempt("waiting for a state", result);
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        // What is copied from and to goes with this.
        if let Some(copied) = &self.copied {
            copied.wait();
        }
    }
}
