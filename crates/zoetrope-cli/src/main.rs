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
mod help;
mod input;
mod machine;
mod output;
mod progress;
mod reading;
mod report;
mod saved_model;
mod settings;
mod terminal;
mod training_progress;

use std::process::ExitCode;
use std::time::Instant;

/// Counts what is in use, so that `--memory-limit` holds and running out of memory is exit code 4.
#[global_allocator]
static ALLOCATOR: zoetrope_heap::Tracking = zoetrope_heap::Tracking;

fn main() -> ExitCode {
    let begun = Instant::now();
    // Without the handler a limit ends the process as it did before; nothing else depends on it.
    let _ = zoetrope_train::interrupt::file_size_limit_is_an_error();
    exit::guard(|| {
        let cli = args::parse()?;
        command::run(&cli.command, begun)
    })
}
