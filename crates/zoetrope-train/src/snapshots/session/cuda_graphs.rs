//! Updates that were recorded on a GPU as CUDA graphs, by their frames.
//!
//! A frame comes again every epoch with the same shapes and addresses: what it launches can be
//! recorded once and launched as a whole, which costs the host one call instead of some hundred.
//! The first time it is computed as ever, the second time it is recorded, from the third on launched.

use std::collections::HashMap;

use zoetrope_plan::Frame;
use zoetrope_tensor::cuda::Graph;

/// The most updates that are remembered: a recording takes some hundred kilobytes.
const RECORDINGS_MAX: usize = 1024;

/// A recorded update.
pub(super) struct Recording {
    pub(super) graph: Graph,
    /// For each of its frames, how much of it there was something to learn from in.
    pub(super) shares: Vec<f64>,
}

/// Recordings by the starts of their frames.
#[derive(Default)]
pub(super) struct CudaGraphs {
    known: HashMap<Vec<usize>, Option<Recording>>,
}

/// What is known of an update.
pub(super) enum Found<'a> {
    /// It was recorded, and can be launched.
    Recording(&'a Recording),
    /// It was computed before.
    Seen,
    /// It was not computed before.
    Unknown,
}

fn key(frames: &[Frame]) -> Vec<usize> {
    frames.iter().map(|frame| frame.start).collect()
}

impl CudaGraphs {
    pub(super) fn find(&self, frames: &[Frame]) -> Found<'_> {
        match self.known.get(&key(frames)) {
            None => Found::Unknown,
            Some(Some(recording)) if recording.graph.is_current() => Found::Recording(recording),
            // Copies to the GPU during a step cannot be repeated.
            Some(Some(recording)) if !recording.graph.is_repeatable() => Found::Unknown,
            Some(_) => Found::Seen,
        }
    }

    /// An update was computed.
    pub(super) fn remember(&mut self, frames: &[Frame]) {
        if self.known.len() < RECORDINGS_MAX {
            self.known.entry(key(frames)).or_default();
        }
    }

    pub(super) fn keep(&mut self, frames: &[Frame], recording: Recording) {
        self.known.insert(key(frames), Some(recording));
    }
}
