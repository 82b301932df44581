//! Long work of one rank that the others have to wait for, without any of them seeming to hang.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Ranks, Reduction};
use crate::error::DistError;

/// How often ranks tell each other that the work goes on.
const EVERY: Duration = Duration::from_millis(50);

impl Ranks {
    /// Works while all others are in [`wait_for_work`](Self::wait_for_work). Meanwhile a thread of this
    /// rank meets them again and again, so that supervision sees progress; a rank that dies is noticed
    /// when the work is done.
    ///
    /// # Errors
    /// Where a rank is lost.
    pub fn while_waited_for<T>(&self, work: impl FnOnce() -> T) -> Result<T, DistError> {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let company = scope.spawn(|| {
                loop {
                    let ends = done.load(Ordering::Acquire);
                    if self.all_reduce_one(u64::from(ends), Reduction::Max)? > 0 {
                        return Ok(());
                    }
                    std::thread::park_timeout(EVERY);
                }
            });
            // Set whatever happens: the others must not wait for ever.
            let finished = Finished { done: &done, thread: company.thread().clone() };
            let result = work();
            drop(finished);
            match company.join() {
                Ok(met) => met.map(|()| result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Waits while another rank works in [`while_waited_for`](Self::while_waited_for).
    ///
    /// # Errors
    /// Where a rank is lost.
    pub fn wait_for_work(&self) -> Result<(), DistError> {
        while self.all_reduce_one(0u64, Reduction::Max)? == 0 {}
        Ok(())
    }
}

/// Ends the company of a rank that worked, also where it panicked.
struct Finished<'a> {
    done: &'a AtomicBool,
    thread: std::thread::Thread,
}

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
