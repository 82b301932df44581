//! Pipes and devices where files are meant: a clear error, and never an endless wait.
#![cfg(unix)]

mod binary;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use binary::{Folder, command};
use zoetrope_testkit::Outcome;

/// Nothing here takes long; what waits for ever takes longer than any busy machine.
const LONGEST: Duration = Duration::from_secs(120);

const SMALL: &[&str] = &[
    "--data",
    "synthetic:demo?vertices=20&steps=30",
    "--model",
    "tgcn",
    "--epochs",
    "1",
    "--quiet",
];

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn refused(folder: &Folder, arguments: &[&str], codes: &[i32], word: &str) -> Outcome {
    let outcome = folder.run_with(arguments, |_| {}, LONGEST);
    let said = outcome.stderr_text();
    assert!(!outcome.timed_out, "{arguments:?} waits for ever");
    assert!(codes.contains(&outcome.code().unwrap_or(-1)), "{arguments:?}: {said}");
    assert!(said.contains(word), "{arguments:?}: no {word:?} in {said}");
    outcome
}

#[test]
fn a_pipe_or_a_device_is_no_configuration_plan_or_weights() {
    let folder = Folder::new();
    pipe(&folder.path("pipe.json"));
    folder.text(&[&["train"], SMALL, &["--out", "run"]].concat());
    for special in ["pipe.json", "/dev/zero"] {
        let what = if special == "/dev/zero" { "a device" } else { "a pipe" };
        refused(&folder, &["train", special], &[2], what);
        refused(&folder, &["plan", special], &[2], what);
        for flags in [&["--weights", special][..], &["--plan", special]] {
            let job = [&["train"], SMALL, flags, &["--out", "other"]].concat();
            refused(&folder, &job, &[2, 3], what);
            assert!(!folder.path("other").exists());
        }
        refused(&folder, &["eval", "--run", "run", "--weights", special], &[2, 3], what);
        let stream = [
            "train",
            "--model",
            "tgn",
            "--data",
            "synthetic:bipartite?users=12&items=9&tastes=3&events=200",
            "--quiet",
            "--out",
            "other",
        ];
        let negatives = format!("task.negatives_file={special}");
        refused(&folder, &[&stream[..], &["--set", &negatives]].concat(), &[2, 3], "");
    }
}

#[test]
fn a_pipe_in_a_folder_of_data_is_named() {
    let folder = Folder::new();
    for name in ["tgl", "more", "snapshots", "traffic"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    pipe(&folder.path("tgl/edges.csv"));
    folder.write("more/edges.csv", ",src,dst,time,ext_roll\n0,0,1,0,0\n1,1,2,1,0\n2,0,1,2,0\n");
    pipe(&folder.path("more/edge_features.npy"));
    for step in 1..5 {
        folder.write(&format!("snapshots/0{step}.txt"), "0 1\n1 2\n");
    }
    pipe(&folder.path("snapshots/05.txt"));
    folder.write("traffic/speeds.csv", "1,2\n3,4\n5,6\n");
    pipe(&folder.path("traffic/adj.csv"));
    for (name, file) in [
        ("tgl", "edges.csv"),
        ("more", "edge_features.npy"),
        ("snapshots", "05.txt"),
        ("traffic", "adj.csv"),
    ] {
        let outcome = refused(&folder, &["data", "inspect", name], &[3], "not a regular file");
        assert!(outcome.stderr_text().contains(file), "{}", outcome.stderr_text());
    }
    refused(&folder, &["train", "--data", "tgl", "--out", "run"], &[3], "a pipe");
    for device in ["/dev/zero", "/dev/null"] {
        refused(&folder, &["data", "inspect", device], &[3], "a device");
        refused(&folder, &["train", "--data", device, "--out", "run"], &[3], "a device");
    }
    assert!(!folder.path("run").exists());
}

#[test]
fn a_device_on_standard_input_is_not_read_without_end() {
    let folder = Folder::new();
    let before = spooled();
    for source in ["-", "/dev/stdin"] {
        let zeros = File::open("/dev/zero").unwrap();
        let mut inspect = command(&folder.path(""), &["data", "inspect", source]);
        let child =
            inspect.stdin(zeros).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("a device"), "{said}");
    }
    assert_eq!(spooled(), before, "what was read is left behind");
}

/// Temporary files of what came through pipes.
fn spooled() -> usize {
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("zoetrope-") && name.ends_with("-input")).count()
}

#[test]
fn a_pipe_that_nobody_writes_to_is_given_up() {
    let folder = Folder::new();
    pipe(&folder.path("events.csv"));
    refused(&folder, &["data", "inspect", "events.csv"], &[3], "a pipe that nobody writes to");
    folder.text(&[&["train"], SMALL, &["--out", "run"]].concat());
    let pairs = ["predict", "--run", "run", "--pairs", "events.csv", "--out", "p.csv"];
    refused(&folder, &pairs, &[2, 3], "");
}

#[test]
fn a_stop_is_noticed_while_ranks_evaluate() {
    let folder = Folder::new();
    // There is one update, and seconds of frames to judge after it. A signal that came before that update has stopped
    // the run before there was anything to judge: then the next one is given a little longer.
    for tries in 0..200 {
        let run = format!("run-{tries}");
        let said = stopped_in_its_first_epoch(&folder, &run, Duration::from_millis(50 * tries));
        if said.contains("stopped before the first update") {
            assert!(!folder.path(&run).exists(), "a run without an update leaves no folder");
            continue;
        }
        // The first epoch was not judged to its end, and is so when the run goes on.
        assert!(said.contains("stopped after 0 epochs"), "{said}");
        assert_eq!(folder.bytes(&format!("{run}/metrics.jsonl")), b"");
        return;
    }
    panic!("no run came as far as its first update in ten seconds");
}

/// What a run says that is told to stop so long after its folder is there.
fn stopped_in_its_first_epoch(folder: &Folder, run: &str, after: Duration) -> String {
    let job = [
        "train",
        "--model",
        "tm-gcn",
        "--data",
        "synthetic:sbm?vertices=400&steps=3000&communities=4",
        "--task",
        "link-prediction",
        "--ranks",
        "2",
        "--epochs",
        "2",
        "--frame",
        "8",
        "--hidden",
        "8",
        "--set",
        "data.split=1/98/1",
        "--set",
        "train.stride=30",
        "--quiet",
        "--out",
        run,
    ];
    let mut child = command(&folder.path(""), &job).stderr(Stdio::piped()).spawn().unwrap();
    while !folder.path(run).join("config.toml").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(after);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}
