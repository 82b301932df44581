//! What became of cells: a line of JSON for each in a file, which `cargo xtask ranks` makes a table of.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Case;

/// What became of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// It was compared with one rank.
    Compared {
        /// Whether differences are those of rounding.
        near: bool,
        /// The largest difference of a loss, relative to that of one rank.
        loss: f64,
        /// The largest difference of a weight, relative to the largest; None if weights are not compared.
        weight: Option<f64>,
        /// Seconds that the ranks took.
        seconds: f64,
    },
    /// It was refused, as it has to be, with this reason.
    Refused(String),
    /// It ended otherwise than it should.
    Failed(String),
}

impl Verdict {
    /// Whether the cell is as it should be.
    pub(crate) fn is_right(&self) -> bool {
        matches!(self, Self::Compared { near: true, .. } | Self::Refused(_))
    }
}

/// The file, and the cells that it has.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    known: HashSet<String>,
}

impl Ledger {
    /// Reads what is there already. A line that is not whole, because whoever wrote it was killed, counts for nothing.
    pub(crate) fn open(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let of_line = |line| Some(serde_json::from_str::<Value>(line).ok()?["cell"].to_string());
        Self { path: path.to_owned(), known: text.lines().filter_map(of_line).collect() }
    }

    /// Whether the cell is there.
    pub(crate) fn has(&self, case: &Case) -> bool {
        self.known.contains(&cell(case).to_string())
    }

    /// Adds a cell.
    pub(crate) fn add(&mut self, case: &Case, verdict: &Verdict) {
        let cell = cell(case);
        self.known.insert(cell.to_string());
        let mut line = json!({ "cell": cell, "right": verdict.is_right() });
        match verdict {
            Verdict::Compared { loss, weight, seconds, .. } => {
                (line["loss"], line["weight"]) = (json!(loss), json!(weight));
                line["seconds"] = json!(seconds);
            }
            Verdict::Refused(reason) => line["refused"] = json!(reason),
            Verdict::Failed(reason) => line["failed"] = json!(reason),
        }
        let mut file = OpenOptions::new().append(true).create(true).open(&self.path).unwrap();
        // After a line that is not whole a new one has to begin.
        writeln!(file, "\n{line}").unwrap();
    }
}

fn cell(case: &Case) -> Value {
    let value = |text: &'static str| {
        let first = text.split_whitespace().next().unwrap_or_default();
        first.split_once('=').map_or(first, |(_, value)| value)
    };
    json!({
        "engine": case.engine.name(),
        "model": case.model.replace("model.", "").replace("data.", ""),
        "strategy": case.strategy,
        "ranks": case.size,
        "blocks": case.blocks,
        "task": value(case.task),
        "optimiser": value(case.optimiser),
    })
}
