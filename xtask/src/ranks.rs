//! `cargo xtask ranks`: the whole matrix of models, tasks, strategies, ranks, blocks, optimisers and engines,
//! each cell against one rank, and the table of what became of it.
//!
//! The cells are those of `crates/zoetrope-train/tests/equality.rs`, of which the tests draw some. Each is noted when
//! it is done, so that a run that was stopped goes on, and parts can be run on several machines.

mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::repository;
use crate::validate::{CUDA_VARIABLE, KERNELS_VARIABLE, cargo, target};

/// Numbers of processes of an MPI job.
const JOBS: [usize; 5] = [1, 2, 3, 4, 8];

/// Tells the test program which cells to run.
const PART_VARIABLE: &str = "ZOETROPE_EQUALITY_PART";

/// What computes and what sends, as the tests name it.
const ENGINES: [&str; 3] = ["threads", "processes", "gpus"];

/// Processes that run the cells of emulated GPUs one after the other: a process keeps what it had on its GPUs.
const GPU_PROCESSES: usize = 24;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    engines: Vec<&'a str>,
    /// `I/N`: every N-th of what is compared with the same run of one rank, beginning with the I-th.
    part: &'a str,
    /// Whether cells that are noted are run again.
    again: bool,
    /// Where cells are noted.
    ledger: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn of(flags: &[&'a str]) -> Option<Self> {
        let mut found = Self { engines: ENGINES.to_vec(), part: "1/1", again: false, ledger: None };
        let mut flags = flags.iter();
        while let Some(&flag) = flags.next() {
            match flag {
                "--again" => found.again = true,
                "--engine" => {
                    found.engines = flags.next()?.split(',').collect();
                    if found.engines.iter().any(|engine| !ENGINES.contains(engine)) {
                        return None;
                    }
                }
                "--part" => {
                    found.part = flags.next()?;
                    let (part, parts) = found.part.split_once('/')?;
                    let (part, parts): (usize, usize) = (part.parse().ok()?, parts.parse().ok()?);
                    if part == 0 || part > parts {
                        return None;
                    }
                }
                "--ledger" => found.ledger = Some(flags.next()?),
                _ => return None,
            }
        }
        Some(found)
    }
}

/// Runs the cells that are asked for and writes `bench/results/equality.md`. Whether all of them are as they
/// should be; None if the flags make no sense.
pub(crate) fn run(root: &Path, flags: &[&str]) -> Option<bool> {
    let options = Options::of(flags)?;
    let commit = repository::commit(root);
    let folder = target(root).join("equality");
    let ledger = match options.ledger {
        Some(path) => std::path::absolute(path).ok()?,
        None => folder.join(format!("{commit}.jsonl")),
    };
    if options.again {
        let _ = std::fs::remove_file(&ledger);
    }
    let Some(program) = program(root, &folder) else { return Some(false) };
    let mut ended = true;
    for &engine in &options.engines {
        let began = Instant::now();
        for mut command in commands(root, &program, engine, options.part) {
            command.current_dir(root.join("crates/zoetrope-train"));
            command.env("ZOETROPE_EQUALITY_LEDGER", &ledger);
            // Cells are tiny: more threads than ranks would only get in each other's way.
            command.env("RAYON_NUM_THREADS", "1");
            let well = command.status().is_ok_and(|status| status.success());
            if !well {
                eprintln!("{engine}: did not end well; what is noted stays: {}", ledger.display());
            }
            ended &= well;
        }
        eprintln!("{engine}: {} s", began.elapsed().as_secs());
    }
    let cells = noted(&ledger);
    let path = root.join("bench/results/equality.md");
    let written = std::fs::write(&path, table::page(&cells, &commit));
    if let Err(error) = &written {
        eprintln!("{}: {error}", path.display());
    }
    let wrong = cells.iter().filter(|cell| cell["right"] != true).count();
    eprintln!("{} cells are noted, {wrong} of them wrong: {}", cells.len(), path.display());
    Some(ended && wrong == 0 && written.is_ok())
}

