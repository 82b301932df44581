//! Checks and chores of the repository: `cargo xtask COMMAND`.
//!
//! Depends on none of the project's crates, so that it still builds when they do not.
#![forbid(unsafe_code)]

mod campaigns;
mod ci;
mod datasets;
mod defaults;
mod hashes;
mod kernels;
mod limits;
mod ranks;
mod readme;
mod repository;
mod sanitize;
mod steps;
mod test_counts;
mod tidy;
mod validate;

use std::process::ExitCode;

use validate::Profile;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy       rules of the house that no compiler checks: crate arrows, file names, unsafe, lints,
             kernel twins, leftovers, the files that docs/walks.md names
  validate   fmt, tidy, dependencies (cargo deny), kernels, clippy, documentation, tests: cheapest first,
             stops at the first failure
  ci         what test.sh runs: validate, then the commands of README.md and docs/tour.md, and the data sets
  kernels    compiles every CUDA kernel for sm_75, sm_80 and sm_90 by NVRTC of CUDA 12 and 13; needs
             Python and the package index the first time, no GPU
  readme     runs the commands of README.md and docs/tour.md and compares what they print; --update
             writes what they print into the pages
  datasets   reads every data set of ../shared/data and compares the counts with its README;
             --release builds the binary with full optimisation
  attack     changes inputs of every format and every file of a run folder at random, runs the
             binary on each under limits of time and memory, and prints what became of them:
             [--inputs N] [--seed S] [--threads N] [--release | --program FILE]
  faults     kills, damages and disturbs real runs and compares their end with undisturbed ones:
             [--kills N] [--minutes M] [--seed S] [--release | --program FILE]
  defaults   trains on every data set of ../shared/data and every generator with nothing said but
             --data, and writes bench/results/defaults.md; names of rows run these alone
  hashes     trains a table of small configurations and keeps their state_hash, losses, metrics, bytes and
             predictions; compares them with those of another program or an earlier call:
             --program FILE [--out FILE] [--against FILE | --against-program FILE] [--reasons FILE]
             [--markdown FILE] [--list] [WORD …]
  ranks      trains every model by ranks in every way to share it, compares with one rank, and writes
             bench/results/equality.md: [--engine threads,processes,gpus] [--part I/N] [--again] [--ledger FILE];
             a run that was stopped goes on with the cells that this commit has not run yet
  sanitize   runs the tests of the crates with unsafe code under AddressSanitizer; words choose tests
  limits     trains every model under limits on memory that are drawn at random, and writes the peaks
             to bench/results/limits.md: [--seed S] [--program FILE] [MODEL …]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = repository::root();
    match words.as_slice() {
        ["tidy"] => exit(tidy::run(&root)),
        ["validate"] => exit(steps::run_all(validate::steps(&root))),
        ["ci"] => exit(ci::run(&root)),
        ["kernels"] => exit(kernels::run(&root)),
        ["readme"] => exit(readme::check(&root)),
        ["readme", "--update"] => exit(readme::update(&root)),
        ["datasets"] => exit(datasets::run(&root, Profile::Dev)),
        ["datasets", "--release"] => exit(datasets::run(&root, Profile::Release)),
        ["attack", flags @ ..] => exit(campaigns::attack(&root, flags)),
        ["faults", flags @ ..] => exit(campaigns::faults(&root, flags)),
        ["defaults", rows @ ..] => exit(defaults::run(&root, rows)),
        ["hashes", words @ ..] => exit(hashes::run(&root, words)),
        ["limits", flags @ ..] => exit(limits::run(&root, flags)),
        ["ranks", flags @ ..] => match ranks::run(&root, flags) {
            Some(passed) => exit(passed),
            None => usage(),
        },
        ["sanitize", words @ ..] => exit(sanitize::run(&root, words)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn exit(passed: bool) -> ExitCode {
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
