//! Ranks that are processes of real MPI jobs: the bits of threads, faults that are named, and runs
//! that go on after them. If no launcher is installed, the tests say so and pass.

mod binary;
mod mpi_job;

use std::time::Duration;

use binary::Folder;
use mpi_job::{Job, Launcher};
use rustix::process::Signal;
use serde_json::Value;

const DATA: &[&str] = &[
    "--data",
    "synthetic:sbm?vertices=40&steps=20&communities=4",
    "--task",
    "link-prediction",
    "--quiet",
];

/// What may be added to a time limit by a busy machine.
const SLACK: Duration = Duration::from_secs(60);

fn train<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    // EvolveGCN of PyG-Temporal is as wide as the features.
    let square = more.contains(&"evolvegcn-o");
    let width: &[&str] = if square { &[] } else { &["--hidden", "6"] };
    [&["train", "--out", out], DATA, width, more].concat()
}

fn hash(folder: &Folder, run: &str) -> String {
    let summary: Value =
        serde_json::from_slice(&folder.bytes(&format!("{run}/summary.json"))).unwrap();
    summary["state_hash"].as_str().unwrap().to_owned()
}

#[test]
fn processes_come_to_the_bits_of_threads() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    for (model, more) in [
        ("tm-gcn", &["--set", "plan.strategy=snapshot", "--set", "plan.blocks=2"][..]),
        ("cd-gcn", &["--set", "plan.strategy=hypergraph"]),
        ("evolvegcn-o", &["--set", "plan.strategy=snapshot"]),
    ] {
        let job = [&["--model", model, "--epochs", "3"], more].concat();
        let (threads, processes) = (format!("{model}-threads"), format!("{model}-mpi"));
        folder.text(&train(&threads, &[&job[..], &["--ranks", "2"]].concat()));
        let ended = Job::start(launcher, &folder, 2, &train(&processes, &job)).end();
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert_eq!(hash(&folder, &processes), hash(&folder, &threads), "{model}");
        // The first rank speaks for all.
        assert_eq!(ended.output.matches("Run folder").count(), 1, "{}", ended.output);
    }
}

#[test]
fn processes_that_keep_their_part_of_a_store_come_to_the_bits_of_threads() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    let source = "synthetic:aml?accounts=150&days=24&events=5000";
    folder.text(&["data", "generate", source, "--out", "events.zoe", "--quiet"]);
    for (model, strategy, smoothing) in [
        ("tm-gcn", "plan.strategy=snapshot", "data.m_product=3"),
        ("cd-gcn", "plan.strategy=hypergraph", "data.edge_life=2"),
    ] {
        let job = |out| {
            [
                &["train", "--out", out, "--data", "events.zoe", "--set", "data.window=1d"][..],
                &["--task", "link-prediction", "--model", model, "--hidden", "6", "--quiet"],
                &["--epochs", "2", "--set", strategy, "--set", smoothing],
            ]
            .concat()
        };
        let (threads, processes) = (format!("{model}-threads"), format!("{model}-mpi"));
        folder.text(&[&job(&threads)[..], &["--ranks", "2"]].concat());
        let ended = Job::start(launcher, &folder, 2, &job(&processes)).end();
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert_eq!(hash(&folder, &processes), hash(&folder, &threads), "{model}");
        let summary = |run: &str| -> Value {
            serde_json::from_slice(&folder.bytes(&format!("{run}/summary.json"))).unwrap()
        };
        let (mine, theirs) = (summary(&processes), summary(&threads));
        assert_eq!(mine["test"], theirs["test"], "{model}");
        assert_eq!(mine["baselines"], theirs["baselines"], "{model}");
    }
}

