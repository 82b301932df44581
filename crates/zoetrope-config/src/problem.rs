//! What can be wrong with a configuration, and which layer said so.

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A line of a file.
    File {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// The command line.
    Flag {
        /// The flag with its dashes.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => write!(f, "environment variable {variable}"),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// One thing wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// The file cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file cannot be parsed.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser met.
        reason: String,
    },
    /// `--set` without `section.key=value`.
    #[error("{origin} {got}: expected section.key=value, for example train.lr=0.01")]
    NotASetting {
        /// The flag.
        origin: Origin,
        /// What was given.
        got: String,
    },
    /// There is no such section.
    #[error("{origin}: unknown section `{got}`{}; there are {}", meant(nearest), crate::Config::SECTIONS.join(", "))]
    UnknownSection {
        /// Where it was given.
        origin: Origin,
        /// What was given.
        got: String,
        /// The section or key that was probably meant.
        nearest: Option<String>,
    },
    /// The section has no such key.
    #[error("{origin}: unknown key `{key}`{}", meant(nearest))]
    UnknownKey {
        /// Where it was given.
        origin: Origin,
        /// `section.key` as given.
        key: String,
        /// The `section.key` that was probably meant.
        nearest: Option<String>,
    },
    /// The value is of a wrong type or out of range.
    #[error("{origin}: {key}: expected {expected}, got {got}{}", meant(nearest))]
    BadValue {
        /// Where it was given.
        origin: Origin,
        /// `section.key`.
        key: String,
        /// What it takes.
        expected: String,
        /// What was given.
        got: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// A key of another program's configuration for which there is nothing here.
    #[error("{origin}: {key}: {reason}")]
    Untranslatable {
        /// Where it was given.
        origin: Origin,
        /// The key with its value.
        key: String,
        /// Why it cannot be taken over.
        reason: String,
    },
    /// A value that a run cannot change when it continues.
    #[error(
        "{}: the run has {key} = {was} and cannot go on with {now}; leave it out, or start a new run. What may differ with --resume: {}",
        shown(origin, key),
        super::resumed::allowed()
    )]
    Fixed {
        /// Where it was given.
        origin: Origin,
        /// `section.key`.
        key: String,
        /// The value of the run.
        was: String,
        /// The value that was given.
        now: String,
    },
    /// Values that contradict each other.
    #[error("{keys}: {reason}; {advice}")]
    Conflict {
        /// The keys with their values.
        keys: String,
        /// Why they do not go together.
        reason: String,
        /// What to change.
        advice: String,
    },
}

/// An origin with the key that it sets, if its name does not say so.
fn shown(origin: &Origin, key: &str) -> String {
    match origin {
        Origin::Flag { flag } if flag == "--set" => format!("--set {key}"),
        origin => origin.to_string(),
    }
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}
