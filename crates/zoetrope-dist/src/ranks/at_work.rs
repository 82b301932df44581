//! Work of one rank that the others wait for, and that may take longer than anybody waits for a rank.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Ranks;

/// The longest time between two looks at a rank's work.
const LOOK_MAX: Duration = Duration::from_secs(5);

/// A rank is at work if its process has computed for this part of the time since the last look.
const WORKING_SHARE: u32 = 20;

impl Ranks {
    /// Does something that the other ranks wait for, however long it takes: while the process uses its processors, this
    /// rank does not count as hung. If it stops to do so (a disk that does not answer), it counts as hung after the
    /// time that is given to slow operations ([`Ranks::take_time`]).
    pub fn at_work<R>(&self, work: impl FnOnce() -> R) -> R {
        self.take_time();
        let look = (self.inner.communicator.board().timeouts().timeout / 4).min(LOOK_MAX);
        let (done, over) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut before = processor_time();
                while over.recv_timeout(look) == Err(RecvTimeoutError::Timeout) {
                    let now = processor_time();
                    if now.saturating_sub(before) >= look / WORKING_SHARE {
                        let board = self.inner.communicator.board();
                        board.update(self.rank(), |position| position.signs += 1);
                    }
                    before = now;
                }
            });
            // It goes when the work is done, also by a panic.
            let _done = done;
            work()
        })
    }
}

/// What all threads of this process have computed.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
