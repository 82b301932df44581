//! The columns of a table of computed numbers.

use zoetrope_graph::{Time, TimeScale};

/// A column with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The name, as the header has it.
    pub name: String,
    /// The values by row.
    pub values: Values,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values }
    }
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Texts, each stored once: the identifiers of vertices, the names of classes.
    Names {
        /// The texts.
        names: Vec<String>,
        /// Which of them stands in each row; [`Values::NO_NAME`] if none does.
        rows: Vec<u32>,
    },
    /// Whole numbers: snapshots, times in the data's own ticks.
    Whole(Vec<i64>),
    /// Exact decimal numbers, times as in the data: 1500 ticks of 3 digits are 1.5. In Parquet a double.
    Decimals {
        /// The ticks.
        ticks: Vec<Time>,
        /// How many digits of a tick stand behind the point.
        digits: u8,
    },
    /// Dates, for times that count from 1970: ISO 8601 in UTC as text, a timestamp in Parquet.
    Dates {
        /// The times.
        ticks: Vec<Time>,
        /// What a tick is.
        scale: TimeScale,
    },
    /// Computed numbers; NaN is an empty field as text.
    Numbers(Vec<f32>),
}

impl Values {
    /// Stands for a text that is not known: an empty field as text, null in Parquet.
    pub const NO_NAME: u32 = u32::MAX;

    /// Whether texts of some rows are not known.
    pub(super) fn lacks_names(&self) -> bool {
        matches!(self, Self::Names { rows, .. } if rows.contains(&Self::NO_NAME))
    }

    /// Texts by their place among `names`.
    pub fn names(names: Vec<String>, rows: Vec<u32>) -> Self {
        Self::Names { names, rows }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Names { rows, .. } => rows.len(),
            Self::Whole(values) => values.len(),
            Self::Dates { ticks, .. } | Self::Decimals { ticks, .. } => ticks.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
