//! Spans of time: counted by phase for the summary, and written to a trace if one is wanted.
//!
//! Nested spans of phases count once, for the outermost: the forward pass of an evaluation is
//! evaluation. A timeline belongs to one thread; several share a [`TraceFile`].

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::phase::{Phase, Seconds};
use super::trace::{TaskNote, TraceFile, TraceSpan};

/// What one thread did when.
#[derive(Debug)]
pub struct Timeline {
    seconds: RefCell<Seconds>,
    depth: Cell<u32>,
    trace: Option<Arc<TraceFile>>,
    track: u32,
    /// When the clock of a GPU began, and what ends its trace.
    gpu: RefCell<Option<(Instant, Box<dyn Debug + Send>)>>,
}

/// The tracks of a GPU's two queues: its kernels, and its copies ahead of use.
const GPU_TRACKS: [(u32, &str); 2] = [(1000, "GPU compute"), (1001, "GPU copy")];

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

impl Timeline {
    /// A timeline that only counts.
    pub fn new() -> Self {
        Self {
            seconds: RefCell::new(Seconds::default()),
            depth: Cell::new(0),
            trace: None,
            track: 0,
            gpu: RefCell::new(None),
        }
    }

    /// A timeline that also writes to a trace, as the track of this number and name.
    pub fn traced(trace: Arc<TraceFile>, track: u32, name: &str) -> Self {
        trace.name_track(track, name);
        Self { trace: Some(trace), track, ..Self::new() }
    }

    /// Starts a phase; it ends when the guard is dropped.
    pub fn phase(&self, phase: Phase) -> Span<'_> {
        self.depth.set(self.depth.get() + 1);
        self.start(phase.name(), Some(phase), None)
    }

    /// Starts a span that only the trace shows, for example an epoch or a frame with its number.
    pub fn scope(&self, name: &'static str, number: u64) -> Span<'_> {
        self.start(name, None, Some(number))
    }

    /// Counts a phase that began at `start` and ends now, for code that cannot hold a guard.
    pub fn add(&self, phase: Phase, start: Instant) {
        self.depth.set(self.depth.get() + 1);
        drop(Span { timeline: self, name: phase.name(), phase: Some(phase), number: None, start });
    }

    /// Shows a span in the trace that began at `start` and ends now, for places in which a guard cannot be
    /// held.
    pub fn add_scope(&self, name: &'static str, number: u64, start: Instant) {
        drop(Span { timeline: self, name, phase: None, number: Some(number), start });
    }

    /// Where the tasks of this thread are shown in the trace, if there is one.
    pub fn task_track(&self) -> Option<TaskTrack> {
        let trace = self.trace.clone()?;
        Some(TaskTrack { trace, track: self.track })
    }

    /// Whether spans are written to a trace.
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// From now on spans of a GPU come too, whose clock began at `start`, until this is dropped; `end` is
    /// dropped with it.
    pub fn follow(&self, start: Instant, end: impl Debug + Send + 'static) {
        *self.gpu.borrow_mut() = Some((start, Box::new(end)));
        if let Some(trace) = &self.trace {
            GPU_TRACKS.iter().for_each(|(track, name)| trace.name_track(*track, name));
        }
    }

    /// Says in the trace who measures the spans of the GPU.
    pub fn name_source(&self, source: &str) {
        if let Some(trace) = &self.trace {
            trace.label(&format!("GPU spans: {source}"));
        }
    }

    /// Something that the user should know about the trace.
    pub fn remark(&self, text: String) {
        if let Some(trace) = &self.trace {
            trace.remark(text);
        }
    }

    /// Shows what a GPU did, by its own clock.
    pub fn add_device_span(&self, name: &str, copies: bool, start: f64, seconds: f64) {
        let gpu = self.gpu.borrow();
        let (Some(trace), Some((begun, _))) = (&self.trace, gpu.as_ref()) else { return };
        trace.span(&TraceSpan {
            name,
            category: "device",
            track: GPU_TRACKS[usize::from(copies)].0,
            start: *begun + Duration::from_secs_f64(start.max(0.0)),
            length: Duration::from_secs_f64(seconds.max(0.0)),
            number: None,
            task: None,
        });
    }

    /// The seconds counted so far, without spans that have not ended.
    pub fn seconds(&self) -> Seconds {
        *self.seconds.borrow()
    }

    fn start(&self, name: &'static str, phase: Option<Phase>, number: Option<u64>) -> Span<'_> {
        Span { timeline: self, name, phase, number, start: Instant::now() }
    }
}

/// The tasks of a thread in a trace.
#[derive(Debug)]
pub struct TaskTrack {
    trace: Arc<TraceFile>,
    track: u32,
}

impl TaskTrack {
    /// Shows a task.
    pub fn show(&self, name: &str, start: Instant, length: Duration, task: TaskNote) {
        let (track, task) = (self.track, Some(task));
        self.trace.span(&TraceSpan {
            name,
            category: "task",
            track,
            start,
            length,
            number: None,
            task,
        });
    }
}

/// A span that has begun.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct Span<'a> {
    timeline: &'a Timeline,
    name: &'static str,
    phase: Option<Phase>,
    number: Option<u64>,
    start: Instant,
}

