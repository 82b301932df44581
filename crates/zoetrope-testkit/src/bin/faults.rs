//! Disturbs runs of a program: see `cargo xtask faults`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use zoetrope_testkit::faults::Campaign;
use zoetrope_testkit::flags;
use zoetrope_testkit::scratch::in_memory;

const USAGE: &str = "usage: faults --program FILE --keep FOLDER [--kills N] [--rounds N] \
                     [--minutes M] [--seed S] [--commit NAME]";

fn main() -> ExitCode {
    flags::exit("faults", disturb())
}

fn disturb() -> Result<bool, String> {
    let (mut program, mut kept, mut limit) = (None, None, None);
    let (mut kills, mut rounds, mut seed, mut commit) = (40, 3, 1, "unknown".to_owned());
    flags::read(USAGE, |given| {
        match given.flag() {
            "--program" => program = Some(given.path()),
            "--keep" => kept = Some(given.path()),
            "--kills" => kills = given.number()? as usize,
            "--rounds" => rounds = given.number()? as usize,
            "--minutes" => limit = Some(Duration::from_secs(60 * given.number()?)),
            "--seed" => seed = given.number()?,
            "--commit" => commit = given.text(),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let program = program.ok_or(USAGE)?;
    let scratch = in_memory().map_err(|error| error.to_string())?;
    let campaign = Campaign {
        program: flags::program(&program)?,
        kills,
        rounds,
        limit,
        seed,
        scratch: scratch.path().to_owned(),
        kept: kept.ok_or(USAGE)?,
    };
    let begun = Instant::now();
    let table = campaign.run()?;
    println!("{}", flags::with_commit(&table.to_string(), &commit));
    let verdict = if table.holds() { "everything was as promised" } else { "PROMISES WERE BROKEN" };
    println!("seed {seed}, {:.0} s: {verdict}", begun.elapsed().as_secs_f64());
    if !table.holds() {
        println!("run folders are kept in {}", campaign.kept.display());
    }
    Ok(table.holds())
}
