//! The run folder: everything that a run leaves behind, and who may write there.
//!
//! Owns the files that the contract names (`config.toml`, `metrics.jsonl`, `summary.json`,
//! `data.json`, `vertices.json`, `classes.json`, `trace.json`, event files for TensorBoard), the lock that keeps a second
//! process out, and the measured time by phase. Files that are read as a whole are written whole or not at all; files
//! that grow are flushed line by line.
//!
//! It does not train, and it leaves `checkpoints/` to [`checkpoint`](crate::checkpoint).

mod anchor;
mod brief;
mod data_change;
mod files;
mod folder;
mod lock;
mod metrics;
mod number;
mod phase;
mod source;
mod state;
mod summary;
pub mod tensorboard;
mod timeline;
mod trace;
mod verdict;
mod vertices;

pub(crate) use anchor::anchored;
pub(crate) use brief::without_lists;
pub use data_change::DataChange;
pub(crate) use data_change::differences;
pub(crate) use files::{fresh, open as open_file, read, read_if_there, read_json};
pub use folder::RunFolder;
pub use metrics::{EpochRecord, MetricsLine, MetricsLog, read_metrics};
pub use phase::{Phase, Seconds};
pub use source::DataSource;
pub use state::Interrupted;
pub use summary::{
    Bytes, DataSummary, DeviceTransport, Metrics, Redundancy, SCHEMA, Streaming, Summary,
};
pub use timeline::{Span, TaskTrack, Timeline};
pub use trace::{TaskNote, TraceFile};
pub use verdict::Verdict;
pub use vertices::RunVertices;