#[test]
fn processes_on_two_hosts_come_to_the_bits_of_threads() {
    let Some(launcher) = Launcher::of_two_hosts() else { return };
    let folder = Folder::new();
    for (model, strategy) in
        [("tm-gcn", "snapshot"), ("cd-gcn", "hypergraph"), ("evolvegcn-o", "snapshot")]
    {
        let strategy = format!("plan.strategy={strategy}");
        let job = ["--model", model, "--epochs", "2", "--set", &strategy];
        let (threads, hosts) = (format!("{model}-threads"), format!("{model}-hosts"));
        folder.text(&train(&threads, &[&job[..], &["--ranks", "4"]].concat()));
        let ended = Job::start(launcher, &folder, 4, &train(&hosts, &job)).end();
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert_eq!(hash(&folder, &hosts), hash(&folder, &threads), "{model}");
    }
}

#[test]
fn a_rank_that_is_killed_is_named_and_the_run_goes_on_to_the_same_bits() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    let job = ["--model", "tm-gcn", "--epochs", "150", "--checkpoint-every", "1"];
    folder.text(&train("whole", &[&job[..], &["--ranks", "2"]].concat()));
    for victim in [1, 0] {
        let out = format!("killed-{victim}");
        let running = Job::start(launcher, &folder, 2, &train(&out, &job));
        running.await_epochs(&folder, &out, 3);
        running.signal(victim, Signal::KILL);
        let ended = running.end();
        assert_ne!(ended.code, Some(0), "{}", ended.output);
        let took = ended.since_signal.unwrap();
        assert!(took < SLACK, "{took:?}: {}", ended.output);
        assert_eq!(ended.orphans(), [0_u32; 0], "{}", ended.output);
        if launcher.lets_survivors_speak {
            let named = format!("rank {victim} ended");
            assert!(ended.output.contains(&named), "{}", ended.output);
        }
        assert!(!folder.path(&format!("{out}/summary.json")).exists(), "it was over too soon");
        let resume = ["train", "--resume", &out, "--quiet"];
        let resumed = Job::start(launcher, &folder, 2, &resume).end();
        assert_eq!(resumed.code, Some(0), "{}", resumed.output);
        assert_eq!(hash(&folder, &out), hash(&folder, "whole"), "rank {victim}");
    }
}

#[test]
fn a_rank_that_is_stopped_is_named_with_where_everyone_was() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    for victim in [1, 0] {
        let out = format!("stopped-{victim}");
        let job = ["--model", "cd-gcn", "--epochs", "100000", "--set", "plan.timeout=5"];
        let running = Job::start(launcher, &folder, 2, &train(&out, &job));
        running.await_epochs(&folder, &out, 2);
        running.signal(victim, Signal::STOP);
        let ended = running.end_after_word(&format!("rank {victim} hangs"));
        assert_ne!(ended.code, Some(0), "{}", ended.output);
        let named = ended.since_signal.unwrap();
        assert!(named < Duration::from_secs(5) + SLACK, "{named:?}: {}", ended.output);
        for rank in 0..2 {
            assert!(ended.output.contains(&format!("rank {rank}: step")), "{}", ended.output);
        }
        assert_eq!(ended.orphans(), [0_u32; 0], "{}", ended.output);
    }
}

#[test]
fn another_number_of_ranks_than_the_job_has_is_refused() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    let job = train("run", &["--model", "tm-gcn", "--ranks", "3"]);
    let ended = Job::start(launcher, &folder, 2, &job).end();
    assert_ne!(ended.code, Some(0));
    for word in ["train.ranks = 3 in an MPI job of 2", "leave --ranks out"] {
        assert!(ended.output.contains(word), "{}", ended.output);
    }
    assert_eq!(ended.orphans(), [0_u32; 0]);
}

