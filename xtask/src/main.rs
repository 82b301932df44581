//! Checks and chores of the repository: `cargo xtask COMMAND`.
//!
//! Depends on none of the project's crates, so that it still builds when they do not.
#![forbid(unsafe_code)]

mod datasets;
mod repository;
mod steps;
mod tidy;
mod validate;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy       rules of the house that no compiler checks: crate arrows, file names, unsafe, lints,
             kernel twins, leftovers
  validate   fmt, tidy, clippy, documentation, tests: cheapest first, stops at the first failure
  datasets   reads every data set of ../shared/data and compares the counts with its README";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = repository::root();
    match words.as_slice() {
        ["tidy"] => exit(tidy::run(&root)),
        ["validate"] => exit(steps::run_all(validate::steps(&root))),
        ["datasets"] => exit(datasets::run(&root)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn exit(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
