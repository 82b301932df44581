//! A hook that is called while the host waits for a GPU.
//!
//! What a GPU does may depend on other ranks: a kernel of NCCL waits for their GPUs. The host must not
//! block inside the driver then, because it would never learn that one of them is gone.

use std::fmt::Debug;
use std::time::Duration;

/// Watches over what a GPU waits for.
pub trait WaitHook: Debug + Send + Sync {
    /// Called again and again while the host waits. Ends the wait of the GPU if what it waits for will
    /// never come.
    fn look(&self);

    /// The host waits no longer.
    fn over(&self);
}

/// Rests between two looks at something that was not there yet.
pub(super) fn rest(waited: Duration) {
    // Most waits are for a kernel or a copy that is about to end; a sleep costs some 60 µs.
    const SPIN_LIMIT: Duration = Duration::from_micros(100);
    if waited < SPIN_LIMIT {
        std::hint::spin_loop();
    } else {
        // A twentieth of the time waited so far, up to a millisecond.
        let rest = (waited / 20).clamp(Duration::from_micros(10), Duration::from_millis(1));
        std::thread::sleep(rest);
    }
}