#[test]
fn ranks_that_were_started_differently_are_told_the_difference() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    let other_data = "synthetic:sbm?vertices=40&steps=20&communities=4&seed=9";
    for (more, says) in [
        (&["--lr", "0.5"][..], "train.lr = 0.5"),
        (&["--seed", "7"], "train.seed = 7"),
        (&["--hidden", "12"], "model.hidden = 12"),
        (&["--set", "train.optimiser=sgd"], "train.optimiser = "),
        (&["--data", other_data], "data of sha256"),
    ] {
        let job = train("run", &["--model", "tm-gcn", "--epochs", "2"]);
        let kept: Vec<&str> = match more[0] {
            // A flag may be given once.
            flag @ ("--hidden" | "--data") => {
                let at = job.iter().position(|word| *word == flag).unwrap();
                [&job[..at], &job[at + 2..]].concat()
            }
            _ => job.clone(),
        };
        let last = [&[env!("CARGO_BIN_EXE_zoetrope")], &kept[..], more].concat();
        let ended = Job::start_mixed(launcher, &folder, 1, &job, Some(&last)).end();
        assert_eq!(ended.code, Some(2), "{more:?}: {}", ended.output);
        assert!(ended.output.contains("rank 1 was started with"), "{}", ended.output);
        assert!(ended.output.contains(says), "{more:?}: {}", ended.output);
        assert!(!folder.path("run").exists(), "{more:?}");
    }
}

#[test]
fn ranks_of_other_vector_units_are_told_so() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    let job = train("run", &["--model", "tm-gcn", "--epochs", "2"]);
    let whole = Job::start(launcher, &folder, 1, &train("alone", &["--epochs", "1"])).end();
    assert_eq!(whole.code, Some(0), "{}", whole.output);
    let summary: Value = serde_json::from_slice(&folder.bytes("alone/summary.json")).unwrap();
    if summary["vector_level"] == "scalar" {
        return println!("skipped: this processor has no vector units");
    }
    let other = ["env", "ZOETROPE_SIMD=scalar", env!("CARGO_BIN_EXE_zoetrope")];
    let last = [&other[..], &job].concat();
    let ended = Job::start_mixed(launcher, &folder, 1, &job, Some(&last)).end();
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    assert!(ended.output.contains("vector units scalar"), "{}", ended.output);
    assert!(!folder.path("run").exists());
}

#[test]
fn a_rank_that_never_starts_is_named() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    let job = train("run", &["--model", "tm-gcn", "--epochs", "2"]);
    let ended = Job::start_mixed(launcher, &folder, 1, &job, Some(&["true"])).end();
    assert_ne!(ended.code, Some(0), "{}", ended.output);
    if launcher.lets_survivors_speak {
        assert_eq!(ended.code, Some(5), "{}", ended.output);
        assert!(ended.output.contains("rank 1 ended before MPI was up"), "{}", ended.output);
    }
}

#[test]
fn one_rank_that_is_asked_to_stop_while_all_evaluate_stops_them_all() {
    let Some(launcher) = Launcher::find() else { return };
    let folder = Folder::new();
    // One frame to learn from, and minutes of frames to judge.
    let job = [
        "train",
        "--out",
        "run",
        "--model",
        "tm-gcn",
        "--data",
        "synthetic:sbm?vertices=400&steps=3000&communities=4",
        "--task",
        "link-prediction",
        "--epochs",
        "2",
        "--hidden",
        "8",
        "--set",
        "data.split=1/98/1",
        "--set",
        "train.stride=30",
        "--quiet",
    ];
    // Nothing tells from outside when a rank has made its first update and judges: a rank that is asked
    // before that has nothing to save and ends at once, so that it is asked later the next time.
    for seconds in [2, 8, 30, 90] {
        let _ = std::fs::remove_dir_all(folder.path("run"));
        let running = Job::start(launcher, &folder, 2, &job);
        running.await_that(|| folder.path("run/config.toml").exists());
        std::thread::sleep(Duration::from_secs(seconds));
        running.signal(1, Signal::TERM);
        let ended = running.end();
        assert_ne!(ended.code, Some(0), "{}", ended.output);
        if ended.output.contains("there was nothing to save") {
            continue;
        }
        assert!(ended.output.contains("stopped after 0 epochs"), "{}", ended.output);
        assert_eq!(folder.bytes("run/metrics.jsonl"), b"");
        assert_eq!(ended.orphans(), [0_u32; 0], "{}", ended.output);
        return;
    }
    panic!("no rank ever came to judging");
}
