//! A number of inputs of a seed, run by a few threads, and what broke a promise.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::commands::{Order, RUN_MEMORY_BYTES, order, plain_order};
use super::honest::{self, Honest, Role, copy_folder};
use super::mutate::mutate;
use super::seal::{mutate_inside, seal_manifest};
use super::tally::{Seen, Tally};
use crate::process::{Outcome, run_measured, run_stopped};
use crate::promise::{
    Breach, TIME_LIMIT, breaches, bytes_on_disk, is_one_json_document, reading_memory_bytes,
};
use crate::random::Random;

/// When a command that trains is asked to stop, and how long it may take to do so.
const TIME_TO_STOP: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(60);

/// What nothing may write to.
const CANARY: &str = "untouched\n";

/// What to attack, with how many inputs, and where.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The program.
    pub program: PathBuf,
    /// The committed corpus (`attacks/`).
    pub corpus: PathBuf,
    /// The seed of all changes.
    pub seed: u64,
    /// The inputs to run, by number.
    pub inputs: std::ops::Range<u64>,
    /// Threads that run them.
    pub threads: usize,
    /// Where inputs are made and thrown away; best in memory.
    pub scratch: PathBuf,
    /// Where inputs that broke a promise are kept.
    pub kept: PathBuf,
}

/// What became of a campaign.
#[derive(Debug)]
pub struct Report {
    /// The counts.
    pub tally: Tally,
    /// One line for each input that broke a promise.
    pub broken: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Campaign {
    /// Runs all inputs.
    ///
    /// # Errors
    /// If honest inputs cannot be made, or the program does not start.
    pub fn run(&self) -> Result<Report, String> {
        let start = Instant::now();
        let bed = self.scratch.join("bed");
        let honest = honest::make(&self.program, &bed, &self.corpus)?;
        self.prove_honest(&honest)?;
        let next = AtomicUsize::new(0);
        let count = usize::try_from(self.inputs.end - self.inputs.start).unwrap_or(usize::MAX);
        let work = |worker: usize| -> Result<(Tally, Vec<String>), String> {
            let place = self.scratch.join(format!("worker-{worker}"));
            let (mut tally, mut broken) = (Tally::default(), Vec::new());
            loop {
                let done = next.fetch_add(1, Ordering::Relaxed);
                if done >= count {
                    return Ok((tally, broken));
                }
                let number = self.inputs.start + done as u64;
                let (seen, said) = self.one(number, &honest, &place)?;
                tally.add(&seen);
                broken.extend(said);
            }
        };
        let mut report = Report { tally: Tally::default(), broken: Vec::new(), seconds: 0.0 };
        let outcomes = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.threads.max(1)).map(|worker| scope.spawn(move || work(worker))).collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        for outcome in outcomes {
            let (tally, broken) = outcome.map_err(|_| "a thread panicked".to_owned())??;
            report.tally.join(tally);
            report.broken.extend(broken);
        }
        report.broken.sort();
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Runs a command on every input as it is: changes of something that is refused anyway would
    /// prove little.
    fn prove_honest(&self, honest: &[Honest]) -> Result<(), String> {
        let place = self.scratch.join("honest");
        for chosen in honest.iter().filter(|input| !input.kind.starts_with("corpus-")) {
            let failed = |error: std::io::Error| format!("{}: {error}", place.display());
            let _ = fs::remove_dir_all(&place);
            fs::create_dir_all(place.join("out")).map_err(failed)?;
            copy_input(chosen, &place.join("input")).map_err(failed)?;
            let order = plain_order(chosen);
            let outcome = self.execute(&order, &place.join("input")).map_err(failed)?;
            if outcome.code() != Some(0) {
                let command = order.arguments.join(" ");
                let said = outcome.stderr_text();
                return Err(format!(
                    "an honest input is refused: {command} ({}): {said}",
                    chosen.kind
                ));
            }
        }
        Ok(())
    }

    /// Makes an input, runs a command on it and judges what happens.
    fn one(
        &self,
        number: u64,
        honest: &[Honest],
        place: &Path,
    ) -> Result<(Seen, Option<String>), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", place.display());
        let input = place.join("input");
        let (chosen, order) = self.prepare(number, honest, place).map_err(failed)?;
        let bytes = bytes_on_disk(&input);
        let outcome = self.execute(&order, &input).map_err(failed)?;
        let mut found = judge(&order, &outcome, bytes);
        if fs::read_to_string(place.join("canary")).ok().as_deref() != Some(CANARY) {
            found.push((Breach::Outside, "a file outside of the input changed".into()));
        }
        let seen = Seen {
            command: order.command,
            kind: chosen.kind.clone(),
            code: outcome.code().filter(|_| !outcome.asked_to_stop),
            stopped: outcome.asked_to_stop,
            cpu_seconds: outcome.cpu_seconds,
            memory_bytes: outcome.peak_rss_bytes,
            breaches: found.iter().map(|(breach, _)| *breach).collect(),
        };
        if found.is_empty() {
            return Ok((seen, None));
        }
        let what: Vec<&str> = found.iter().map(|(_, what)| what.as_str()).collect();
        let line = format!(
            "{number:06} {} ({}): {}",
            order.arguments.join(" "),
            chosen.kind,
            what.join("; ")
        );
        self.keep(number, honest, &outcome, &line).map_err(failed)?;
        Ok((seen, Some(line)))
    }

