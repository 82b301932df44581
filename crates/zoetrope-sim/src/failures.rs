//! How often to write checkpoints, and how long a run takes if nodes fail.
//!
//! Failures come at random, with the same chance in every second. Young (1974): an interval of `√(2·C·M)` between
//! checkpoints of `C` seconds loses least if a failure comes every `M` seconds on average. Daly (2006) adds the next
//! terms, and gives the expected time with intervals `τ` and restarts of `R` seconds,
//! `M·e^(R/M)·(e^((τ+C)/M) − 1)·W/τ` for `W` seconds of work.

use serde::Serialize;

use crate::machine::Failures;

/// A run on nodes that fail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Expectation {
    /// The mean seconds between two failures of any of the nodes.
    pub failure_seconds: f64,
    /// Seconds that a checkpoint takes.
    pub checkpoint_seconds: f64,
    /// The suggested seconds between two checkpoints, by Young.
    pub young_seconds: f64,
    /// The same by Daly, which is what the expected time is for.
    pub interval_seconds: f64,
    /// The expected seconds of the whole run.
    pub seconds: f64,
}

/// Young's interval.
pub fn young(checkpoint_seconds: f64, failure_seconds: f64) -> f64 {
    (2.0 * checkpoint_seconds * failure_seconds).sqrt()
}

/// Daly's interval: Young's with the terms of higher order.
pub fn daly(checkpoint_seconds: f64, failure_seconds: f64) -> f64 {
    let (cost, mean) = (checkpoint_seconds, failure_seconds);
    if cost >= 2.0 * mean {
        return mean;
    }
    let part = (cost / (2.0 * mean)).sqrt();
    young(cost, mean) * (1.0 + part / 3.0 + part * part / 9.0) - cost
}

/// The expected seconds of `work` seconds of work.
pub fn expected(
    work: f64,
    interval: f64,
    checkpoint_seconds: f64,
    restart_seconds: f64,
    failure_seconds: f64,
) -> f64 {
    let mean = failure_seconds;
    let segment =
        mean * (restart_seconds / mean).exp() * ((interval + checkpoint_seconds) / mean).exp_m1();
    segment * work / interval
}

impl Failures {
    /// What to expect of `work_seconds` of work on so many nodes with checkpoints of so many bytes.
    pub fn expect(&self, work_seconds: f64, nodes: usize, checkpoint_bytes: u64) -> Expectation {
        let failure_seconds = self.node_seconds / nodes as f64;
        let checkpoint_seconds = checkpoint_bytes as f64 / self.checkpoint_bytes_per_second;
        let young_seconds = young(checkpoint_seconds, failure_seconds);
        let interval = daly(checkpoint_seconds, failure_seconds);
        // A run that is over before its first checkpoint is due has none but the last.
        let interval_seconds = interval.min(work_seconds);
        let seconds = if work_seconds > 0.0 {
            expected(
                work_seconds,
                interval_seconds,
                checkpoint_seconds,
                self.restart_seconds,
                failure_seconds,
            )
        } else {
            0.0
        };
        Expectation {
            failure_seconds,
            checkpoint_seconds,
            young_seconds,
            interval_seconds,
            seconds,
        }
    }
}
