//! Which values of a tree were given, and which the data decided.
//!
//! A tree is the same tree wherever its values come from, so this is no part of equality and none
//! of the saved text beyond its comments.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use zoetrope_data::table::TableReading;

/// A value that nobody gave and that the data decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The key, `section.key`.
    pub key: String,
    /// What was chosen.
    pub value: String,
    /// Why.
    pub because: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} because {}", self.key, self.value, self.because)
    }
}

/// Where the values of a tree come from.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// The keys that a file, a variable or a flag set.
    pub(super) given: BTreeSet<String>,
    /// What the data decided, in the order of the decisions.
    pub(super) chosen: Vec<Choice>,
    /// How the table of the data was read, once it was opened: what pairs are read by, too.
    pub reading: Option<TableReading>,
}

impl PartialEq for Provenance {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
