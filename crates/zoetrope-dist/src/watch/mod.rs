//! Supervision: how far each rank is, and which rank is to blame when none makes progress.
//!
//! Ranks are judged by their progress (step, number of the collective), not by signs of life: a
//! process that hangs may still give those. Threads write into one [`Board`]; processes of an MPI
//! job keep a board each and tell each other what to write there, on a channel of its own that works
//! while MPI does not.

mod board;
mod judge;
pub(crate) mod panics;
mod verdict;

use std::time::Duration;

pub use board::Board;
pub use judge::SLOW_TIMEOUT_FACTOR;
pub use verdict::{Cause, Manner, Verdict};

/// How long ranks are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// How long a rank may wait for others before the one that keeps it waiting counts as hung.
    pub timeout: Duration,
    /// How long a rank may take to leave once another one is lost.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60), grace: Duration::from_secs(5) }
    }
}
