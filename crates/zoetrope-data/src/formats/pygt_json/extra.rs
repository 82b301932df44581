//! What Zoetrope adds to a file so that reading it gives back exactly what was written.
//!
//! It stands under the key `zoetrope`, which PyG-Temporal's loaders do not look at.

use serde::{Deserialize, Serialize};
use zoetrope_graph::{NameTable, TextTable, VertexNames};

use crate::dataset::{OneHot, Signal, Standardise};

/// Facts that PyG-Temporal's layouts have no place for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Extra {
    /// The number of vertices.
    pub(super) vertices: u32,
    /// Whether edges have weights; layouts that need some hold ones if not.
    pub(super) weighted: bool,
    /// The window boundaries.
    pub(super) boundaries: Option<Vec<i64>>,
    /// The number of classes, if targets are classes.
    pub(super) classes: Option<u32>,
    /// How to make features and targets of the values; they are used as they are if absent.
    pub(super) series: Option<Series>,
    /// Names of the vertices of bipartite data, one table a side.
    pub(super) sides: Option<[Side; 2]>,
}

/// The recipe of a [`Signal`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Series {
    pub(super) lags: usize,
    /// `no`, `by-vertex` or `overall`.
    pub(super) standardise: Scaling,
    pub(super) epsilon: f64,
    pub(super) log_target: bool,
    pub(super) repeat_last_target: bool,
    pub(super) one_hot_sizes: Vec<u8>,
    pub(super) one_hot_classes: Vec<u8>,
}

/// The name of a [`Standardise`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scaling {
    #[default]
    No,
    ByVertex,
    Overall,
}

impl Series {
    pub(super) fn of(signal: &Signal) -> Self {
        let (standardise, epsilon) = match signal.standardise {
            Standardise::No => (Scaling::No, 0.0),
            Standardise::ByVertex { epsilon } => (Scaling::ByVertex, epsilon),
            Standardise::Overall => (Scaling::Overall, 0.0),
        };
        let one_hot = signal.one_hot.clone();
        let (one_hot_sizes, one_hot_classes) =
            one_hot.map(|one_hot| (one_hot.sizes, one_hot.classes)).unwrap_or_default();
        Self {
            lags: signal.lags,
            standardise,
            epsilon,
            log_target: signal.log_target,
            repeat_last_target: signal.repeat_last_target,
            one_hot_sizes,
            one_hot_classes,
        }
    }

    pub(super) fn apply_to(self, signal: &mut Signal) {
        signal.lags = self.lags;
        signal.standardise = match self.standardise {
            Scaling::No => Standardise::No,
            Scaling::ByVertex => Standardise::ByVertex { epsilon: self.epsilon },
            Scaling::Overall => Standardise::Overall,
        };
        signal.log_target = self.log_target;
        signal.repeat_last_target = self.repeat_last_target;
        signal.one_hot = (!self.one_hot_sizes.is_empty())
            .then_some(OneHot { sizes: self.one_hot_sizes, classes: self.one_hot_classes });
    }
}

/// The names of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Side {
    Count(u32),
    Integers(Vec<i64>),
    Text(Vec<String>),
}

impl Side {
    fn of(table: &NameTable) -> Self {
        match table {
            NameTable::Identity(count) => Self::Count(*count),
            NameTable::Integers(names) => Self::Integers(names.clone()),
            NameTable::Text(names) => {
                Self::Text(names.iter().map(|name| String::from_utf8_lossy(name).into()).collect())
            }
        }
    }

    fn into_table(self) -> NameTable {
        match self {
            Self::Count(count) => NameTable::Identity(count),
            Self::Integers(names) => NameTable::Integers(names),
            Self::Text(names) => NameTable::Text(names.iter().collect::<TextTable>()),
        }
    }
}

/// The sides of bipartite names.
pub(super) fn sides_of(names: &VertexNames) -> Option<[Side; 2]> {
    names.second.as_ref().map(|second| [Side::of(&names.first), Side::of(second)])
}

/// Bipartite names from their sides.
pub(super) fn names_of([first, second]: [Side; 2]) -> VertexNames {
    VertexNames { first: first.into_table(), second: Some(second.into_table()) }
}
