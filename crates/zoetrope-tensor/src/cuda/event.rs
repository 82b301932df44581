//! Points in a stream: to wait for, and to measure time between.

use std::time::Instant;

use cudarc::driver::sys::{self, CUevent, CUstream};

use super::driver;
use super::gpu::Gpu;
use super::wait_hook::rest;

/// A point in a stream.
#[derive(Debug)]
pub struct Event {
    gpu: Gpu,
    handle: CUevent,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; nothing changes through a shared event.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn record(gpu: &Gpu, stream: CUstream) -> Self {
        gpu.make_current();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the driver writes the handle of a fresh event; the stream is alive.
        let result = unsafe {
            match sys::cuEventCreate(&mut handle, 0) {
                sys::CUresult::CUDA_SUCCESS => sys::cuEventRecord(handle, stream),
                refused => refused,
            }
        };
        gpu.attempt("recording an event", result);
        Self { gpu: gpu.clone(), handle }
    }

    pub(super) fn handle(&self) -> CUevent {
        self.handle
    }

    /// Waits until the stream has come to this point. Calls the [`WaitHook`](super::WaitHook) meanwhile, if
    /// the GPU has one.
    pub fn wait(&self) {
        let result = match self.gpu.wait_hook() {
            None => {
                self.gpu.make_current();
                // SAFETY: the event is alive.
                unsafe { sys::cuEventSynchronize(self.handle) }
            }
            Some(wait_hook) => {
                let start = Instant::now();
                let result = loop {
                    match self.query() {
                        sys::CUresult::CUDA_ERROR_NOT_READY => wait_hook.look(),
                        over => break over,
                    }
                    rest(start.elapsed());
                };
                wait_hook.over();
                result
            }
        };
        self.gpu.attempt("waiting", result);
    }

    /// Whether the stream has come to this point.
    pub fn is_over(&self) -> bool {
        self.query() != sys::CUresult::CUDA_ERROR_NOT_READY
    }

    fn query(&self) -> sys::CUresult {
        self.gpu.make_current();
        // SAFETY: the event is alive.
        unsafe { sys::cuEventQuery(self.handle) }
    }

    /// Seconds from another point to this one, once both are over.
    pub fn seconds_since(&self, earlier: &Event) -> f64 {
        self.gpu.make_current();
        let milliseconds = driver::elapsed(earlier.handle, self.handle);
        milliseconds.map_or(f64::NAN, |milliseconds| f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.gpu.make_current();
        // SAFETY: made by `record` and destroyed once; the driver keeps it until it is over.
        unsafe { sys::cuEventDestroy_v2(self.handle) };
    }
}

impl Gpu {
    /// The point after everything launched so far.
    pub fn mark(&self) -> Event {
        self.record_on_compute()
    }

    /// The point after every copy of the copy stream so far.
    pub fn mark_copies(&self) -> Event {
        Event::record(self, self.copy_stream())
    }
}
