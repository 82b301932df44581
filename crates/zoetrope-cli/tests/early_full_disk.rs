//! A disk that fills before the first epoch is over: what is left can be used or begun anew.
#![cfg(unix)]

mod binary;

use std::process::Command;
use std::time::Duration;

use binary::{Folder, command};
use zoetrope_testkit::{Outcome, run_measured};

const JOB: &[&str] = &[
    "train",
    "--model",
    "tgcn",
    "--data",
    "synthetic:demo?vertices=20&steps=40",
    "--hidden",
    "16",
    "--epochs",
    "2",
    "--checkpoint-every",
    "1",
    "--quiet",
    "--out",
    "run",
];

/// Runs `zoetrope` in a shell that has done something first.
fn after(folder: &Folder, first: &str, arguments: &[&str]) -> Outcome {
    let plain = command(&folder.path(""), arguments);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(plain.get_program());
    shell.args(arguments).current_dir(folder.path(""));
    run_measured(shell, Duration::from_secs(600)).unwrap()
}

/// What was left can be continued or begun anew.
fn must_be_usable(folder: &Folder, what: &str) {
    let anew = folder.run(JOB);
    if anew.code() == Some(0) {
        return;
    }
    assert_eq!(anew.code(), Some(2), "{what}: {}", anew.stderr_text());
    assert!(anew.stderr_text().contains("--resume"), "{what}: {}", anew.stderr_text());
    let resumed = folder.run(&["train", "--resume", "run", "--quiet"]);
    assert_eq!(resumed.code(), Some(0), "{what}: {}", resumed.stderr_text());
}

#[test]
fn a_limit_on_files_leaves_a_folder_that_can_be_used() {
    let mut failures = 0;
    // In blocks of 512 bytes: from no byte at all to more than the largest file of the run.
    for blocks in [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 4096] {
        let folder = Folder::new();
        let outcome = after(&folder, &format!("ulimit -f {blocks}"), JOB);
        let said = outcome.stderr_text();
        match outcome.code() {
            Some(0) => continue,
            Some(4) => failures += 1,
            other => panic!("{blocks} blocks: {other:?} {:?} {said}", outcome.status),
        }
        must_be_usable(&folder, &format!("{blocks} blocks: {said}"));
    }
    assert!(failures > 3, "no limit was too small");
}

/// A small file system of its own needs Linux and `unshare`; the test is skipped with a note elsewhere.
#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_leaves_a_folder_that_can_be_used() {
    for pages in [1, 2, 3, 4, 5, 6, 8, 10, 12, 16] {
        let folder = Folder::new();
        let script = format!(
            "mount -t tmpfs -o size={}k tmpfs . && cd \"$PWD\" && \
             \"$@\"; code=$?; mount -o remount,size=64m tmpfs . ; \
             if \"$@\" 2>again; then exit 0; fi; \
             grep -q -- --resume again && \"$1\" train --resume run --quiet && exit 0; \
             echo \"exit code $code, then:\" >&2; cat again >&2; ls -la run >&2; exit 99",
            4 * pages
        );
        let plain = command(&folder.path(""), JOB);
        let mut shell = Command::new("unshare");
        shell.args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
        shell.arg(plain.get_program()).args(JOB).current_dir(folder.path(""));
        let Ok(outcome) = run_measured(shell, Duration::from_secs(600)) else {
            return println!("skipped: this machine has no unshare");
        };
        let said = outcome.stderr_text();
        if said.contains("unshare:") || said.contains("mount:") {
            return println!("skipped: no mount of our own: {said}");
        }
        assert_eq!(outcome.code(), Some(0), "{pages} pages: {said}");
    }
}
