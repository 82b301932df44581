//! Spans between pairs of events: for machines without CUPTI.

use std::time::Instant;

use super::{GpuSpan, Queue};
use crate::cuda::event::Event;
use crate::cuda::gpu::Gpu;

/// Pairs of events, since the last time that they were asked for.
#[derive(Debug)]
pub(super) struct Events {
    begin: Event,
    /// Seconds from the trace's time 0 to the begin.
    late: f64,
    kept: Vec<(&'static str, Queue, [Event; 2])>,
}

impl Events {
    /// Events whose time 0 is now, with that moment.
    pub(super) fn start(gpu: &Gpu) -> (Instant, Self) {
        let begin = gpu.mark();
        begin.wait();
        (Instant::now(), Self { begin, late: 0.0, kept: Vec::new() })
    }

    /// Events of a trace that began before.
    pub(super) fn resume(gpu: &Gpu, zero: Instant) -> Self {
        let (now, events) = Self::start(gpu);
        Self { late: now.saturating_duration_since(zero).as_secs_f64(), ..events }
    }

    pub(super) fn push(&mut self, name: &'static str, queue: Queue, events: [Event; 2]) {
        self.kept.push((name, queue, events));
    }

    /// The spans of all events, which have to be over.
    pub(super) fn take(&mut self) -> Vec<GpuSpan> {
        let (begin, late) = (&self.begin, self.late);
        let span = |(name, queue, [start, end]): (&'static str, Queue, [Event; 2])| GpuSpan {
            name,
            queue,
            start: late + start.seconds_since(begin),
            seconds: end.seconds_since(&start),
        };
        self.kept.drain(..).map(span).collect()
    }
}
