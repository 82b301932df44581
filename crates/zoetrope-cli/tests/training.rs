//! Runs of the real binary: what they leave behind, and that results are bit-identical.

mod binary;

use std::time::Duration;

use binary::{Folder, command};
use serde_json::Value;
use zoetrope_testkit::run_measured;

/// A job of a second or two.
const SMALL: &[&str] =
    &["--data", "synthetic:demo?vertices=20&steps=40", "--hidden", "8", "--quiet"];

fn arguments<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], SMALL, more].concat()
}

fn summary(folder: &Folder, run: &str) -> Value {
    serde_json::from_slice(&folder.bytes(&format!("{run}/summary.json"))).unwrap()
}

fn hash(folder: &Folder, run: &str) -> String {
    summary(folder, run)["state_hash"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_leaves_the_files_of_the_contract() {
    let folder = Folder::new();
    let text = folder.text(&arguments("train", &["--epochs", "3", "--out", "run", "--trace"]));
    for part in [
        "training loss",
        "Test part",
        "tgcn",
        "persistence",
        "historical_mean",
        "zoetrope eval --run run",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for name in [
        "config.toml",
        "plan.json",
        "metrics.jsonl",
        "summary.json",
        "trace.json",
        "weights.safetensors",
    ] {
        assert!(folder.path("run").join(name).is_file(), "{name}");
    }
    let summary = summary(&folder, "run");
    assert_eq!(summary["schema"], 1);
    assert_eq!(summary["epochs"].as_array().unwrap().len(), 3);
    assert_eq!(summary["data"]["vertices"], 20);
    assert_eq!(summary["data"]["sha256"].as_str().unwrap().len(), 64);
    assert!(summary["protocol"]["split"]["test"].is_array());
    assert!(summary["peak_host_bytes"].as_u64().unwrap() > 1 << 20);
    let first_step = summary["first_step_seconds"].as_f64().unwrap();
    assert!(first_step > summary["seconds"]["load"].as_f64().unwrap(), "{first_step}");
    let lines = String::from_utf8(folder.bytes("run/metrics.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 3);
    let trace: Value = serde_json::from_slice(&folder.bytes("run/trace.json")).unwrap();
    let events = trace.as_array().or(trace["traceEvents"].as_array()).unwrap();
    for span in ["load", "forward", "backward", "update", "evaluate"] {
        assert!(events.iter().any(|event| event["name"] == span), "{span}");
    }
}

#[test]
fn with_json_the_summary_is_the_only_output() {
    let folder = Folder::new();
    let printed = folder.json(&arguments("train", &["--epochs", "2", "--out", "run", "--json"]));
    assert_eq!(printed, summary(&folder, "run"));
}

#[test]
fn threads_and_repetition_do_not_change_a_bit() {
    let folder = Folder::new();
    let models = ["tgcn", "mpnn-lstm", "dysat"];
    for model in models {
        let mut hashes = Vec::new();
        for (run, threads) in [("1", "1"), ("2", "2"), ("8", "8"), ("again", "2")] {
            let out = format!("{model}-{run}");
            let more = ["--epochs", "2", "--model", model, "--threads", threads, "--out", &out];
            folder.text(&arguments("train", &more));
            hashes.push(hash(&folder, &out));
        }
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{model}: {hashes:?}");
    }
    let more = ["--epochs", "2", "--seed", "1", "--out", "seed"];
    folder.text(&arguments("train", &more));
    assert_ne!(hash(&folder, "seed"), hash(&folder, "tgcn-1"), "another seed is another run");
}

/// `metrics.jsonl` as it stands, without the seconds.
fn untimed(folder: &Folder, run: &str) -> String {
    let text = String::from_utf8(folder.bytes(&format!("{run}/metrics.jsonl"))).unwrap();
    let untimed = |line: &str| {
        let (before, after) = line.split_once("\"seconds\":").unwrap();
        format!("{before}{}\n", after.split_once(',').unwrap().1)
    };
    text.lines().map(untimed).collect()
}

#[test]
fn a_continued_run_comes_to_the_same_bits() {
    let folder = Folder::new();
    for (name, more) in [
        ("plain", &[][..]),
        ("shuffled", &["--set", "train.shuffle=true", "--set", "train.optimiser=rmsprop"]),
        ("carried", &["--set", "train.carry_state=true", "--frame", "5"]),
        ("dropped", &["--model", "mpnn-lstm", "--set", "model.dropout=0.3"]),
        ("patient", &["--set", "train.schedule=plateau", "--set", "train.clip=1.0"]),
    ] {
        let (whole, half) = (format!("{name}-whole"), format!("{name}-half"));
        let six = [more, &["--epochs", "6", "--out", &whole]].concat();
        folder.text(&arguments("train", &six));
        let three = [more, &["--epochs", "3", "--out", &half]].concat();
        folder.text(&arguments("train", &three));
        folder.text(&["train", "--resume", &half, "--epochs", "6", "--quiet"]);
        assert_eq!(hash(&folder, &half), hash(&folder, &whole), "{name}");
        assert_eq!(summary(&folder, &half)["test"], summary(&folder, &whole)["test"], "{name}");
        let [one, other] = [&half, &whole].map(|run| untimed(&folder, run));
        assert_eq!(one.lines().count(), 6, "{name}");
        assert_eq!(one, other, "{name}: metrics.jsonl");
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_comes_to_the_same_bits() {
    let folder = Folder::new();
    let each = ["--checkpoint-every", "1", "--set", "train.checkpoint_share=none"];
    let job = [&["--epochs", "60"][..], &each].concat();
    let whole = [&job[..], &["--out", "whole"]].concat();
    folder.text(&arguments("train", &whole));
    let start = [&job[..], &["--out", "killed"]].concat();
    let mut kills = 0;
    // Each attempt is killed later than the one before, so that some are killed while they load,
    // some while they train and some while they save.
    for attempt in 0..20 {
        let arguments = if folder.path("killed/config.toml").is_file() {
            vec!["train", "--resume", "killed", "--quiet"]
        } else {
            let _ = std::fs::remove_dir_all(folder.path("killed"));
            arguments("train", &start)
        };
        let root = folder.path("whole").parent().unwrap().to_owned();
        let mut child =
            command(&root, &arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
        let deadline = std::time::Instant::now() + Duration::from_millis(20 + 15 * attempt);
        while std::time::Instant::now() < deadline && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(kills > 3, "{kills} of 20 attempts were killed at work");
    if !folder.path("killed/summary.json").is_file() {
        folder.text(&["train", "--resume", "killed", "--quiet"]);
    }
    assert_eq!(hash(&folder, "killed"), hash(&folder, "whole"));
}

#[test]
fn a_plan_that_is_saved_is_executed() {
    let folder = Folder::new();
    let text = folder.text(&arguments("plan", &["--out", "plan.json"]));
    assert!(text.contains("aggregates first") && text.contains("activations"), "{text}");
    let plan = folder.json(&arguments("plan", &["--json"]));
    assert_eq!(plan, serde_json::from_slice::<Value>(&folder.bytes("plan.json")).unwrap());
    folder.text(&arguments("train", &["--epochs", "2", "--out", "planned", "--plan", "plan.json"]));
    folder.text(&arguments("train", &["--epochs", "2", "--out", "plain"]));
    assert_eq!(hash(&folder, "planned"), hash(&folder, "plain"));
    // The same mathematics in another layout: groups of one snapshot, the other order, no reuse.
    let other =
        ["--set", "plan.group=1", "--set", "plan.order=update-first", "--set", "plan.reuse=false"];
    let other = [&other[..], &["--epochs", "2", "--out", "other"]].concat();
    folder.text(&arguments("train", &other));
    let loss = |run| summary(&folder, run)["epochs"][1]["loss"].as_f64().unwrap();
    let (other, plain) = (loss("other"), loss("plain"));
    assert!((other - plain).abs() <= 1e-5 * plain.abs(), "{other} {plain}");
    // The plan decides about frames: a model that is built for their length follows it.
    let long = ["--model", "mpnn-lstm", "--frame", "12", "--out", "long.json"];
    folder.text(&arguments("plan", &long));
    let more = ["--model", "mpnn-lstm", "--epochs", "1", "--out", "long", "--plan", "long.json"];
    folder.text(&arguments("train", &more));
    assert_eq!(summary(&folder, "long")["plan"]["rule"]["frame"], 12);
    // A plan for another graph is refused.
    let outcome = folder.run(&[
        "train",
        "--data",
        "synthetic:demo?vertices=21&steps=40",
        "--hidden",
        "8",
        "--plan",
        "plan.json",
        "--quiet",
    ]);
    assert_eq!(outcome.code(), Some(2));
    assert!(outcome.stderr_text().contains("vertices"), "{}", outcome.stderr_text());
}

#[test]
fn weights_move_out_and_in_again() {
    let folder = Folder::new();
    folder.text(&arguments("train", &["--epochs", "2", "--out", "run"]));
    let measured = folder.json(&["eval", "--run", "run", "--json"]);
    assert_eq!(measured["metrics"], summary(&folder, "run")["test"]);
    let weights = ["--weights", "run/weights.safetensors"];
    let bare = folder.json(&arguments("eval", &[&weights[..], &["--json"]].concat()));
    assert_eq!(bare["metrics"], measured["metrics"]);
    let predicted = folder.json(&["predict", "--run", "run", "--out", "p.npy", "--json"]);
    // 40 steps less 8 lags are 32 snapshots; frames of 8 end at 25 of them.
    assert_eq!(predicted["shape"], serde_json::json!([25, 20]));
    let test =
        folder.json(&["predict", "--run", "run", "--out", "t.npy", "--split", "test", "--json"]);
    assert_eq!(test["metrics"], measured["metrics"]);
    let embedded = folder.json(&["embed", "--run", "run", "--out", "e.npy", "--json"]);
    assert_eq!(embedded["shape"], serde_json::json!([20, 8]));
    folder.text(&["embed", "--run", "run", "--out", "e.parquet", "--at", "20", "--quiet"]);
    assert_eq!(&folder.bytes("e.parquet")[..4], b"PAR1");
}

#[test]
fn a_second_process_on_a_run_folder_is_refused() {
    let folder = Folder::new();
    let root = folder.path("run").parent().unwrap().to_owned();
    let long = arguments("train", &["--epochs", "100000", "--out", "run"]);
    let mut first = command(&root, &long).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !folder.path("run/config.toml").is_file() {
        assert!(first.try_wait().unwrap().is_none(), "the first run ended");
        std::thread::yield_now();
    }
    let resume = command(&root, &["train", "--resume", "run", "--quiet"]);
    let second = run_measured(resume, Duration::from_secs(300)).unwrap();
    assert_eq!(second.code(), Some(4));
    assert!(second.stderr_text().contains(&first.id().to_string()), "{}", second.stderr_text());
    first.kill().unwrap();
    first.wait().unwrap();
}

/// What a run took at its peak and what its plan says without the program itself, whose code is larger in
/// builds for tests than in those that the plan speaks of.
fn taken_and_planned(folder: &Folder, words: &[&str]) -> (f64, f64) {
    let summary = folder.json(&[&["train"], words, &["--json", "--quiet"]].concat());
    let memory = summary["plan"]["memory"].as_object().unwrap();
    let parts = memory.iter().filter(|(consumer, _)| *consumer != "program");
    let planned: f64 = parts.map(|(_, bytes)| bytes.as_f64().unwrap()).sum();
    (summary["peak_host_bytes"].as_f64().unwrap(), planned)
}

#[test]
fn a_run_takes_what_its_plan_says() {
    let folder = Folder::new();
    let tiny = ["--data", "synthetic:demo?vertices=20&steps=20", "--epochs", "1"];
    let (taken, planned) = taken_and_planned(&folder, &tiny);
    let program = taken - planned;
    // Large enough that data and activations outweigh the program itself.
    let data = "synthetic:power-law?vertices=4000&steps=16&edges=20000";
    for (model, frame) in
        [("tgcn", "8"), ("evolvegcn-o", "8"), ("mpnn-lstm", "8"), ("dysat", "8"), ("cd-gcn", "4")]
    {
        let frames = ["--frame", frame, "--stride", frame, "--epochs", "2"];
        // EvolveGCN of PyG-Temporal is as wide as the features.
        let width: &[&str] = if model == "evolvegcn-o" { &[] } else { &["--hidden", "16"] };
        let job = ["--data", data, "--model", model, "--set", "data.split=none"];
        let job = [&job[..], &frames, width];
        let (peak, planned) = taken_and_planned(&folder, &job.concat());
        let planned = planned + program;
        assert!(peak <= 1.2 * planned, "{model}: {peak} bytes, planned {planned}");
        assert!(peak >= 0.5 * planned, "{model}: {peak} bytes, planned {planned}");
    }
}

#[test]
fn a_model_of_events_is_measured_again_with_the_memory_that_it_grew() {
    let folder = Folder::new();
    let events = ["--data", "synthetic:bipartite?users=40&items=20&events=1500&features=2"];
    let model = ["--model", "tgn", "--hidden", "8", "--lr", "0.05", "--batch-size", "100"];
    let more = ["--epochs", "3", "--set", "task.candidates=5", "--out", "run", "--quiet"];
    folder.text(&[&["train"][..], &events, &model, &more].concat());
    let measured = folder.json(&["eval", "--run", "run", "--json"]);
    assert_eq!(measured["metrics"], summary(&folder, "run")["test"]);
    assert_eq!(measured["memory"], "run");
    // Memory that the same weights rebuild is another one.
    std::fs::rename(folder.path("run/checkpoints"), folder.path("aside")).unwrap();
    let bare = folder.json(&["eval", "--run", "run", "--json"]);
    assert_eq!(bare["memory"], "replayed");
    assert_ne!(bare["metrics"], measured["metrics"]);
}

#[test]
fn a_run_that_goes_on_with_other_vector_units_says_so() {
    let folder = Folder::new();
    folder.text(&arguments("train", &["--epochs", "2", "--out", "run"]));
    let level = summary(&folder, "run")["vector_level"].as_str().unwrap().to_owned();
    if level == "scalar" {
        return println!("skipped: this processor has no vector units");
    }
    let scalar = |command: &mut std::process::Command| {
        command.env("ZOETROPE_SIMD", "scalar");
    };
    let resume = ["train", "--resume", "run", "--epochs", "3"];
    let outcome = folder.run_with(&resume, scalar, Duration::from_secs(600));
    let said = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(0), "{said}");
    let words = format!("this run was computed with {level} and goes on with scalar");
    assert!(said.contains(&words), "{said}");
    assert_eq!(summary(&folder, "run")["vector_level"], "scalar");
}