    fn execute(&self, order: &Order, input: &Path) -> std::io::Result<Outcome> {
        let mut command = Command::new(&self.program);
        command.args(&order.arguments).current_dir(input);
        // A backtrace would read debug information and blur the measured memory of a panic.
        command.env("RUST_BACKTRACE", "0");
        if order.reads {
            run_measured(command, TIME_LIMIT)
        } else {
            run_stopped(command, TIME_TO_STOP, GRACE)
        }
    }

    /// Makes an input in a place of its own, beside a file that must not change, and chooses the
    /// command for it.
    fn prepare<'a>(
        &self,
        number: u64,
        honest: &'a [Honest],
        place: &Path,
    ) -> std::io::Result<(&'a Honest, Order)> {
        let mut random = Random::new(self.seed, number);
        let chosen = choose(&mut random, honest);
        let _ = fs::remove_dir_all(place);
        fs::create_dir_all(place.join("out"))?;
        fs::write(place.join("canary"), CANARY)?;
        let input = place.join("input");
        copy_input(chosen, &input)?;
        change(&mut random, chosen, honest, &input)?;
        Ok((chosen, order(&mut random, chosen)))
    }

    /// Keeps an input that broke a promise, with the command and what it said. The input is made
    /// again, because the command may have changed it.
    fn keep(
        &self,
        number: u64,
        honest: &[Honest],
        outcome: &Outcome,
        line: &str,
    ) -> std::io::Result<()> {
        let folder = self.kept.join(format!("{}-{number:06}", self.seed));
        let (_, order) = self.prepare(number, honest, &folder)?;
        let mut file = fs::File::create(folder.join("command.txt"))?;
        let quoted: Vec<String> = order.arguments.iter().map(|word| format!("'{word}'")).collect();
        writeln!(file, "cd input && zoetrope {}", quoted.join(" "))?;
        writeln!(file, "{line}\n{}\n{}", outcome.status, outcome.stderr_text())
    }
}

/// Chooses an honest input: most are data, a good part run folders.
fn choose<'a>(random: &mut Random, honest: &'a [Honest]) -> &'a Honest {
    let wanted: &[Role] = match random.below(20) {
        0..=11 => &[Role::Data],
        12..=15 => &[Role::Run],
        16 => &[Role::Weights],
        17..=18 => &[Role::Config],
        _ => &[Role::Plan, Role::Pairs, Role::Negatives],
    };
    let fitting: Vec<&Honest> =
        honest.iter().filter(|input| wanted.contains(&input.role)).collect();
    // The corpus has many files of a few kinds: kinds come first.
    let mut kinds: Vec<&str> = fitting.iter().map(|input| input.kind.as_str()).collect();
    kinds.dedup();
    let kind = *random.pick(&kinds);
    let of_kind: Vec<&Honest> = fitting.into_iter().filter(|input| input.kind == kind).collect();
    of_kind[random.below(of_kind.len())]
}

/// Copies what belongs to an input: all of its folder, or of a corpus folder the files alone.
fn copy_input(honest: &Honest, to: &Path) -> std::io::Result<()> {
    if !honest.kind.starts_with("corpus-") {
        return copy_folder(&honest.folder, to);
    }
    for file in &honest.files {
        let target = to.join(file);
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(honest.folder.join(file), target)?;
    }
    Ok(())
}

/// Changes one file of an input, sometimes two.
fn change(
    random: &mut Random,
    chosen: &Honest,
    honest: &[Honest],
    input: &Path,
) -> std::io::Result<()> {
    let times = if random.once_in(5) { 2 } else { 1 };
    for _ in 0..times {
        let file = random.pick(&chosen.files);
        let path = input.join(file);
        if chosen.role == Role::Run && random.once_in(12) {
            replace_file(random, &path)?;
            continue;
        }
        let other = random.pick(honest);
        let donor = fs::read(other.folder.join(random.pick(&other.files)))?;
        // An earlier change may have put something else here; a link leads to what must not change.
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            continue;
        }
        let Ok(mut bytes) = fs::read(&path) else { continue };
        let inside = random.once_in(2) && mutate_inside(random, &path, &mut bytes, &donor);
        if !inside {
            mutate(random, &mut bytes, &donor);
        }
        fs::write(&path, bytes)?;
        if path.file_name().is_some_and(|name| name != "MANIFEST") && random.once_in(2) {
            path.parent().and_then(seal_manifest);
        }
    }
    Ok(())
}

/// Puts something else in the place of a file: nothing, a folder, or a link to what must not change.
fn replace_file(random: &mut Random, path: &Path) -> std::io::Result<()> {
    if fs::remove_file(path).is_err() {
        return Ok(());
    }
    match random.below(3) {
        0 => Ok(()),
        1 => fs::create_dir(path),
        _ => link_outside(path),
    }
}

#[cfg(unix)]
fn link_outside(path: &Path) -> std::io::Result<()> {
    let place = path.ancestors().find(|folder| folder.join("canary").exists());
    std::os::unix::fs::symlink(place.unwrap_or(path).join("canary"), path)
}

#[cfg(not(unix))]
fn link_outside(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn judge(order: &Order, outcome: &Outcome, bytes: u64) -> Vec<(Breach, String)> {
    let memory = if order.reads { reading_memory_bytes(bytes) } else { RUN_MEMORY_BYTES };
    // Numbers that run away in training are neither bad usage nor bad data: exit code 1.
    let codes: &[i32] = if order.reads { &[0, 2, 3, 4] } else { &[0, 1, 2, 3, 4] };
    let mut found = breaches(outcome, memory, codes);
    if order.json && outcome.code() == Some(0) && !is_one_json_document(&outcome.stdout) {
        found.push((Breach::Document, "standard output is not one JSON document".into()));
    }
    found
}
