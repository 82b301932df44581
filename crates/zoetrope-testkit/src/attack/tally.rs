//! Outcomes, counted by command and kind of input.

use std::collections::BTreeMap;
use std::fmt;

use crate::promise::Breach;

/// What became of a number of inputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    rows: BTreeMap<(String, String), Row>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    inputs: usize,
    codes: BTreeMap<i32, usize>,
    stopped: usize,
    breaches: BTreeMap<Breach, usize>,
    cpu_seconds: f64,
    memory_bytes: u64,
}

/// One input's outcome.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) command: &'static str,
    pub(super) kind: String,
    /// The exit code; none if it was asked to stop, or ended by a signal.
    pub(super) code: Option<i32>,
    pub(super) stopped: bool,
    pub(super) cpu_seconds: f64,
    pub(super) memory_bytes: u64,
    pub(super) breaches: Vec<Breach>,
}

impl Tally {
    /// Counts an outcome.
    pub(super) fn add(&mut self, seen: &Seen) {
        let row = self.rows.entry((seen.command.to_owned(), seen.kind.clone())).or_default();
        row.add(&Row {
            inputs: 1,
            codes: seen.code.into_iter().map(|code| (code, 1)).collect(),
            stopped: usize::from(seen.stopped),
            breaches: seen.breaches.iter().map(|&breach| (breach, 1)).collect(),
            cpu_seconds: seen.cpu_seconds,
            memory_bytes: seen.memory_bytes,
        });
    }

    /// Adds what others counted.
    pub(super) fn join(&mut self, other: Self) {
        for (key, row) in other.rows {
            self.rows.entry(key).or_default().add(&row);
        }
    }

    /// How many inputs broke a promise in this way.
    pub fn broken(&self, breach: Breach) -> usize {
        self.rows.values().filter_map(|row| row.breaches.get(&breach)).sum()
    }

    /// How many inputs there were.
    pub fn inputs(&self) -> usize {
        self.rows.values().map(|row| row.inputs).sum()
    }

    /// The sums over kinds (by command) or over commands (by kind).
    fn sums(&self, by_command: bool) -> BTreeMap<&str, Row> {
        let mut sums: BTreeMap<&str, Row> = BTreeMap::new();
        for ((command, kind), row) in &self.rows {
            sums.entry(if by_command { command } else { kind }).or_default().add(row);
        }
        sums
    }
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.stopped += other.stopped;
        other.codes.iter().for_each(|(&code, n)| *self.codes.entry(code).or_default() += n);
        other
            .breaches
            .iter()
            .for_each(|(&breach, n)| *self.breaches.entry(breach).or_default() += n);
        self.cpu_seconds = self.cpu_seconds.max(other.cpu_seconds);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
    }

    fn line(&self, name: &str) -> String {
        let code = |code| self.codes.get(&code).copied().unwrap_or_default();
        let breach = |breach| self.breaches.get(&breach).copied().unwrap_or_default();
        let other = [Breach::ExitCode, Breach::Raw, Breach::Document, Breach::Outside];
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {} |",
            self.inputs,
            code(0),
            code(2),
            code(3),
            code(4),
            self.stopped,
            breach(Breach::Panic),
            breach(Breach::Signal),
            breach(Breach::Hang),
            breach(Breach::Memory),
            other.into_iter().map(breach).sum::<usize>(),
            self.cpu_seconds,
            self.memory_bytes >> 20,
        )
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = "inputs | exit 0 | 2 | 3 | 4 | stopped | panics | signals | hangs | over memory | \
                    other | most CPU s | most MiB |";
        for (title, by_command) in [("command", true), ("input", false)] {
            writeln!(f, "| {title} | {head}")?;
            writeln!(f, "|{}", " --- |".repeat(14))?;
            let mut all = Row::default();
            for (name, row) in self.sums(by_command) {
                writeln!(f, "{}", row.line(name))?;
                all.add(&row);
            }
            writeln!(f, "{}\n", all.line("all"))?;
        }
        Ok(())
    }
}
