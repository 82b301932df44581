//! Attacks a program with mutated inputs: see `cargo xtask attack`.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use zoetrope_testkit::attack::Campaign;
use zoetrope_testkit::scratch::in_memory;

const USAGE: &str = "usage: attack --program FILE --keep FOLDER [--inputs N] [--first N] [--seed S] \
                     [--threads N]";

fn main() -> ExitCode {
    match attack() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("attack: {error}");
            ExitCode::from(2)
        }
    }
}

fn attack() -> Result<bool, String> {
    let (mut program, mut kept) = (None, None);
    let (mut inputs, mut first, mut seed, mut threads) = (2000, 0, 1, 2);
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(format!("{flag} needs a value\n{USAGE}"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{flag} {value}: {error}"));
        match flag.as_str() {
            "--program" => program = Some(PathBuf::from(&value)),
            "--keep" => kept = Some(PathBuf::from(&value)),
            "--inputs" => inputs = number()?,
            "--first" => first = number()?,
            "--seed" => seed = number()?,
            "--threads" => threads = number()? as usize,
            _ => return Err(format!("{flag} is not known\n{USAGE}")),
        }
    }
    let program = program.ok_or(USAGE)?;
    let scratch = in_memory().map_err(|error| error.to_string())?;
    let campaign = Campaign {
        program: program
            .canonicalize()
            .map_err(|error| format!("{}: {error}", program.display()))?,
        corpus: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks"),
        seed,
        inputs: first..first + inputs,
        threads,
        scratch: scratch.path().to_owned(),
        kept: kept.ok_or(USAGE)?,
    };
    let report = campaign.run()?;
    println!("{}", report.tally);
    for line in &report.broken {
        println!("broken: {line}");
    }
    let rate = report.tally.inputs() as f64 / report.seconds;
    println!(
        "{} inputs of seed {seed} in {:.0} s ({rate:.0} a second); {} broke a promise",
        report.tally.inputs(),
        report.seconds,
        report.broken.len()
    );
    if !report.broken.is_empty() {
        println!("they are kept in {}", campaign.kept.display());
    }
    Ok(report.broken.is_empty())
}
