//! What the card did when: every kernel and every copy as a span, on the clock of the card.
//!
//! Off by default: two events are recorded around each launch, and recordings are not used meanwhile,
//! because a span inside of one could not be told from the next.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use cudarc::driver::sys::CUstream;

use super::event::Event;
use super::gpu::{Gpu, lock};

/// Which of the card's two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Kernels, and copies that kernels wait for.
    Compute,
    /// Copies ahead of use.
    Copy,
}

/// Something that the card did.
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

/// The spans so far.
#[derive(Debug, Default)]
pub(super) struct Trace {
    on: AtomicBool,
    spans: Mutex<Option<Spans>>,
}

#[derive(Debug)]
struct Spans {
    begin: Event,
    kept: Vec<(&'static str, Queue, [Event; 2])>,
}

impl Gpu {
    /// Starts a trace; the returned moment is its time 0.
    pub fn start_trace(&self) -> Instant {
        self.wait();
        let begin = self.mark();
        begin.wait();
        let now = Instant::now();
        *self.spans() = Some(Spans { begin, kept: Vec::new() });
        self.trace().on.store(true, Ordering::Relaxed);
        now
    }

    /// Whether a trace is kept.
    pub fn is_traced(&self) -> bool {
        self.trace().on.load(Ordering::Relaxed)
    }

    /// What happened since the trace began or this was last asked; waits until it is over.
    pub fn take_trace(&self) -> Vec<GpuSpan> {
        self.wait();
        self.mark_copies().wait();
        let mut spans = self.spans();
        let Some(Spans { begin, kept }) = spans.as_mut() else { return Vec::new() };
        let span = |(name, queue, [start, end]): (&'static str, Queue, [Event; 2])| GpuSpan {
            name,
            queue,
            start: start.seconds_since(begin),
            seconds: end.seconds_since(&start),
        };
        kept.drain(..).map(span).collect()
    }

    fn spans(&self) -> MutexGuard<'_, Option<Spans>> {
        lock(&self.trace().spans)
    }

    /// Runs a call that launches something, as a span where a trace is kept.
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
        if !self.is_traced() {
            return call(stream);
        }
        let start = Event::record(self, stream);
        let result = call(stream);
        let end = Event::record(self, stream);
        if let Some(spans) = self.spans().as_mut() {
            spans.kept.push((name, queue, [start, end]));
        }
        result
    }
}
