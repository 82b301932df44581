//! The commands, one file each: flags, what they call, what they print.

pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod checkpoint;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod doctor;
pub(crate) mod embed;
pub(crate) mod eval;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod negatives;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod sim;
pub(crate) mod simulation;
pub(crate) mod train;

use std::num::NonZero;
use std::time::Instant;

use serde::Serialize;

use crate::args::{Command, DataCommand, Running};
use crate::exit::Failure;

/// Runs a command, in a process that started at `begun`, and returns what belongs on standard
/// output.
pub(crate) fn run(command: &Command, begun: Instant) -> Result<String, Failure> {
    match command {
        Command::Data(command) => match command.as_ref() {
            DataCommand::Inspect(args) => inspect::run(args),
            DataCommand::Convert(args) => convert::run(args),
            DataCommand::Generate(args) => generate::run(args),
            DataCommand::Negatives(args) => negatives::run(args),
        },
        Command::Train(args) => train::run(args, begun),
        Command::Eval(args) => eval::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Embed(args) => embed::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Bench(command) => bench::run(command),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Checkpoint(command) => checkpoint::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Applies what holds for the whole run.
fn prepare(running: &Running) -> Result<(), Failure> {
    start_threads(running.threads.map(NonZero::get))
}

/// Starts the threads that compute, as many as asked for or as there are cores: at once, because if
/// a machine has none left, the first parallel loop would panic.
pub(crate) fn start_threads(wanted: Option<usize>) -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new().num_threads(wanted.unwrap_or(0)).build_global().map_err(
        |error| {
            let count = wanted.map_or("the".to_owned(), |wanted| wanted.to_string());
            Failure::resource(format!("cannot start {count} threads that compute: {error}"))
                .hint("choose fewer with --threads, or allow the process more memory (ulimit -v)")
        },
    )
}

/// JSON allows some control characters in strings as they are (DEL and those from 128 to 159), which a
/// terminal would obey: they are written as numbers. Outside of strings a document has none but line ends.
fn escape_controls(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_control() && letter != '\n' {
            text.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            text.push(letter);
        }
    }
    text
}

/// One JSON document with a line end.
fn document(value: &impl Serialize) -> Result<String, Failure> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(escape_controls(&text) + "\n"),
        Err(error) => Err(Failure::resource(format!("the report cannot be serialised: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_no_control_characters_and_reads_back_equal() {
        let value = serde_json::json!({"name": "a\u{7f}b\u{9b}c\u{1b}d\n"});
        let text = document(&value).unwrap();
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