impl Span<'_> {
    /// Ends the span and returns its seconds.
    pub fn end(self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        let length = self.start.elapsed();
        let timeline = self.timeline;
        if let Some(phase) = self.phase {
            let depth = timeline.depth.get() - 1;
            timeline.depth.set(depth);
            if depth == 0 {
                timeline.seconds.borrow_mut().add(phase, length.as_secs_f64());
            }
        }
        if let Some(trace) = &timeline.trace {
            trace.span(&TraceSpan {
                name: self.name,
                category: if self.phase.is_some() { "phase" } else { "scope" },
                track: timeline.track,
                start: self.start,
                length,
                number: self.number,
                task: None,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn events(path: &std::path::Path) -> Vec<Value> {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn spans_nest_in_the_trace_and_count_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let trace = Arc::new(TraceFile::create(&path, Instant::now()).unwrap());
        let timeline = Timeline::traced(Arc::clone(&trace), 3, "rank \"0\"");
        {
            let _epoch = timeline.scope("epoch", 1);
            timeline.phase(Phase::Backward).end();
            let _evaluate = timeline.phase(Phase::Evaluate);
            timeline.phase(Phase::Forward).end();
        }
        trace.finish().unwrap();
        let events = events(&path);
        assert_eq!(events[0]["args"]["name"], "rank \"0\"");
        let find = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
        let time = |name: &str| {
            let event = find(name);
            assert_eq!((&event["ph"], &event["tid"]), (&"X".into(), &3.into()));
            let (at, long) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            (at, at + long)
        };
        for (inner, outer) in
            [("forward", "evaluate"), ("evaluate", "epoch"), ("backward", "epoch")]
        {
            let (inner, outer) = (time(inner), time(outer));
            assert!(outer.0 <= inner.0 && inner.1 <= outer.1 + 0.001, "{inner:?} {outer:?}");
        }
        assert_eq!(find("epoch")["args"]["number"], 1);
        let seconds = timeline.seconds();
        assert!(seconds.evaluate > 0.0 && seconds.backward > 0.0);
        assert_eq!(seconds.forward, 0.0);
    }

    #[test]
    fn a_trace_reaches_the_disk_while_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let trace = Arc::new(TraceFile::create(&path, Instant::now()).unwrap());
        let timeline = Timeline::traced(Arc::clone(&trace), 0, "main");
        for frame in 0..10_000 {
            timeline.scope("frame", frame).end();
        }
        let streamed = std::fs::metadata(&path).unwrap().len();
        trace.finish().unwrap();
        let whole = std::fs::metadata(&path).unwrap().len();
        assert!(whole - streamed <= 64 << 10, "{streamed} of {whole} bytes were on the disk");
        assert_eq!(events(&path).len(), 10_001);
    }

    #[test]
    fn a_failure_to_write_is_reported_at_the_end() {
        let full = std::path::Path::new("/dev/full");
        if !full.exists() {
            return println!("skipped: this system has no /dev/full");
        }
        let trace = Arc::new(TraceFile::create(full, Instant::now()).unwrap());
        let timeline = Timeline::traced(Arc::clone(&trace), 0, "main");
        for frame in 0..10_000 {
            timeline.scope("frame", frame).end();
        }
        assert_eq!(trace.finish().unwrap_err().kind().exit_code(), 4);
    }
}
