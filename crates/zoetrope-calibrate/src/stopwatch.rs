//! The time that computing takes, without the time that other programs take from it.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use zoetrope_tensor::Device;

/// What began at some time. One thread that computes is timed by the processor time that it gets, which other
/// programs take nothing of; several threads, and GPUs, by the clock.
pub(crate) enum Stopwatch {
    Thread(f64),
    Clock(Instant),
}

fn of_thread() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}

impl Stopwatch {
    /// Begins, in the pool whose threads compute.
    pub(crate) fn start(device: &Device) -> Self {
        if device.gpu().is_none() && rayon::current_num_threads() == 1 {
            Self::Thread(of_thread())
        } else {
            Self::Clock(Instant::now())
        }
    }

    /// Seconds since then.
    pub(crate) fn seconds(&self) -> f64 {
        match self {
            Self::Thread(began) => of_thread() - began,
            Self::Clock(began) => began.elapsed().as_secs_f64(),
        }
    }
}
