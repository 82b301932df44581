//! Updates that were recorded on a GPU as CUDA graphs, by their frames.
//!
//! A frame comes again every epoch with the same shapes and addresses: what it launches can be
//! recorded once and launched as a whole, which costs the host one call instead of some hundred.
//! The first time it is computed as ever, the second time it is recorded, from the third on launched. If
//! snapshots, features or states are sent for its frames or blocks, or ranks exchange rows, it is recorded in parts, between
//! which that is done. Of several ranks one may launch what another computes: they meet at the same places.

use std::collections::HashMap;

use zoetrope_nn::state::StateShapes;
use zoetrope_plan::Frame;
use zoetrope_tensor::cuda::Graph;

use crate::snapshots::engine::Piece;

/// The most updates that are remembered: a recording takes some hundred kilobytes.
const RECORDINGS_MAX: usize = 1024;

/// A recorded update.
pub(super) struct Recording {
    pub(super) graph: Graph,
    /// For each of its frames, how much of it there was something to learn from in.
    pub(super) shares: Vec<f64>,
    /// What the session does between two of its parts.
    pub(super) between: Vec<Between>,
}

/// What a session does in an update that cannot be recorded.
#[derive(Debug, Clone)]
pub(super) enum Between {
    /// Waits on the GPU for what was sent for a piece, and sends what comes next.
    Send(Piece, Option<Piece>),
    /// Copies the state before a block to the host. Its shapes are said, because launching a recording writes the
    /// state and not its shapes: those of TM-GCN grow over the first blocks.
    Store(usize, Box<StateShapes>),
    /// Waits on the GPU for the state before a block, and begins to fetch the one before it.
    Fetch(usize),
    /// Ranks that share cells end a frame.
    EndFrame,
    /// Ranks add up gradients.
    Gradients,
}

/// Recordings by the starts of their frames.
#[derive(Default)]
pub(super) struct CudaGraphs {
    known: HashMap<Vec<usize>, Option<Recording>>,
    /// What was done so far between parts of the recording that is being made, if one is.
    pub(super) making: Option<Vec<Between>>,
}

/// What is known of an update.
pub(super) enum Found {
    /// It was recorded, and can be launched.
    Recorded,
    /// It was computed before.
    Seen,
    /// It was not computed before.
    Unknown,
}

fn key(frames: &[Frame]) -> Vec<usize> {
    frames.iter().map(|frame| frame.start).collect()
}

impl CudaGraphs {
    pub(super) fn find(&self, frames: &[Frame]) -> Found {
        match self.known.get(&key(frames)) {
            None => Found::Unknown,
            Some(Some(recording)) if recording.graph.is_current() => Found::Recorded,
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

    /// Takes a recording out, to launch it; it has to be put back.
    pub(super) fn take(&mut self, frames: &[Frame]) -> Option<Recording> {
        self.known.get_mut(&key(frames))?.take()
    }

    pub(super) fn keep(&mut self, frames: &[Frame], recording: Recording) {
        self.known.insert(key(frames), Some(recording));
    }
}
