//! What is asked and what is answered; the Python twin knows the same fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One kernel at one size; fields that a kernel does not need are left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) kernel: String,
    /// `d4` or `d5`.
    pub(crate) graph: String,
    pub(crate) snapshots: usize,
    pub(crate) vertices: usize,
    pub(crate) steps: usize,
    pub(crate) width: usize,
    pub(crate) heads: usize,
    /// Forward or backward; the backward pass of a sparse product is the transposed one.
    pub(crate) backward: bool,
    /// How long to measure.
    pub(crate) seconds: f64,
}

/// The seconds of each run, what the work moves and computes, and some results.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answer {
    pub(crate) seconds: Vec<f64>,
    /// Seconds of each run of what bounds the kernel, by name.
    pub(crate) parts: BTreeMap<String, Vec<f64>>,
    /// Bytes loaded and stored, gathered rows counted each time.
    pub(crate) bytes: usize,
    /// Multiply-adds times two.
    pub(crate) flops: usize,
    /// Results at evenly spaced places, for comparison with the twin.
    pub(crate) sample: Vec<f32>,
    /// Rates of the machine, bytes or operations a second, by name.
    pub(crate) rates: BTreeMap<String, f64>,
}

/// Sixty-four results, evenly spaced.
pub(crate) fn sample(results: &[f32]) -> Vec<f32> {
    let step = (results.len() / 64).max(1);
    results.iter().step_by(step).take(64).copied().collect()
}

/// Length after which [`numbers`] repeat.
const PERIOD: usize = 1_000_003;

/// Numbers in [-1, 1) that the Python twin makes as well.
pub(crate) fn numbers(seed: u32, len: usize) -> Vec<f32> {
    let number = |i: u32| {
        let mut hash = i.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(97_531));
        hash = (hash ^ (hash >> 15)).wrapping_mul(2_246_822_519);
        hash ^= hash >> 13;
        (f64::from(hash) / 2_147_483_648.0 - 1.0) as f32
    };
    let pattern: Vec<f32> = (0..len.min(PERIOD) as u32).map(number).collect();
    pattern.iter().cycle().take(len).copied().collect()
}
