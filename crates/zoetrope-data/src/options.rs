//! How to read: what the user may say about a file, and the limits that protect the machine.

use zoetrope_graph::TimeUnit;

use crate::format::Format;
use crate::table::TableReading;

/// A column by name (needs a header) or by position from 0, or none at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRef {
    /// No column has this role (time, weight and label alone).
    Absent,
    /// By name in the header.
    Name(String),
    /// By position from 0.
    Position(usize),
}

/// Which column holds what; `None` leaves the choice to detection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnMap {
    /// The source vertex.
    pub src: Option<ColumnRef>,
    /// The destination vertex.
    pub dst: Option<ColumnRef>,
    /// The time.
    pub time: Option<ColumnRef>,
    /// The weight.
    pub weight: Option<ColumnRef>,
    /// The label.
    pub label: Option<ColumnRef>,
    /// Add or remove.
    pub kind: Option<ColumnRef>,
    /// The features, in this order; `Some(vec![])` takes none.
    pub features: Option<Vec<ColumnRef>>,
}

impl ColumnMap {
    /// The flags that say what this map says.
    pub fn flags(&self) -> Vec<&'static str> {
        let flag = |column: &Option<ColumnRef>, yes, no| match column {
            None => None,
            Some(ColumnRef::Absent) => Some(no),
            Some(_) => Some(yes),
        };
        let features = self.features.as_ref();
        let features = features.map(|list| if list.is_empty() { NO_FEATURES } else { "--feature" });
        [
            flag(&self.src, "--src", "--src"),
            flag(&self.dst, "--dst", "--dst"),
            flag(&self.time, "--time", "--no-time"),
            flag(&self.weight, "--weight", "--no-weight"),
            flag(&self.label, "--label", "--no-label"),
            flag(&self.kind, "--kind", "--kind"),
            features,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The flag that leaves features out, which every format of events can do.
pub const NO_FEATURES: &str = "--no-features";

/// Limits that keep a hostile file from exhausting the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest line or JSON string taken, in bytes.
    pub line_bytes: usize,
    /// The most columns a row may have.
    pub columns: usize,
    /// Compressed content may grow by this factor …
    pub expansion: u64,
    /// … once it has passed this many bytes.
    pub expansion_floor_bytes: u64,
    /// The most files in a folder or members in an archive.
    pub members: usize,
    /// The most bytes taken from standard input or a pipe, which go to the temporary folder.
    pub piped_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes: 16 << 20,
            columns: 65_536,
            expansion: 100,
            expansion_floor_bytes: 8 << 20,
            members: 1 << 20,
            piped_bytes: 64 << 30,
        }
    }
}

/// Everything the user may say about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; detected if absent.
    pub format: Option<Format>,
    /// The columns of tabular formats.
    pub columns: ColumnMap,
    /// The field separator; detected if absent. `b' '` means any run of blanks.
    pub delimiter: Option<u8>,
    /// Whether the first row names the columns; detected if absent.
    pub header: Option<bool>,
    /// The unit of integer times; guessed from their magnitude if absent.
    pub time_unit: Option<TimeUnit>,
    /// Whether source and destination number their vertices separately; the format decides if
    /// absent.
    pub bipartite: Option<bool>,
    /// Whether identifiers are text; if absent, they are unless the first rows have integers.
    pub text_ids: Option<bool>,
    /// How an earlier table was read: what the user did not say is read as there, if the table has
    /// its columns.
    pub usual: Option<Box<TableReading>>,
    /// Skip and count bad rows instead of failing.
    pub lenient: bool,
    /// How many problems to collect before giving up on a file.
    pub max_problems: usize,
    /// Protection.
    pub limits: Limits,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            columns: ColumnMap::default(),
            delimiter: None,
            header: None,
            time_unit: None,
            bipartite: None,
            text_ids: None,
            usual: None,
            lenient: false,
            max_problems: 20,
            limits: Limits::default(),
        }
    }
}
