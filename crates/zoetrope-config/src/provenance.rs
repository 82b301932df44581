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
    /// The keys that the run which is continued or used was told, and this call was not.
    pub(super) of_run: BTreeSet<String>,
    /// What the data decided, in the order of the decisions.
    pub(super) chosen: Vec<Choice>,
    /// How the table of the data was read, once it was opened: what pairs are read by, too.
    pub reading: Option<TableReading>,
}

impl Provenance {
    /// Notes that a layer set a key: what a run was told, or this call.
    pub(super) fn note(&mut self, key: Option<String>, of_run: bool) {
        let Some(key) = key else { return };
        if of_run {
            self.of_run.insert(key.clone());
        } else {
            self.of_run.remove(&key);
        }
        self.given.insert(key);
    }
}

impl PartialEq for Provenance {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
