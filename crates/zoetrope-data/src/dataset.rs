//! What a reader returns.

use std::path::PathBuf;

use zoetrope_graph::{EventStore, SnapshotSequence, Targets, VertexFeatures, VertexNames};

use crate::format::Format;
use crate::roles::ColumnNote;
use crate::table::TableReading;

/// A dynamic graph of either kind.
// One data set exists at a time and is passed by reference: boxing the larger variant would only
// add a pointer to every access.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq)]
pub enum Dataset {
    /// A stream of events.
    Events(EventStore),
    /// A sequence of snapshots.
    Snapshots(SnapshotDataset),
}

impl Dataset {
    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        match self {
            Self::Events(store) => store.vertices(),
            Self::Snapshots(data) => data.sequence.vertices(),
        }
    }
}

/// Snapshots with features and targets.
///
/// Data whose features are lags of a measured series (PyG-Temporal, traffic) carries the series
/// in `signal`, and `features` and `targets` are empty until lags are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotDataset {
    /// The topology.
    pub sequence: SnapshotSequence,
    /// The original identifiers of the vertices.
    pub names: VertexNames,
    /// Features as given.
    pub features: Option<VertexFeatures>,
    /// Targets as given.
    pub targets: Option<Targets>,
    /// A measured series from which lagged features and targets are made.
    pub signal: Option<Signal>,
}

/// A measured series and how the reference loader turns it into features and targets.
///
/// Sample `i` has the values of steps `i..i + lags` as features, the target of step `i + lags`,
/// and the topology of snapshot `i`; see [`crate::lagged`].
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// `steps × vertices × channels` as in the file; lags of these are the features. NaN if a
    /// value is missing.
    pub values: VertexFeatures,
    /// The series to predict (one channel) if it is not channel 0 of `values`.
    pub target: Option<VertexFeatures>,
    /// How many lags the reference loader takes.
    pub lags: usize,
    /// How the reference loader scales features and targets.
    pub standardise: Standardise,
    /// Classes of the values, if the features are one-hot columns of these instead of `values`.
    pub one_hot: Option<OneHot>,
    /// Whether the target is `ln(1 + target)`.
    pub log_target: bool,
    /// Whether the last sample repeats the last target (and so there is one sample more), rather
    /// than ending where targets end.
    pub repeat_last_target: bool,
}

impl Signal {
    /// A series whose features are its own lags, unscaled.
    pub fn new(values: VertexFeatures, lags: usize) -> Self {
        Self {
            values,
            target: None,
            lags,
            standardise: Standardise::No,
            one_hot: None,
            log_target: false,
            repeat_last_target: false,
        }
    }
}

/// How a series is scaled before lags are taken. Missing values count in no mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standardise {
    /// As it is.
    No,
    /// Each vertex and channel by its own mean and deviation over time:
    /// `(x - mean) / (deviation + epsilon)`, 0 if that divides by zero.
    ByVertex {
        /// Keeps the quotient finite if a series never changes.
        epsilon: f64,
    },
    /// Each channel by its mean and deviation over all vertices and steps.
    Overall,
}

/// Classes from which one-hot features are made: each column has its number of classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneHot {
    /// The number of classes of each column.
    pub sizes: Vec<u8>,
    /// `steps × vertices × columns` classes.
    pub classes: Vec<u8>,
}

/// What came through standard input or a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piped {
    /// The number of bytes.
    pub bytes: u64,
    /// Their SHA-256, as that of a file with the same bytes.
    pub sha256: [u8; 32],
}

/// What reading found out besides the data itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes {
    /// The format read.
    pub format: Format,
    /// Why that format: what detection saw.
    pub reason: String,
    /// The files read.
    pub files: Vec<PathBuf>,
    /// What came through standard input or a pipe, if the data did.
    pub piped: Option<Piped>,
    /// Whether events were in time order in the file.
    pub sorted: bool,
    /// Rows skipped as bad (lenient reading only).
    pub skipped_rows: u64,
    /// Missing or NaN values that were kept as 0 or NaN, as the warning says.
    pub missing_values: u64,
    /// What a user should know.
    pub warnings: Vec<String>,
    /// The columns of a table and what they were taken for; empty for other formats.
    pub columns: Vec<ColumnNote>,
    /// How a table was read, so that later ones can be read the same way; None for other formats.
    pub reading: Option<TableReading>,
}

impl Notes {
    /// Notes of an uneventful read.
    pub fn new(format: Format, reason: impl Into<String>) -> Self {
        Self {
            format,
            reason: reason.into(),
            files: Vec::new(),
            piped: None,
            sorted: true,
            skipped_rows: 0,
            missing_values: 0,
            warnings: Vec::new(),
            columns: Vec::new(),
            reading: None,
        }
    }

    /// What was counted and no warning tells yet: rows that were skipped and values that are missing.
    pub fn counted(&self) -> Vec<String> {
        let untold = |word: &str| !self.warnings.iter().any(|warning| warning.contains(word));
        let skipped = (self.skipped_rows > 0 && untold("skipped"))
            .then(|| format!("{} bad rows skipped", grouped(self.skipped_rows)));
        let missing = (self.missing_values > 0 && untold("missing"))
            .then(|| format!("{} missing values", grouped(self.missing_values)));
        skipped.into_iter().chain(missing).collect()
    }
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A data set and what reading it found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The data.
    pub dataset: Dataset,
    /// What reading found out.
    pub notes: Notes,
}
