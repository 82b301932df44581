//! `summary.json`: what a run was and what came out of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zoetrope_config::Choice;

use super::data_change::DataChange;
use super::files;
use super::folder::SUMMARY;
use super::metrics::EpochRecord;
use super::number::{map_or_nan, maps_or_nan};
use super::phase::Seconds;
use super::scaling_summary::ScalingSummary;
use super::verdict::Verdict;
use crate::error::RunError;

/// The version of the summary's layout.
pub const SCHEMA: u32 = 1;

/// Metrics by name; NaN is `null` in the file.
pub type Metrics = BTreeMap<String, f64>;

/// What a run was and what came out of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The version of this layout, [`SCHEMA`].
    pub schema: u32,
    /// The version of Zoetrope.
    pub version: String,
    /// The model by name.
    pub model: String,
    /// The task by name.
    pub task: String,
    /// What the data decided of the configuration, because nobody gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<Choice>,
    /// Where it was computed.
    pub device: String,
    /// The vector units that the processor computed with, on which last bits depend.
    #[serde(default)]
    pub vector_level: String,
    /// How many processes shared the work.
    pub ranks: usize,
    /// The plan that was executed.
    pub plan: serde_json::Value,
    /// The data set.
    pub data: DataSummary,
    /// The changes of data that were accepted since the run began (`--accept-changed-data`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_changes: Vec<DataChange>,
    /// What a user should know about the data: rows that were skipped, files that were not read and the
    /// like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How it was evaluated: split, negatives, tie rule and the like.
    pub protocol: serde_json::Value,
    /// The epochs.
    pub epochs: Vec<EpochRecord>,
    /// The metrics on the test part.
    #[serde(deserialize_with = "map_or_nan")]
    pub test: Metrics,
    /// The metrics of the simple rules that the model is compared with, on the test part.
    #[serde(default, deserialize_with = "maps_or_nan")]
    pub baselines: BTreeMap<String, Metrics>,
    /// Whether the model beats the best of these rules, by the main metric of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The share of the batches' work that repeated other work of the same batch; for event models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redundancy: Option<Redundancy>,
    /// What was scaled by which numbers, and what was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ScalingSummary>,
    /// The hash of all state at the end.
    pub state_hash: String,
    /// Seconds from the start of the process to the first update of this run.
    #[serde(default)]
    pub first_step_seconds: f64,
    /// The most memory that was in use at a time.
    pub peak_host_bytes: u64,
    /// The most memory of the device that was in use at a time.
    pub peak_device_bytes: u64,
    /// Seconds by phase.
    pub seconds: Seconds,
    /// Bytes moved, by kind.
    pub bytes: Bytes,
    /// What copying the graph to a GPU frame by frame took, if that was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<Streaming>,
    /// What each rank had on its GPU and sent there, by rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceUse>,
    /// How ranks exchanged GPU data, if several ranks had GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_transport: Option<DeviceTransport>,
}

/// What a rank had on its GPU and sent there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// The most bytes that were in use at a time.
    pub peak_bytes: u64,
    /// Those that might be used.
    pub limit_bytes: u64,
    /// Bytes of snapshots and features that were sent piece by piece, in training.
    pub sent_bytes: u64,
    /// The same as the plan predicted it; not if blocks are kept, whose snapshots are sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_bytes: Option<u64>,
}

/// How what ranks had on GPUs went from one to the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTransport {
    /// `nccl`, from GPU to GPU, or `host`.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What copying the graph to a GPU frame by frame took, in training and evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Streaming {
    /// Bytes of matrices.
    pub bytes: u64,
    /// Seconds that they were on the bus, beside what the GPU computed.
    pub transfer_seconds: f64,
    /// Seconds in which the GPU made matrices out of differences.
    pub rebuild_seconds: f64,
}

