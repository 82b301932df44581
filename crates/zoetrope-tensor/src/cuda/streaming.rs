//! Accounting of what is streamed: bytes, how long they were on the bus, and how long the GPU
//! took to make matrices out of differences.

use super::event::Event;
use super::gpu::{Gpu, lock};

/// Measurements whose end is not waited for at once.
const PENDING: usize = 256;

/// What streaming took so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Streaming {
    /// Bytes of matrices that were copied ahead of their use.
    pub bytes: u64,
    /// Seconds that these were on the bus.
    pub transfer_seconds: f64,
    /// Seconds in which matrices were made out of differences.
    pub rebuild_seconds: f64,
}

/// What was measured, and what is still under way.
#[derive(Debug, Default)]
pub(super) struct StreamingAccount {
    total: Streaming,
    pending: Vec<(Work, [Event; 2])>,
}

/// What streaming consists of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// Copies, and how many bytes they have.
    Transfer(usize),
    /// Making matrices out of differences.
    Rebuild,
}

impl StreamingAccount {
    fn settle(&mut self) {
        for (work, [begin, end]) in self.pending.drain(..) {
            end.wait();
            let seconds = end.seconds_since(&begin);
            match work {
                Work::Transfer(bytes) => {
                    self.total.bytes += bytes as u64;
                    self.total.transfer_seconds += seconds;
                }
                Work::Rebuild => self.total.rebuild_seconds += seconds,
            }
        }
    }
}

impl Gpu {
    /// What streaming took so far; waits until it is over.
    pub fn streaming(&self) -> Streaming {
        let mut account = lock(self.streaming_account());
        account.settle();
        account.total
    }

    /// Counts work between two points of a stream.
    pub(crate) fn count_streaming(&self, work: Work, begin: Event, end: Event) {
        let mut account = lock(self.streaming_account());
        account.pending.push((work, [begin, end]));
        // The oldest are long over when there are so many.
        if account.pending.len() >= PENDING && account.pending[PENDING - 1].1[1].is_over() {
            account.settle();
        }
    }
}
