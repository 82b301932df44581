//! The formats by name.

use std::fmt;
use std::str::FromStr;

use crate::error::DataError;

/// A file format that Zoetrope reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// PyG-Temporal JSON.
    PygtJson,
    /// JODIE: `user_id,item_id,timestamp,state_label,f1,f2,…`.
    JodieCsv,
    /// TGN and DyGLib: `ml_X.csv`, `ml_X.npy`, `ml_X_node.npy`.
    MlTriple,
    /// A TGL folder: `edges.csv`, features, labels.
    Tgl,
    /// One event a line.
    EdgeList,
    /// Apache Parquet, one event a row.
    Parquet,
    /// NumPy archive of snapshots.
    Npz,
    /// One edge-list file per snapshot, in a folder or tar archive.
    SnapshotFolder,
    /// A dense adjacency matrix and a table of values, both csv.
    Traffic,
    /// Zoetrope's own memory-mappable event store.
    Store,
    /// Made by a generator (`synthetic:NAME?…`), not read; no file has this format, so it is not
    /// among [`ALL`](Self::ALL).
    Synthetic,
}

impl Format {
    /// All formats that a file can have.
    pub const ALL: [Self; 10] = [
        Self::PygtJson,
        Self::JodieCsv,
        Self::MlTriple,
        Self::Tgl,
        Self::EdgeList,
        Self::Parquet,
        Self::Npz,
        Self::SnapshotFolder,
        Self::Traffic,
        Self::Store,
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::PygtJson => "pygt-json",
            Self::JodieCsv => "jodie-csv",
            Self::MlTriple => "ml-triple",
            Self::Tgl => "tgl",
            Self::EdgeList => "edge-list",
            Self::Parquet => "parquet",
            Self::Npz => "npz",
            Self::SnapshotFolder => "snapshot-folder",
            Self::Traffic => "traffic",
            Self::Store => "store",
            Self::Synthetic => "synthetic",
        }
    }

    /// All names, for messages.
    pub fn list() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = DataError;

    fn from_str(name: &str) -> Result<Self, DataError> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            DataError::BadParameter {
                parameter: "format".into(),
                value: name.into(),
                expected: format!("one of {}", Self::list()),
            }
        })
    }
}
