//! Attacks a program with mutated inputs: see `cargo xtask attack`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use zoetrope_testkit::attack::Campaign;
use zoetrope_testkit::flags;
use zoetrope_testkit::scratch::in_memory;

const USAGE: &str = "usage: attack --program FILE --keep FOLDER [--inputs N] [--first N] [--seed S] \
                     [--threads N] [--commit NAME]";

fn main() -> ExitCode {
    flags::exit("attack", attack())
}

fn attack() -> Result<bool, String> {
    let (mut program, mut kept, mut commit) = (None, None, "unknown".to_owned());
    let (mut inputs, mut first, mut seed, mut threads) = (2000, 0, 1, 2);
    flags::read(USAGE, |given| {
        match given.flag() {
            "--program" => program = Some(given.path()),
            "--keep" => kept = Some(given.path()),
            "--inputs" => inputs = given.number()?,
            "--first" => first = given.number()?,
            "--seed" => seed = given.number()?,
            "--commit" => commit = given.text(),
            "--threads" => threads = given.number()? as usize,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let program = program.ok_or(USAGE)?;
    let scratch = in_memory().map_err(|error| error.to_string())?;
    let campaign = Campaign {
        program: flags::program(&program)?,
        corpus: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks"),
        seed,
        inputs: first..first + inputs,
        threads,
        scratch: scratch.path().to_owned(),
        kept: kept.ok_or(USAGE)?,
    };
    let report = campaign.run()?;
    println!("{}", flags::with_commit(&report.tally.to_string(), &commit));
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
