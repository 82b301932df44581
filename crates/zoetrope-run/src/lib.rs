//! The run folder: everything that a run leaves behind, and who may write there.
//!
//! Owns the files that the contract names (`config.toml`, `metrics.jsonl`, `summary.json`,
//! `data.json`, `vertices.json`, `classes.json`, `trace.json`, event files for TensorBoard), the
//! [checkpoints](checkpoint), the lock that keeps a second process out, and the measured time by phase. Files that are
//! read as a whole are written whole or not at all; files that grow are flushed line by line.
//!
//! It does not train and knows no trainer: whoever looks at runs needs nothing else.
//!
//! ```
//! use zoetrope_config::Config;
//! use zoetrope_run::{EpochRecord, MetricsLine, MetricsLog, RunFolder, read_metrics};
//!
//! let base = tempfile::tempdir().unwrap();
//! let folder = RunFolder::create(&base.path().join("run"))?;
//! folder.write_config(&Config::default())?;
//! let record = EpochRecord { epoch: 1, seconds: 0.5, loss: 0.25, val: Default::default() };
//! MetricsLog::create(&folder.metrics_path())?.push(&MetricsLine { record, lr: 0.01 })?;
//!
//! // A second process is told who is at it; whoever only reads is not kept out.
//! assert_eq!(RunFolder::open(folder.root()).unwrap_err().kind().exit_code(), 4);
//! assert_eq!(RunFolder::read_config(folder.root())?, Config::default());
//! assert_eq!(read_metrics(&folder.metrics_path())?[0].record.loss, 0.25);
//! # Ok::<(), zoetrope_run::RunError>(())
//! ```
#![forbid(unsafe_code)]

mod anchor;
mod brief;
pub mod checkpoint;
mod data_change;
pub mod digest;
mod error;
mod failure;
pub mod fault;
mod files;
mod folder;
mod lock;
mod metrics;
mod number;
mod phase;
mod scaling_summary;
mod shell;
mod source;
mod state;
mod summary;
pub mod tensorboard;
mod timeline;
mod trace;
mod verdict;
mod vertices;

pub use brief::without_lists;
pub use data_change::{DataChange, differences};
pub use error::RunError;
pub use failure::FailureKind;
pub use files::{read_if_there, read_json};
pub use folder::RunFolder;
pub use metrics::{EpochRecord, MetricsLine, MetricsLog, read_metrics};
pub use phase::{Phase, Seconds};
pub use scaling_summary::{ColumnCounts, ScalingSummary, SeriesSummary};
pub use shell::shell_word;
pub use source::DataSource;
pub use state::Interrupted;
pub use summary::{
    Bytes, DataSummary, DeviceTransport, DeviceUse, Metrics, Redundancy, SCHEMA, Streaming, Summary,
};
pub use timeline::{Span, TaskTrack, Timeline};
pub use trace::{TaskNote, TraceFile};
pub use verdict::Verdict;
pub use vertices::RunVertices;
