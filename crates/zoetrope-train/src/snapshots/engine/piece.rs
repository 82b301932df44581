//! What is computed at once: a frame, or a block of one.

use std::ops::Range;

/// Consecutive snapshots of a frame, counted from the start of the sequence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The whole frame, over which ranks are spread.
    pub frame: Range<usize>,
    /// The snapshots.
    pub steps: Range<usize>,
    /// How many of them structure encoders take at once.
    pub group: usize,
}

impl Piece {
    /// All of a frame.
    pub fn whole(frame: Range<usize>, group: usize) -> Self {
        Self { steps: frame.clone(), frame, group }
    }

    /// The snapshots, counted from the start of the frame.
    pub(super) fn within(&self) -> Range<usize> {
        self.steps.start - self.frame.start..self.steps.end - self.frame.start
    }
}
