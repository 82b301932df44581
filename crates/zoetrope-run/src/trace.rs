//! `trace.json`: spans in the trace event format that Perfetto and Chrome read.
//!
//! The file is a JSON array, streamed to the disk through one buffer, so memory does not grow
//! with the run. The readers take an array without its end, so the trace of a killed run opens,
//! too.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::files;
use crate::error::RunError;

/// A trace in the making; several timelines may write to it.
#[derive(Debug)]
pub struct TraceFile {
    start: Instant,
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: BufWriter<File>,
    events: u64,
    // A span ends in a destructor, which cannot fail: the first failure waits here for `finish`.
    failure: Option<std::io::Error>,
    remarks: Vec<String>,
}

/// A finished span.
pub(super) struct TraceSpan<'a> {
    pub(super) name: &'a str,
    pub(super) category: &'static str,
    pub(super) track: u32,
    pub(super) start: Instant,
    pub(super) length: Duration,
    pub(super) number: Option<u64>,
    pub(super) task: Option<TaskNote>,
}

/// What a trace says about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskNote {
    /// Its number in the program of the plan.
    pub task: u64,
    /// Bytes that it moved, if it moves any.
    pub bytes: Option<u64>,
    /// The position of its layer.
    pub layer: Option<usize>,
}

impl TaskNote {
    /// As the arguments of a span.
    fn arguments(self) -> String {
        let Self { task, bytes, layer } = self;
        let bytes = bytes.map_or(String::new(), |bytes| format!(r#","bytes":{bytes}"#));
        let layer = layer.map_or(String::new(), |layer| format!(r#","layer":{layer}"#));
        format!(r#","args":{{"task":{task}{bytes}{layer}}}"#)
    }
}

impl TraceFile {
    /// Starts a trace with `start` as its time 0: nothing that it shows may have begun before.
    ///
    /// # Errors
    /// [`RunError::Io`] if the file cannot be made.
    pub fn create(path: &Path, start: Instant) -> Result<Self, RunError> {
        let file = files::fresh(path).map_err(|error| RunError::io(path, error))?;
        let file = BufWriter::with_capacity(64 << 10, file);
        let inner = Inner { file, events: 0, failure: None, remarks: Vec::new() };
        Ok(Self { start, path: path.to_owned(), inner: Mutex::new(inner) })
    }

    /// Names a track, which is a row of the picture.
    pub(super) fn name_track(&self, track: u32, name: &str) {
        let name = serde_json::Value::from(name);
        self.write(format_args!(
            r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{track},"args":{{"name":{name}}}}}"#
        ));
    }

    /// Adds a label, which stands beside the name of the whole.
    pub(super) fn label(&self, label: &str) {
        let label = serde_json::Value::from(label);
        self.write(format_args!(
            r#"{{"ph":"M","name":"process_labels","pid":1,"args":{{"labels":{label}}}}}"#
        ));
    }

    /// Keeps something that the user should know, for [`TraceFile::take_remarks`].
    pub(super) fn remark(&self, text: String) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).remarks.push(text);
    }

    /// What the user should know since the last time.
    pub fn take_remarks(&self) -> Vec<String> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut inner.remarks)
    }

    /// Adds a span.
    pub(super) fn span(&self, span: &TraceSpan<'_>) {
        let TraceSpan { category, track, length, .. } = span;
        let name = serde_json::Value::from(span.name);
        let since = span.start.saturating_duration_since(self.start);
        // Microseconds, which is the format's unit, to the nanosecond.
        let micros = |time: Duration| (time.as_nanos() / 1_000, time.as_nanos() % 1_000);
        let ((at, at_rest), (long, long_rest)) = (micros(since), micros(*length));
        let number = match (span.task, span.number) {
            (Some(task), _) => task.arguments(),
            (None, Some(number)) => format!(r#","args":{{"number":{number}}}"#),
            (None, None) => String::new(),
        };
        self.write(format_args!(
            r#"{{"ph":"X","name":{name},"cat":"{category}","pid":1,"tid":{track},"ts":{at}.{at_rest:03},"dur":{long}.{long_rest:03}{number}}}"#
        ));
    }

    fn write(&self, event: std::fmt::Arguments<'_>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.failure.is_some() {
            return;
        }
        let separator = if inner.events == 0 { "[\n" } else { ",\n" };
        inner.events += 1;
        let written =
            inner.file.write_all(separator.as_bytes()).and_then(|()| inner.file.write_fmt(event));
        inner.failure = written.err();
    }

    /// Ends the array and flushes it.
    ///
    /// # Errors
    /// [`RunError::Io`] with the first failure to write since the start.
    pub fn finish(&self) -> Result<(), RunError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = inner.failure.take() {
            return Err(RunError::io(&self.path, error));
        }
        let end: &[u8] = if inner.events == 0 { b"[\n]\n" } else { b"\n]\n" };
        let ended = inner.file.write_all(end).and_then(|()| inner.file.flush());
        // What comes after the end would not be in the array.
        inner.failure = Some(std::io::Error::other("the trace is finished"));
        ended.map_err(|error| RunError::io(&self.path, error))
    }
}
