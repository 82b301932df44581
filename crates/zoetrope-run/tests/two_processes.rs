//! One run folder, two processes: the second refuses and names the first.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zoetrope_config::Config;
use zoetrope_run::{RunError, RunFolder};

/// Set to the run folder if this program is the first process.
const HELD: &str = "HELD_RUN_FOLDER";

/// What the first process does; without the variable it is an empty test.
#[test]
fn the_first_process() {
    let Some(root) = std::env::var_os(HELD) else { return };
    let folder = RunFolder::create(Path::new(&root)).unwrap();
    folder.write_config(&Config::default()).unwrap();
    eprintln!("holding");
    let give_up = Instant::now() + Duration::from_secs(600);
    while Instant::now() < give_up {
        std::thread::park_timeout(Duration::from_secs(1));
    }
}

#[test]
fn the_second_process_names_the_first_and_a_killed_one_leaves_no_lock() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("run");
    let mut first = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_first_process", "--nocapture"])
        .env(HELD, &root)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(first.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("holding")));

    let start = Instant::now();
    let error = RunFolder::open(&root).unwrap_err();
    // It does not wait for the first one to end; a busy machine may take a while to say so.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert!(
        matches!(error, RunError::Busy { owner: Some(owner), .. } if owner == first.id()),
        "{error}"
    );

    // SIGKILL: the process cannot clean up, the kernel does.
    first.kill().unwrap();
    first.wait().unwrap();
    let folder = RunFolder::open(&root).unwrap();
    assert_eq!(RunFolder::read_config(folder.root()).unwrap(), Config::default());
}
