//! The cases of `ranks.rs` by the processes of MPI jobs, and the same bits as by threads.
//!
//! The launcher runs the test `as_a_rank` in several processes. If none is installed, the test says so
//! and passes.

mod shared_run;

use std::process::Command;

use shared_run::{BLOCKS, MODELS, STRATEGIES, expect_equal, losses};
use zoetrope_dist::{Timeouts, mpi, threads};
use zoetrope_train::TrainError;

/// Where the first rank leaves what it found.
const RESULT: &str = "ZOETROPE_TEST_RESULT";

fn cases() -> impl Iterator<Item = [&'static str; 3]> {
    let of =
        |model| STRATEGIES.iter().flat_map(move |&s| BLOCKS.iter().map(move |&b| [model, s, b]));
    MODELS.into_iter().flat_map(of)
}

/// Not a test of its own: what a launcher runs.
#[test]
#[ignore = "run by a launcher"]
fn as_a_rank() {
    let found = mpi::run(Timeouts::default(), |ranks| {
        let losses: Vec<_> = cases().map(|case| losses(&case, Some(ranks.clone()))).collect();
        Ok::<_, TrainError>((ranks.rank(), losses))
    });
    let (rank, losses) = found.unwrap();
    if rank == 0 {
        let path = std::env::var_os(RESULT).expect("the test tells where");
        std::fs::write(path, serde_json::to_string(&losses).unwrap()).unwrap();
    }
}

/// The losses of every case by an MPI job; None if there is no launcher.
fn by_mpi(size: usize) -> Option<Vec<Vec<f64>>> {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("losses");
    let mut command = Command::new("mpirun");
    let version = Command::new("mpirun").arg("--version").output().ok()?;
    if String::from_utf8_lossy(&version.stdout).contains("Open") {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.arg("-n").arg(size.to_string()).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "as_a_rank", "--ignored", "--quiet"]);
    // Ranks take turns on few cores: more threads would only get in each other's way.
    command.env(RESULT, &result).env("TMPDIR", folder.path()).env("RAYON_NUM_THREADS", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_str(&std::fs::read_to_string(result).unwrap()).unwrap())
}

fn every_case(size: usize) {
    let Some(found) = by_mpi(size) else {
        println!("skipped: no mpirun is installed");
        return;
    };
    for model in MODELS {
        let alone = losses(&[model], None);
        for (case, found) in cases().zip(&found).filter(|(case, _)| case[0] == model) {
            expect_equal(&alone, found, &format!("{case:?} {size} processes"));
        }
    }
    // An all-reduce gives the same bits on every engine, and so does everything else.
    let case = [MODELS[1], STRATEGIES[3], BLOCKS[1]];
    let by_threads = threads::run(size, Timeouts::default(), move |ranks| {
        Ok::<_, TrainError>(losses(&case, Some(ranks)))
    });
    let position = cases().position(|other| other == case).unwrap();
    assert_eq!(by_threads.unwrap()[0], found[position], "{case:?} {size} processes");
}

#[test]
fn one_process_that_shares_with_nobody_loses_as_much_as_one_alone() {
    every_case(1);
}

#[test]
fn two_processes_lose_as_much_as_one() {
    every_case(2);
}

#[test]
fn three_processes_lose_as_much_as_one() {
    every_case(3);
}

#[test]
fn four_processes_lose_as_much_as_one() {
    every_case(4);
}

#[test]
fn eight_processes_lose_as_much_as_one() {
    every_case(8);
}
