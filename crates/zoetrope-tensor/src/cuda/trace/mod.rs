//! What the GPU did when: every kernel and every copy as a span.
//!
//! Off by default. If NVIDIA's profiler CUPTI is installed, the GPU itself keeps the times
//! ([`activity`]): the run is the same as without a trace, recordings included. Otherwise two
//! events are recorded around each launch ([`events`]), and recordings are not used meanwhile, because
//! spans inside a recording could not be distinguished.

mod activity;
mod cupti;
mod events;
mod record;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use cudarc::driver::sys::CUstream;

use self::activity::Activity;
use self::events::Events;
use super::error::CudaError;
use super::event::Event;
use super::gpu::{Gpu, lock};

/// Which of the GPU's two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Kernels, and copies that kernels wait for.
    Compute,
    /// Copies ahead of use.
    Copy,
}

/// Something that the GPU did.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuSpan {
    /// The kernel, or what was copied.
    pub name: &'static str,
    /// Where.
    pub queue: Queue,
    /// Seconds from the begin of the trace.
    pub start: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Who measures spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceSource {
    /// NVIDIA's profiler: the run is not disturbed, and recordings show what is inside of them.
    Cupti,
    /// Events around every launch: launches cost more, and nothing can be recorded.
    Events,
}

impl TraceSource {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cupti => "CUPTI",
            Self::Events => "events around launches",
        }
    }
}

/// The begin of a trace.
#[derive(Debug)]
pub struct TraceStart {
    /// Its time 0.
    pub zero: Instant,
    /// Why events are used, if CUPTI is missing or refuses.
    pub fallback: Option<CudaError>,
    /// Ends it.
    pub end: TraceEnd,
}

/// Ends a trace when it is dropped; spans that were not taken are lost. A GPU is known to what lies
/// on it and is not dropped itself, so that it cannot do this.
#[derive(Debug)]
pub struct TraceEnd(Gpu);

impl Drop for TraceEnd {
    fn drop(&mut self) {
        self.0.stop_trace();
    }
}

/// The spans so far.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// 0 without a trace, or what [`mark`] makes of its source: launches ask often.
    source: AtomicU8,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    zero: Instant,
    by: Keeper,
}

#[derive(Debug)]
enum Keeper {
    Cupti(Activity),
    Events(Events),
}

fn mark(source: TraceSource) -> u8 {
    match source {
        TraceSource::Cupti => 1,
        TraceSource::Events => 2,
    }
}

impl Gpu {
    /// Starts a trace, in place of one that may be under way.
    pub fn start_trace(&self) -> TraceStart {
        self.stop_trace();
        self.wait();
        let (source, zero, by, fallback) = match Activity::start(self) {
            Ok((zero, activity)) => (TraceSource::Cupti, zero, Keeper::Cupti(activity), None),
            Err(error) => {
                let (zero, events) = Events::start(self);
                (TraceSource::Events, zero, Keeper::Events(events), Some(error))
            }
        };
        self.keep(source, Kept { zero, by });
        TraceStart { zero, fallback, end: TraceEnd(self.clone()) }
    }

    fn stop_trace(&self) {
        self.trace().source.store(0, Ordering::Relaxed);
        *self.kept() = None;
    }

    /// Who measures the trace, if one is kept.
    pub fn trace_source(&self) -> Option<TraceSource> {
        let source = self.trace().source.load(Ordering::Relaxed);
        [TraceSource::Cupti, TraceSource::Events].into_iter().find(|&known| mark(known) == source)
    }

    /// What happened since the trace began or this was last asked; waits until it is over.
    ///
    /// # Errors
    /// If CUPTI fails; from then on events are used.
    pub fn take_trace(&self) -> Result<Vec<GpuSpan>, CudaError> {
        self.wait();
        self.mark_copies().wait();
        let mut kept = self.kept();
        let (zero, error) = match kept.as_mut() {
            None => return Ok(Vec::new()),
            Some(Kept { by: Keeper::Events(events), .. }) => return Ok(events.take()),
            Some(Kept { by: Keeper::Cupti(activity), zero }) => match activity.take() {
                Ok(spans) => return Ok(spans),
                Err(error) => (*zero, error),
            },
        };
        drop(kept);
        let events = Events::resume(self, zero);
        self.keep(TraceSource::Events, Kept { zero, by: Keeper::Events(events) });
        Err(error)
    }

    fn keep(&self, source: TraceSource, kept: Kept) {
        *self.kept() = Some(kept);
        self.trace().source.store(mark(source), Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        lock(&self.trace().kept)
    }

    /// Runs a call that launches something, between two events if those keep the trace.
    pub(super) fn spanned<R>(
        &self,
        name: &'static str,
        queue: Queue,
        call: impl FnOnce(CUstream) -> R,
    ) -> R {
        let stream = match queue {
            Queue::Compute => self.compute_stream(),
            Queue::Copy => self.copy_stream(),
        };
        if self.trace_source() != Some(TraceSource::Events) {
            return call(stream);
        }
        let start = Event::record(self, stream);
        let result = call(stream);
        let end = Event::record(self, stream);
        if let Some(Kept { by: Keeper::Events(events), .. }) = self.kept().as_mut() {
            events.push(name, queue, [start, end]);
        }
        result
    }
}
