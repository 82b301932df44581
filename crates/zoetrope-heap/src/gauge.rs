//! The most memory that was in use during a measurement, from which plans are estimated.

use crate::count;

/// Measures from where it started. Two at a time disturb each other.
#[derive(Debug)]
pub struct Gauge(i64);

impl Gauge {
    /// Starts to measure.
    pub fn start() -> Self {
        let now = count::sum();
        count::begin_peak(now);
        Self(now)
    }

    /// The most bytes in use since the start, beyond those in use then; 0 in programs without
    /// [`Tracking`](crate::Tracking).
    pub fn peak(&self) -> u64 {
        (count::peak().max(count::sum()) - self.0).max(0) as u64
    }

    /// The bytes in use now, beyond those in use at the start.
    pub fn now(&self) -> u64 {
        (count::sum() - self.0).max(0) as u64
    }
}
