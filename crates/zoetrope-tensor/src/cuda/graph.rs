//! CUDA graphs: the launches of a whole update, recorded once and launched as one call; or as a few, if
//! something happens between them that cannot be recorded.

use cudarc::driver::sys::{self, CUgraphExec};

use super::driver::check;
use super::error::CudaError;
use super::gpu::{Gpu, lock};
use super::steps::StepCounter;

/// What happens between two parts of a recording.
type Action = Box<dyn Fn(&Gpu) + Send>;

/// A recording that can be launched again, with the same addresses and numbers.
pub struct Graph {
    gpu: Gpu,
    parts: Vec<Part>,
    /// Between the parts; what is not here whoever launches the recording does.
    between: Vec<Option<Action>>,
    memory: u64,
    repeatable: bool,
    /// Read by the recording, so that it lives as long.
    _step: StepCounter,
}

/// Launches that follow each other without anything between them.
#[derive(Debug)]
struct Part(CUgraphExec);

// SAFETY: the driver's handles may be used from any thread, and a launch goes to one stream.
unsafe impl Send for Part {}

/// A recording in the making.
#[derive(Default)]
pub(super) struct Recorder {
    /// Those that are recorded and were launched, and what was done after each of them.
    parts: Vec<Part>,
    between: Vec<Option<Action>>,
    /// Bytes that were copied to the device when the part that is recorded began.
    uploaded: u64,
    repeatable: bool,
    /// What went wrong first.
    fault: Option<CudaError>,
}

impl Gpu {
    /// Records what `work` launches instead of running it. What it drops depends on `step` as it is
    /// when the recording is launched.
    ///
    /// Nothing may wait for the device meanwhile, or copy to it, except in [`apart`](Self::apart); everything
    /// that `work` uses has to keep its address for as long as the recording is used. If `work` copies to the
    /// device, the recording is good for one launch only. The last part of the recording remains to be
    /// [launched](Graph::finish).
    ///
    /// # Errors
    /// Those of `work`, and if the driver refuses.
    pub fn record<E: From<CudaError>>(
        &self,
        step: StepCounter,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Graph, E> {
        self.make_room_to_record();
        *lock(self.recorder()) = Some(Recorder { repeatable: true, ..Recorder::default() });
        if let Err(error) = self.begin_part(step.ptr()) {
            lock(self.recorder()).take();
            return Err(error.into());
        }
        let done = work();
        let last = self.end_part();
        let Recorder { mut parts, between, repeatable, fault, .. } =
            lock(self.recorder()).take().unwrap_or_default();
        done?;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        parts.push(last?);
        let memory = self.memory_generation();
        Ok(Graph { gpu: self.clone(), parts, between, memory, repeatable, _step: step })
    }

    /// Does what cannot be recorded, and does it again at the same place whenever the recording is launched that
    /// is being made, if one is. What it reads and writes on the GPU has to keep its address for as long.
    pub(crate) fn repeatedly(&self, work: impl Fn(&Self) + Send + 'static) {
        if self.arena().recorded_step().is_none() {
            return work(self);
        }
        self.apart(|| {
            work(self);
            self.with_recorder(|recorder| {
                if let Some(last) = recorder.between.last_mut() {
                    *last = Some(Box::new(work));
                }
            });
        });
    }

    /// Does what cannot be recorded: between two parts of a recording if one is being made, the first of which
    /// is launched before. Whoever launches the recording again does the same there.
    pub fn apart<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(step_at) = self.arena().recorded_step() else { return work() };
        match self.end_part() {
            Ok(part) => {
                self.launch_part(&part);
                self.with_recorder(|recorder| {
                    recorder.parts.push(part);
                    recorder.between.push(None);
                });
            }
            Err(error) => self.remember(error),
        }
        self.arena().set_launching(true);
        let found = work();
        self.arena().set_launching(false);
        if let Err(error) = self.begin_part(step_at) {
            self.remember(error);
        }
        found
    }

    /// Refuses the recording that is being made.
    fn remember(&self, error: CudaError) {
        self.with_recorder(|recorder| {
            recorder.fault.get_or_insert(error);
        });
    }

    fn with_recorder(&self, change: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut *lock(self.recorder()) {
            change(recorder);
        }
    }

    fn begin_part(&self, step_at: u64) -> Result<(), CudaError> {
        self.make_current();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is alive and records nothing yet.
        check("recording", unsafe { sys::cuStreamBeginCapture_v2(self.compute_stream(), mode) })?;
        let uploaded = self.copied_bytes()[0];
        self.with_recorder(|recorder| recorder.uploaded = uploaded);
        self.arena().set_recording(Some(step_at));
        Ok(())
    }

    fn end_part(&self) -> Result<Part, CudaError> {
        self.arena().set_recording(None);
        let uploaded = self.copied_bytes()[0];
        self.with_recorder(|recorder| recorder.repeatable &= recorder.uploaded == uploaded);
        let (mut graph, mut handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream records since `begin_part`; the driver writes two handles.
        unsafe {
            check("recording", sys::cuStreamEndCapture(self.compute_stream(), &mut graph))?;
            let made = sys::cuGraphInstantiateWithFlags(&mut handle, graph, 0);
            sys::cuGraphDestroy(graph);
            check("keeping a recording", made)?;
        }
        Ok(Part(handle))
    }

    fn launch_part(&self, part: &Part) {
        self.make_current();
        // SAFETY: the part is alive and its memory is where it was.
        let result = unsafe { sys::cuGraphLaunch(part.0, self.compute_stream()) };
        self.attempt("launching a recording", result);
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

    /// Launches what is left of the recording once it was made: its last part.
    pub fn finish(&self) {
        self.parts.last().into_iter().for_each(|part| self.gpu.launch_part(part));
    }

    /// Launches the recording, and calls `between` with the number of each thing that was done
    /// [apart](Gpu::apart), at its place.
    ///
    /// # Errors
    /// Those of `between`.
    ///
    /// # Panics
    /// If memory that it uses was given back.
    pub fn launch<E>(&self, mut between: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        let mut others = 0;
        for (number, part) in self.parts.iter().enumerate() {
            if let Some(action) = number.checked_sub(1).and_then(|before| self.between.get(before))
            {
                self.gpu.arena().set_launching(true);
                let done = match action {
                    Some(action) => {
                        action(&self.gpu);
                        Ok(())
                    }
                    None => {
                        others += 1;
                        between(others - 1)
                    }
                };
                self.gpu.arena().set_launching(false);
                done?;
            }
            let kept = self.memory == self.gpu.memory_generation();
            assert!(kept, "a recording is not used after its memory was given back");
            self.gpu.launch_part(part);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.gpu.make_current();
        self.gpu.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // SAFETY: made by `end_part`, destroyed once; a graph that runs is destroyed by the driver when it is over.
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
