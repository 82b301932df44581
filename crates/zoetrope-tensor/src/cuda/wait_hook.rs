//! Company for a host that waits for a GPU.
//!
//! What a GPU does may depend on others: a kernel of NCCL waits for the GPUs of other ranks. The host
//! must not sit inside of the driver then, where it would never hear that one of them is gone.

use std::fmt::Debug;
use std::time::Duration;

/// Someone who looks after the others that a GPU waits for.
pub trait WaitHook: Debug + Send + Sync {
    /// Called again and again while the host waits. It ends what the GPU waits for if that will
    /// not come.
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
