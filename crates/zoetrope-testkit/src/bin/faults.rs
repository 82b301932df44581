//! Disturbs runs of a program: see `cargo xtask faults`.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use zoetrope_testkit::faults::Campaign;
use zoetrope_testkit::scratch::in_memory;

const USAGE: &str = "usage: faults --program FILE --keep FOLDER [--kills N] [--rounds N] \
                     [--minutes M] [--seed S]";

fn main() -> ExitCode {
    match disturb() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("faults: {error}");
            ExitCode::from(2)
        }
    }
}

fn disturb() -> Result<bool, String> {
    let (mut program, mut kept, mut limit) = (None, None, None);
    let (mut kills, mut rounds, mut seed) = (40, 3, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(format!("{flag} needs a value\n{USAGE}"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{flag} {value}: {error}"));
        match flag.as_str() {
            "--program" => program = Some(PathBuf::from(&value)),
            "--keep" => kept = Some(PathBuf::from(&value)),
            "--kills" => kills = number()? as usize,
            "--rounds" => rounds = number()? as usize,
            "--minutes" => limit = Some(Duration::from_secs(60 * number()?)),
            "--seed" => seed = number()?,
            _ => return Err(format!("{flag} is not known\n{USAGE}")),
        }
    }
    let program = program.ok_or(USAGE)?;
    let scratch = in_memory().map_err(|error| error.to_string())?;
    let campaign = Campaign {
        program: program
            .canonicalize()
            .map_err(|error| format!("{}: {error}", program.display()))?,
        kills,
        rounds,
        limit,
        seed,
        scratch: scratch.path().to_owned(),
        kept: kept.ok_or(USAGE)?,
    };
    let begun = Instant::now();
    let table = campaign.run()?;
    println!("{table}");
    let verdict = if table.holds() { "everything was as promised" } else { "PROMISES WERE BROKEN" };
    println!("seed {seed}, {:.0} s: {verdict}", begun.elapsed().as_secs_f64());
    if !table.holds() {
        println!("run folders are kept in {}", campaign.kept.display());
    }
    Ok(table.holds())
}