/// A copy of the test program, which stays as it is whatever is built meanwhile.
fn program(root: &Path, folder: &Path) -> Option<PathBuf> {
    let mut build = cargo(root, &["test", "--locked", "--package", "zoetrope-train"]);
    build.args(["--features", "mpi", "--test", "equality", "--no-run"]);
    build.arg("--message-format=json-render-diagnostics").stderr(std::process::Stdio::inherit());
    let built = build.output().ok().filter(|output| output.status.success())?;
    let said = String::from_utf8_lossy(&built.stdout);
    let of_line = |line| Some(serde_json::from_str::<Value>(line).ok()?["executable"].clone());
    let executables = said.lines().filter_map(of_line);
    let built = executables.filter_map(|value| value.as_str().map(PathBuf::from)).next_back()?;
    std::fs::create_dir_all(folder).ok()?;
    let copy = folder.join(format!("program-{}", std::process::id()));
    std::fs::copy(built, &copy).ok()?;
    Some(copy)
}

/// A part, cut into so many again.
fn parts_of(part: &str, count: usize) -> Vec<String> {
    let (first, parts) = part.split_once('/').unwrap_or((part, "1"));
    let (first, parts): (usize, usize) = (first.parse().unwrap_or(1), parts.parse().unwrap_or(1));
    (0..count).map(|at| format!("{}/{}", first + at * parts, parts * count)).collect()
}

/// What runs a part of the cells of an engine.
fn commands(root: &Path, program: &Path, engine: &str, part: &str) -> Vec<Command> {
    let test = format!("all_cells_by_{engine}");
    let test = ["--exact", &test, "--ignored", "--nocapture"];
    let of_part = |part: &str| {
        let mut command = Command::new(program);
        command.args(test).env(PART_VARIABLE, part);
        command
    };
    if engine == "threads" {
        return vec![of_part(part)];
    }
    if engine == "gpus" {
        let folder = target(root).join("cuda-emulator");
        let is_emulated = std::env::var_os(CUDA_VARIABLE).is_none();
        let mut build = Command::new(root.join("crates/zoetrope-testkit/emulator/build.sh"));
        if is_emulated && !build.arg(&folder).status().is_ok_and(|status| status.success()) {
            eprintln!("{engine}: the emulated GPU cannot be built");
        }
        let on_gpus = |part: String| {
            let mut command = of_part(&part);
            if is_emulated {
                command.env(CUDA_VARIABLE, &folder).env(KERNELS_VARIABLE, folder.join("kernels"));
            }
            command
        };
        return parts_of(part, GPU_PROCESSES).into_iter().map(on_gpus).collect();
    }
    let version = Command::new("mpirun").arg("--version").output();
    let is_open = version.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("Open"));
    let job = |size: usize| {
        let mut command = Command::new("mpirun");
        if is_open {
            command.args(["--allow-run-as-root", "--oversubscribe"]);
        }
        command.arg("-n").arg(size.to_string()).arg(program).args(test);
        command.env(PART_VARIABLE, part);
        command
    };
    JOBS.map(job).into()
}

/// The cells of a ledger. A line that is not whole is none.
fn noted(ledger: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_part_are_all_of_it() {
        assert_eq!(parts_of("2/3", 2), ["2/6", "5/6"]);
        assert_eq!(parts_of("1/1", 3), ["1/3", "2/3", "3/3"]);
    }

    #[test]
    fn flags_choose_engines_and_a_part() {
        let options = Options::of(&["--engine", "gpus,threads", "--part", "2/3"]).unwrap();
        assert_eq!((options.engines, options.part), (vec!["gpus", "threads"], "2/3"));
        for wrong in
            [&["--engine", "cpu"][..], &["--part", "3/2"], &["--part", "0/2"], &["--part"], &["x"]]
        {
            assert_eq!(Options::of(wrong), None, "{wrong:?}");
        }
    }
}
