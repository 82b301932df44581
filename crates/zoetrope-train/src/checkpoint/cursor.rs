//! Where a run stands: everything of its state that is not a tensor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::exact;
use crate::run::EpochRecord;

/// Where a run stands.
///
/// Floats are kept by their bits, so that a continued run starts from exactly the same ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// Epochs that are finished.
    pub epoch: usize,
    /// Frames of the running epoch that are done.
    pub frame: usize,
    /// Updates of the weights since the start.
    pub step: u64,
    /// Integers by name: seeds and counters of random streams, steps of the optimiser, epochs that
    /// early stopping and schedules have waited.
    pub counters: BTreeMap<String, u64>,
    /// Numbers by name, all finite: the learning rate, the best metric so far, sums of the running
    /// epoch.
    #[serde(with = "exact::map")]
    pub numbers: BTreeMap<String, f64>,
    /// The finished epochs with their metrics.
    #[serde(with = "exact::epochs")]
    pub epochs: Vec<EpochRecord>,
}
