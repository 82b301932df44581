//! The commands, one file each: flags, what they call, what they print.

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
pub(crate) mod train;

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
        Command::Checkpoint(command) => checkpoint::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Applies what holds for the whole run.
fn prepare(running: &Running) -> Result<(), Failure> {
    let Some(threads) = running.threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .build_global()
        .map_err(|error| Failure::resource(format!("cannot start {threads} threads: {error}")))
}

/// One JSON document with a line end.
fn document(value: &impl Serialize) -> Result<String, Failure> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::resource(format!("the report cannot be serialised: {error}"))),
    }
}
