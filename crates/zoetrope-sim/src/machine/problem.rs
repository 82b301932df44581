//! What can be wrong with a machine file.

use std::fmt;

/// One thing wrong with a machine file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineProblem {
    /// It cannot be parsed.
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser met.
        reason: String,
    },
    /// There is no such key.
    #[error("{file}:{line}: unknown key `{key}`{}", meant(nearest))]
    UnknownKey {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key with its sections.
        key: String,
        /// The key that was probably meant.
        nearest: Option<String>,
    },
    /// A value is of a wrong type, without its unit, or out of range.
    #[error("{file}:{line}: {key}: expected {expected}, got {got}")]
    BadValue {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key with its sections.
        key: String,
        /// What it takes.
        expected: String,
        /// What was given.
        got: String,
    },
    /// A key that has to be there is not.
    #[error("{file}: {key} is missing: {expected}")]
    Missing {
        /// The file.
        file: String,
        /// The key with its sections.
        key: String,
        /// What it takes.
        expected: String,
    },
}

/// Why there is no machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The file is wrong at one or several places.
    #[error("{}", lines(problems))]
    Wrong {
        /// All problems found, in the order of the file.
        problems: Vec<MachineProblem>,
    },
    /// No machine of this name is built in.
    #[error("no machine is called `{name}`{}; there are {}", meant(nearest), known.join(", "))]
    UnknownName {
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// The names that there are.
        known: Vec<String>,
    },
}

fn lines(problems: &[impl fmt::Display]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}
