//! What was tried and what held.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// One way to disturb a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// How often it was tried.
    pub tried: usize,
    /// How often everything was as promised.
    pub held: usize,
    /// The longest that anything took, in seconds, and what that is.
    pub worst_seconds: f64,
}

/// Rows by kind, in the order in which they were first tried.
#[derive(Debug, Clone)]
pub struct Table {
    order: Vec<String>,
    rows: BTreeMap<String, Row>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// What broke a promise.
    pub broken: Vec<String>,
    end: Option<Instant>,
}

impl Table {
    pub(super) fn new(begun: Instant, limit: Option<Duration>) -> Self {
        let end = limit.map(|limit| begun + limit);
        Self { order: vec![], rows: BTreeMap::new(), left_out: vec![], broken: vec![], end }
    }

    /// Whether there is time for more.
    pub(super) fn has_time(&self) -> bool {
        self.end.is_none_or(|end| Instant::now() < end)
    }

    /// Notes an attempt: the seconds that count for it, or how it broke its promise.
    pub(super) fn note(&mut self, kind: &str, outcome: Result<f64, String>) {
        if !self.rows.contains_key(kind) {
            self.order.push(kind.to_owned());
        }
        let row = self.rows.entry(kind.to_owned()).or_default();
        row.tried += 1;
        match outcome {
            Ok(seconds) => {
                row.held += 1;
                row.worst_seconds = row.worst_seconds.max(seconds);
            }
            Err(how) => self.broken.push(format!("{kind}: {how}")),
        }
    }

    /// Notes what cannot be tried here.
    pub(super) fn leave_out(&mut self, kind: &str, why: &str) {
        self.left_out.push(format!("{kind}: {why}"));
    }

    /// Whether everything that was tried was as promised.
    pub fn holds(&self) -> bool {
        self.broken.is_empty()
    }

    /// The row of a kind.
    pub fn row(&self, kind: &str) -> Option<&Row> {
        self.rows.get(kind)
    }

    /// The sum of the rows whose kind begins so.
    pub fn tried(&self, prefix: &str) -> usize {
        let rows = self.rows.iter().filter(|(kind, _)| kind.starts_with(prefix));
        rows.map(|(_, row)| row.tried).sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| kind | tried | as promised | worst seconds |")?;
        writeln!(f, "| --- | --- | --- | --- |")?;
        for kind in &self.order {
            let Row { tried, held, worst_seconds } = &self.rows[kind];
            writeln!(f, "| {kind} | {tried} | {held} | {worst_seconds:.2} |")?;
        }
        for left_out in &self.left_out {
            writeln!(f, "left out: {left_out}")?;
        }
        for broken in &self.broken {
            writeln!(f, "broken: {broken}")?;
        }
        Ok(())
    }
}
