//! Hostile files: the real binary must decide about each within its time and memory, with a clear
//! message and never a panic. `attacks/EXPECTED.tsv` says what; `attacks/make.py` makes the files.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use zoetrope_testkit::attack::Campaign;
use zoetrope_testkit::promise::{
    TIME_LIMIT, breaches, bytes_on_disk, is_one_json_document, reading_memory_bytes,
};
use zoetrope_testkit::{Outcome, run_measured, scratch};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../attacks")
}

fn inspect(target: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zoetrope"));
    command.args(["data", "inspect", "--json"]).arg(target).args(arguments);
    // A backtrace would read debug information and blur the measured memory of a panic.
    command.env("RUST_BACKTRACE", "0");
    run_measured(command, TIME_LIMIT).expect("the binary starts")
}

/// What is wrong with an outcome, whatever the file was.
fn objections(outcome: &Outcome, memory_limit: u64) -> Vec<String> {
    let found = breaches(outcome, memory_limit, &[0, 3]);
    let mut found: Vec<String> = found.into_iter().map(|(_, what)| what).collect();
    if outcome.code() == Some(0) && !is_one_json_document(&outcome.stdout) {
        found.push("standard output is not one JSON document".into());
    }
    found
}

struct Attack {
    path: String,
    ok: bool,
    message: String,
    arguments: String,
    why: String,
}

fn expectations() -> Vec<Attack> {
    let text = fs::read_to_string(corpus().join("EXPECTED.tsv")).expect("EXPECTED.tsv is readable");
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, outcome, message, arguments, why] = fields[..] else {
            panic!("EXPECTED.tsv: five fields in {line:?}")
        };
        assert!(matches!(outcome, "ok" | "error"), "{line:?}");
        Attack {
            path: path.into(),
            ok: outcome == "ok",
            message: message.into(),
            arguments: arguments.into(),
            why: why.into(),
        }
    });
    rows.collect()
}

fn judge(attack: &Attack) -> Vec<String> {
    let is_name = attack.path.starts_with("synthetic:");
    let target = if is_name {
        PathBuf::from(&attack.path)
    } else {
        corpus().join("files").join(&attack.path)
    };
    let arguments: Vec<&str> = attack.arguments.split_whitespace().collect();
    let outcome = inspect(&target, &arguments);
    let limit = reading_memory_bytes(bytes_on_disk(&target));
    if is_name && outcome.code() == Some(2) {
        // A wrong name is wrong usage, not bad data.
        return Vec::new();
    }
    let mut found = objections(&outcome, limit);
    let message = outcome.stderr_text();
    match (attack.ok, outcome.code()) {
        (true, Some(3)) => found.push(format!("should be read: {}", message.trim())),
        (false, Some(0)) => found.push("should be refused".into()),
        (false, Some(3)) => {
            if !is_name && !names_place(&message, Path::new(&attack.path)) {
                found.push(format!("the message does not name the file: {}", message.trim()));
            }
            if !message.contains(&attack.message) {
                found.push(format!("{:?} is not in: {}", attack.message, message.trim()));
            }
        }
        _ => {}
    }
    found
}

/// Whether a message names the attacked file, or a file beside it in a folder of its own.
fn names_place(message: &str, attacked: &Path) -> bool {
    let own_folder = attacked.parent().filter(|parent| parent.components().count() > 1);
    let places = [attacked.file_name(), own_folder.and_then(Path::file_name)];
    places.into_iter().flatten().any(|name| message.contains(&*name.to_string_lossy()))
}

#[test]
fn every_attack_is_decided_within_its_limits() {
    let attacks = expectations();
    assert!(attacks.len() >= 60, "{} attacks", attacks.len());
    let mut report = String::new();
    let mut failed = 0;
    for attack in &attacks {
        let found = judge(attack);
        failed += usize::from(!found.is_empty());
        for objection in found {
            writeln!(report, "{} ({}): {objection}", attack.path, attack.why).unwrap();
        }
    }
    assert!(failed == 0, "{failed} of {} attacks:\n{report}", attacks.len());
}

#[test]
fn every_file_of_the_corpus_belongs_to_an_expectation() {
    let attacks = expectations();
    let files = corpus().join("files");
    let mut folders = vec![files.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let path = entry.path();
            let relative = path.strip_prefix(&files).unwrap();
            let parent = relative.parent().unwrap();
            let known = attacks.iter().any(|attack| {
                let attacked = Path::new(&attack.path);
                relative == attacked || parent == attacked || Some(parent) == attacked.parent()
            });
            assert!(known, "{} is in no line of EXPECTED.tsv", relative.display());
        }
    }
}

/// A short `cargo xtask attack`: inputs of every format and files of run folders, changed at random.
#[test]
fn inputs_that_are_changed_at_random_are_decided_within_their_limits() {
    let scratch = scratch::in_memory().unwrap();
    let campaign = Campaign {
        program: env!("CARGO_BIN_EXE_zoetrope").into(),
        corpus: corpus(),
        seed: 1,
        inputs: 0..600,
        threads: 2,
        scratch: scratch.path().to_owned(),
        kept: Path::new(env!("CARGO_TARGET_TMPDIR")).join("attack"),
    };
    let report = campaign.run().unwrap();
    println!("{}", report.tally);
    let (broken, kept) = (report.broken.join("\n"), campaign.kept.display());
    assert!(report.broken.is_empty(), "{broken}\nkept in {kept}");
    assert_eq!(report.tally.inputs(), 600);
}

/// Things that cannot be committed: they are made in a fresh folder.
mod places {
    use super::*;

    fn must_refuse(target: &Path) {
        let outcome = inspect(target, &[]);
        let found = objections(&outcome, reading_memory_bytes(8 << 20));
        assert!(found.is_empty(), "{}: {found:?}\n{}", target.display(), outcome.stderr_text());
        assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
    }

    #[test]
    fn a_path_that_is_not_there_is_refused() {
        must_refuse(Path::new("no/such/file.csv"));
    }

    #[test]
    fn an_empty_folder_is_refused() {
        must_refuse(tempfile::tempdir().unwrap().path());
    }

    #[cfg(unix)]
    #[test]
    fn endless_devices_are_refused() {
        must_refuse(Path::new("/dev/zero"));
        must_refuse(Path::new("/dev/urandom"));
        must_refuse(Path::new("/dev/null"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_nobody_writes_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("events.csv");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        must_refuse(&pipe);
        must_refuse(folder.path());
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_in_circles_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("again");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        must_refuse(folder.path());
        let own = folder.path().join("self.csv");
        std::os::unix::fs::symlink(&own, &own).unwrap();
        must_refuse(&own);
    }

    #[test]
    fn a_tebibyte_of_nothing_is_refused_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.json", "a.npz", "a.parquet", "a.tar", "a.zoe", "ml_a.csv"] {
            let path = folder.path().join(name);
            // Sparse: it takes no space on the disk.
            let file = File::create(&path).unwrap();
            if file.set_len(1 << 40).is_ok() {
                must_refuse(&path);
            }
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn one_line_longer_than_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("line.csv");
        // In pieces: a child's peak memory starts from what this process holds when it forks.
        let mut file = File::create(&path).unwrap();
        for _ in 0..40 {
            file.write_all(&[b'7'; 1 << 20]).unwrap();
        }
        must_refuse(&path);
    }
}