impl Summary {
    /// Reads the summary of a run; None if the run has not come to its end.
    ///
    /// # Errors
    /// [`RunError::Io`] if it cannot be read, [`RunError::Damaged`] if it is something else.
    pub fn read(root: &Path) -> Result<Option<Self>, RunError> {
        files::read_json(&root.join(SUMMARY))
    }
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            model: String::new(),
            task: String::new(),
            chosen: Vec::new(),
            device: "cpu".into(),
            vector_level: String::new(),
            ranks: 1,
            plan: serde_json::Value::Object(serde_json::Map::new()),
            data: DataSummary::default(),
            data_changes: Vec::new(),
            warnings: Vec::new(),
            protocol: serde_json::Value::Object(serde_json::Map::new()),
            epochs: Vec::new(),
            test: Metrics::new(),
            baselines: BTreeMap::new(),
            verdict: None,
            redundancy: None,
            scaling: None,
            state_hash: String::new(),
            first_step_seconds: 0.0,
            peak_host_bytes: 0,
            peak_device_bytes: 0,
            seconds: Seconds::default(),
            bytes: Bytes::default(),
            streaming: None,
            devices: Vec::new(),
            device_transport: None,
        }
    }
}

/// The data set of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DataSummary {
    /// A short name.
    pub name: String,
    /// Vertices.
    pub vertices: u64,
    /// Events, or edges over all snapshots.
    pub events: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// Edges that a snapshot model sees over all of them, after smoothing; 0 for event models.
    #[serde(default)]
    pub edges: u64,
    /// Features of a vertex.
    pub features: u64,
    /// A hash of the content.
    pub sha256: String,
}

/// How many of the vertices that batches need are needed again (equation 1 of Sven), over all
/// training batches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Redundancy {
    /// Among the sampled vertices, whose memory is read: η₁.
    pub dispatch: f64,
    /// Among the ends of the batch's events, whose memory is written: η₂.
    pub aggregation: f64,
}

/// Bytes moved, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bytes {
    /// From the host to the device.
    pub host_to_device: u64,
    /// From the device to the host.
    pub device_to_host: u64,
    /// Between all ranks, each with each.
    pub all_to_all: u64,
    /// For sums over all ranks.
    pub all_reduce: u64,
    /// For gathering from all ranks.
    pub all_gather: u64,
    /// From one rank to another.
    pub point_to_point: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_fields_of_the_contract_in_its_order() {
        let text = serde_json::to_string(&Summary::default()).unwrap();
        let mut from = 0;
        for field in [
            "schema",
            "version",
            "model",
            "task",
            "device",
            "ranks",
            "plan",
            "data",
            "name",
            "vertices",
            "events",
            "snapshots",
            "edges",
            "features",
            "sha256",
            "protocol",
            "epochs",
            "test",
            "baselines",
            "state_hash",
            "first_step_seconds",
            "peak_host_bytes",
            "peak_device_bytes",
            "seconds",
            "load",
            "plan",
            "transfer",
            "forward",
            "backward",
            "communicate",
            "update",
            "evaluate",
            "bytes",
            "host_to_device",
            "device_to_host",
            "all_to_all",
            "all_reduce",
            "all_gather",
            "point_to_point",
        ] {
            let found = text[from..].find(&format!("\"{field}\":"));
            from += found.unwrap_or_else(|| panic!("{field} is not where it belongs in {text}"));
        }
    }

    #[test]
    fn a_summary_reads_back_with_its_undefined_metrics() {
        let mut summary = Summary::default();
        summary.test.insert("auc".into(), f64::NAN);
        summary.test.insert("mse".into(), 0.1);
        summary.baselines.insert("persistence".into(), [("mse".into(), f64::NAN)].into());
        let text = serde_json::to_string(&summary).unwrap();
        let back: Summary = serde_json::from_str(&text).unwrap();
        assert!(back.test["auc"].is_nan() && back.baselines["persistence"]["mse"].is_nan());
        assert_eq!(back.test["mse"], 0.1);
    }
}
