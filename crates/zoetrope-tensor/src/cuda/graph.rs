//! CUDA graphs: the launches of a whole frame, recorded once and launched as one call.

use cudarc::driver::sys::{self, CUgraphExec};

use super::driver::check;
use super::error::CudaError;
use super::gpu::Gpu;
use super::steps::StepCounter;

/// A recording that can be launched again, with the same addresses and numbers.
#[derive(Debug)]
pub struct Graph {
    gpu: Gpu,
    handle: CUgraphExec,
    memory: u64,
    repeatable: bool,
    /// Read by the recording, so that it lives as long.
    _step: StepCounter,
}

// SAFETY: the driver's handles may be used from any thread, and a launch goes to one stream.
unsafe impl Send for Graph {}

impl Gpu {
    /// Records what `work` launches instead of running it. What it drops depends on `step` as it is
    /// when the recording is launched.
    ///
    /// Nothing may wait for the device meanwhile; everything that `work` uses has to keep its address
    /// for as long as the recording is used. If `work` copies to the device, the recording is good
    /// for one launch only.
    ///
    /// # Errors
    /// Those of `work`, and if the driver refuses.
    pub fn record<E: From<CudaError>>(
        &self,
        step: StepCounter,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        self.make_current();
        let stream = self.compute_stream();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive and records nothing yet.
        check("recording", unsafe { sys::cuStreamBeginCapture_v2(stream, mode) })?;
        let before = self.copied_bytes()[0];
        self.arena().set_recording(Some(step.ptr()));
        let done = work();
        self.arena().set_recording(None);
        let repeatable = self.copied_bytes()[0] == before;
        let (mut graph, mut handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream records since the call above; the driver writes two handles.
        let made = unsafe {
            check("recording", sys::cuStreamEndCapture(stream, &mut graph)).and_then(|()| {
                let made = sys::cuGraphInstantiateWithFlags(&mut handle, graph, 0);
                sys::cuGraphDestroy(graph);
                check("keeping a recording", made)
            })
        };
        done?;
        made?;
        let memory = self.memory_generation();
        Ok(Graph { gpu: self.clone(), handle, memory, repeatable, _step: step })
    }
}

impl Graph {
    /// Whether it may be launched again: the memory that was recorded is still where it was.
    pub fn is_current(&self) -> bool {
        self.repeatable && self.memory == self.gpu.memory_generation()
    }

    /// Whether the work that was recorded is the same whenever it is launched.
    pub fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    /// Launches the recording.
    ///
    /// # Panics
    /// If memory that it uses was given back.
    pub fn launch(&self) {
        let kept = self.memory == self.gpu.memory_generation();
        assert!(kept, "a recording is not used after its memory was given back");
        self.gpu.make_current();
        // SAFETY: the recording is alive and its memory is where it was.
        let result = unsafe { sys::cuGraphLaunch(self.handle, self.gpu.compute_stream()) };
        self.gpu.attempt("launching a recording", result);
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.gpu.make_current();
        self.gpu.wait();
        // SAFETY: made by `record`, destroyed once, and no longer running.
        unsafe { sys::cuGraphExecDestroy(self.handle) };
    }
}
