//! The `zoetrope` command: flags in, reports out.
//!
//! This binary owns the command line, the pictures in the terminal, progress bars and exit codes.
//! It computes nothing about graphs itself. Standard output carries the report and nothing else;
//! with `--json` it is exactly one JSON document, also when the command fails.
#![forbid(unsafe_code)]

mod answer_file;
mod args;
mod command;
mod exit;
mod input;
mod machine;
mod output;
mod progress;
mod progress_of_training;
mod reading;
mod report;
mod saved_model;
mod settings;
mod terminal;

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let begun = Instant::now();
    exit::guard(|| {
        let cli = args::parse()?;
        command::run(&cli.command, begun)
    })
}
