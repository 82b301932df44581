//! `--memory-limit` limits, running out of memory is exit code 4, and small files stay small.

mod binary;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;
use std::time::Duration;

use binary::Folder;
use zoetrope_testkit::{Outcome, run_measured};

const EVENTS: &str = "synthetic:bipartite?events=20000";
const SNAPSHOTS: &str = "synthetic:demo?vertices=1500&steps=64";

fn train(folder: &Folder, model: &str, data: &str, more: &[&str]) -> Outcome {
    let _ = std::fs::remove_dir_all(folder.path("run"));
    let start =
        ["train", "--quiet", "--model", model, "--data", data, "--epochs", "1", "--out", "run"];
    folder.run(&[&start[..], more].concat())
}

#[test]
fn every_event_model_keeps_to_its_limit_or_says_that_it_cannot() {
    let folder = Folder::new();
    for model in ["tgn", "jodie", "apan", "tgat"] {
        let tiny = train(&folder, model, EVENTS, &["--memory-limit", "1"]);
        assert_eq!(tiny.code(), Some(4), "{model}: {}", tiny.stderr_text());
        let free = train(&folder, model, EVENTS, &[]);
        assert_eq!(free.code(), Some(0), "{model}: {}", free.stderr_text());
        for (share, must_run) in [(1.3, true), (0.7, false), (0.4, false)] {
            let limit = (free.peak_rss_bytes as f64 * share) as u64;
            let ended = train(&folder, model, EVENTS, &["--memory-limit", &limit.to_string()]);
            let text = ended.stderr_text();
            assert!(ended.code() == Some(0) || ended.code() == Some(4), "{model} {share}: {text}");
            assert!(!must_run || ended.code() == Some(0), "{model} {share}: {text}");
            // Event models have no blocks and no frames.
            assert!(!text.contains("plan.blocks") && !text.contains("frame"), "{text}");
            assert!(ended.peak_rss_bytes <= limit, "{model} {share}: {}", ended.peak_rss_bytes);
        }
    }
}

/// Near the limit the allocator returns unused memory to the system. Blocks that are allocated and not
/// touched yet must not hide what else the process holds.
#[test]
fn a_limit_that_is_nearly_reached_is_kept() {
    let folder = Folder::new();
    for (more, shares) in [(&[][..], [80, 85, 90]), (&["--ranks", "4"], [60, 65, 75])] {
        let free = train(&folder, "cd-gcn", SNAPSHOTS, more);
        assert_eq!(free.code(), Some(0), "{}", free.stderr_text());
        let mut ran = 0;
        for percent in shares {
            let limit = free.peak_rss_bytes / 100 * percent;
            let text = limit.to_string();
            let limited = [more, &["--memory-limit", &text]].concat();
            let ended = train(&folder, "cd-gcn", SNAPSHOTS, &limited);
            let (code, peak) = (ended.code(), ended.peak_rss_bytes);
            let said = ended.stderr_text();
            assert!(
                matches!(code, Some(0 | 4)) && peak <= limit,
                "{percent} %: {code:?} {peak} {said}"
            );
            ran += usize::from(code == Some(0));
        }
        assert!(ran > 0 || !more.is_empty(), "none ran");
    }
}

#[test]
fn a_limit_changes_no_result() {
    let folder = Folder::new();
    let results = |ended: &Outcome| {
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr_text());
        let summary = folder.summary("run");
        (summary["state_hash"].clone(), summary["test"].clone())
    };
    let flags = ["--task", "link-prediction", "--set", "task.candidates=200"];
    let free = train(&folder, "tgn", EVENTS, &flags);
    let expected = results(&free);
    let mut ran = 0;
    // From enough for everything to too little for a step; in between questions come in smaller pieces.
    for share in [1.3, 1.1, 0.9, 0.7] {
        let limit = ((free.peak_rss_bytes as f64 * share) as u64).to_string();
        let ended =
            train(&folder, "tgn", EVENTS, &[&flags[..], &["--memory-limit", &limit]].concat());
        if ended.code() != Some(4) {
            assert_eq!(results(&ended), expected, "{share}");
            ran += 1;
        }
    }
    assert!(ran >= 1, "{ran}");
}

#[test]
fn snapshot_models_with_long_frames_and_ranks_keep_to_their_limit() {
    let folder = Folder::new();
    for (model, flags) in [
        ("gc-lstm", &["--frame", "all"][..]),
        ("dysat", &["--frame", "24"]),
        ("tm-gcn", &["--frame", "24", "--ranks", "4"]),
    ] {
        let free = train(&folder, model, SNAPSHOTS, flags);
        assert_eq!(free.code(), Some(0), "{model}: {}", free.stderr_text());
        for share in [1.3, 0.6, 0.45] {
            let limit = (free.peak_rss_bytes as f64 * share) as u64;
            let text = limit.to_string();
            let limited = [flags, &["--memory-limit", &text]].concat();
            let ended = train(&folder, model, SNAPSHOTS, &limited);
            let text = ended.stderr_text();
            assert!(ended.code() == Some(0) || ended.code() == Some(4), "{model} {share}: {text}");
            assert!(ended.peak_rss_bytes <= limit, "{model} {share}: {}", ended.peak_rss_bytes);
        }
    }
}

#[test]
fn a_frame_that_is_longer_than_the_memory_is_computed_and_judged_in_blocks() {
    let folder = Folder::new();
    let few = "synthetic:demo?vertices=100&steps=600";
    let flags = ["--frame", "all", "--set", "data.split=60/20/20"];
    let free = train(&folder, "gc-lstm", few, &flags);
    assert_eq!(free.code(), Some(0), "{}", free.stderr_text());
    let expected = folder.summary("run");
    let limit = free.peak_rss_bytes / 2;
    let text = limit.to_string();
    let ended = train(&folder, "gc-lstm", few, &[&flags[..], &["--memory-limit", &text]].concat());
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr_text());
    assert!(ended.peak_rss_bytes <= limit, "{} of {limit}", ended.peak_rss_bytes);
    let found = folder.summary("run");
    assert!(found["plan"]["blocks"]["count"].as_u64().unwrap() > 1, "{}", found["plan"]);
    // Gradients of blocks are added up in another order than those of a whole frame.
    let mse = |summary: &serde_json::Value| summary["test"]["mse"].as_f64().unwrap();
    assert!(
        (mse(&found) / mse(&expected) - 1.0).abs() < 1e-4,
        "{} {}",
        mse(&found),
        mse(&expected)
    );
}

#[test]
fn a_table_and_smoothed_snapshots_that_do_not_fit_are_refused_before_they_are_made() {
    let folder = Folder::new();
    // Row by row: what this process holds when it starts a program counts as that program's peak.
    let mut file = BufWriter::new(File::create(folder.path("long.csv")).unwrap());
    file.write_all(b"src,dst,time\n").unwrap();
    for at in 0..2_000_000 {
        writeln!(file, "{},{},{at}", at % 997, at % 991).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    let long = train(&folder, "tgn", "long.csv", &["--memory-limit", "40MB"]);
    let text = long.stderr_text();
    assert_eq!(long.code(), Some(4), "{text}");
    assert!(text.contains("reading long.csv would take"), "{text}");
    let power = "synthetic:power-law?vertices=2000&steps=64&edges=10000&change=1";
    let smooth = ["--set", "data.edge_life=64", "--memory-limit", "60MB"];
    let smoothed = train(&folder, "tgcn", power, &smooth);
    let text = smoothed.stderr_text();
    assert_eq!(smoothed.code(), Some(4), "{text}");
    assert!(text.contains("smoothed over time would take"), "{text}");
    assert!(text.contains("data.edge_life"), "{text}");
}

#[test]
fn a_network_that_does_not_fit_is_refused_before_it_is_made() {
    let folder = Folder::new();
    let few =
        ["--data", "synthetic:demo?vertices=20&steps=20", "--model", "evolvegcn-o", "--quiet"];
    let wide = ["--set", "data.features=learned", "--set", "data.learned_width=65536"];
    let refused = folder.run(&[&["plan"], &few[..], &wide].concat());
    let text = refused.stderr_text();
    assert_eq!(refused.code(), Some(4), "{text}");
    assert!(text.contains("parameters would take") && text.contains("learned_width"), "{text}");
    assert!(refused.peak_rss_bytes < 64 << 20, "{}", refused.peak_rss_bytes);
}

#[test]
fn a_system_without_memory_is_exit_code_4_and_never_a_signal() {
    let folder = Folder::new();
    for (kibibytes, model) in
        [(50_000, "tgn"), (90_000, "tgn"), (150_000, "apan"), (200_000, "tgat"), (90_000, "tgcn")]
    {
        let data = if model == "tgcn" { SNAPSHOTS } else { EVENTS };
        let _ = std::fs::remove_dir_all(folder.path("run"));
        let mut command = Command::new("sh");
        let script = format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_zoetrope")]);
        command.args(["train", "--json", "--model", model, "--data", data, "--epochs", "1"]);
        command.args(["--out", "run"]).current_dir(folder.path("."));
        let ended = run_measured(command, Duration::from_secs(600)).unwrap();
        let text = ended.stderr_text();
        match ended.code() {
            Some(0) => {}
            Some(4) => {
                let error: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
                assert_eq!(error["error"]["code"], 4, "{model} {kibibytes}: {text}");
                // No limit of ours is in the way.
                assert!(!text.contains("--memory-limit"), "{text}");
                assert!(model == "tgcn" || !text.contains("plan.blocks"), "{text}");
            }
            code => panic!("{model} {kibibytes}: {code:?} {text}"),
        }
    }
}

#[test]
fn two_rows_far_apart_take_no_memory() {
    /// What R4 allows a small file.
    const MOST: u64 = 64 << 20;
    let folder = Folder::new();
    folder.write("two.csv", "src,dst,time\n1,2,0\n2,3,4000000\n");
    let inspected = folder.run(&["data", "inspect", "two.csv", "--window", "1", "--json"]);
    assert_eq!(inspected.code(), Some(0), "{}", inspected.stderr_text());
    assert!(inspected.peak_rss_bytes < MOST, "{}", inspected.peak_rss_bytes);
    let report: serde_json::Value = serde_json::from_slice(&inspected.stdout).unwrap();
    assert_eq!(report["window"]["snapshots"], 4_000_001);
    assert_eq!(report["window"]["rows"].as_array().unwrap().len(), 2);
    for command in ["train", "plan"] {
        let window = ["--data", "two.csv", "--model", "tgcn", "--set", "data.window=1"];
        let refused = folder.run(&[&[command][..], &window].concat());
        let text = refused.stderr_text();
        assert_eq!(refused.code(), Some(2), "{text}");
        assert!(text.contains("3999999 are empty") && text.contains("data.window"), "{text}");
        assert!(refused.peak_rss_bytes < MOST, "{}", refused.peak_rss_bytes);
    }
}

/// With few events and wide layers nearly all memory is that of parameters: their gradients, the optimiser's
/// arrays, the best epoch's, and the copies that a checkpoint is made of.
#[test]
fn parameters_of_event_models_are_counted_as_often_as_they_are_held() {
    let folder = Folder::new();
    let data = "synthetic:bipartite?events=300&users=30&items=40&features=0";
    let wide = ["--task", "link-prediction", "--hidden", "512", "--threads", "1"];
    let small = ["--set", "train.batch_size=16", "--set", "task.candidates=2"];
    for model in ["jodie", "apan"] {
        let more = [&wide[..], &small, &["--memory-limit", "4GiB"]].concat();
        let ended = train(&folder, model, data, &more);
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr_text());
        let memory = folder.summary("run")["plan"]["memory"].as_object().unwrap().clone();
        let planned: u64 = memory.values().map(|bytes| bytes.as_u64().unwrap()).sum();
        let share = planned as f64 / ended.peak_rss_bytes as f64;
        // Seen: 1.03 and 1.16; activations of the largest batch and the copies meet only by chance.
        assert!((1.0..1.25).contains(&share), "{model}: {planned} of {}", ended.peak_rss_bytes);
    }
}

/// A wide model on a small graph, whose checkpoint takes more than a step of training.
#[test]
fn parameters_of_snapshot_models_are_counted_as_often_as_they_are_held() {
    let folder = Folder::new();
    let wide = ["--hidden", "512", "--threads", "1", "--memory-limit", "4GiB"];
    for model in ["tgcn", "cd-gcn"] {
        let ended = train(&folder, model, "synthetic:demo?vertices=20&steps=24", &wide);
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr_text());
        let memory = folder.summary("run")["plan"]["memory"].as_object().unwrap().clone();
        let planned: u64 = memory.values().map(|bytes| bytes.as_u64().unwrap()).sum();
        let share = planned as f64 / ended.peak_rss_bytes as f64;
        // Seen: 0.89 and 0.92; 0.37 if what saving takes is left out. Kernels keep up to three times the weights
        // for themselves, which nobody counts.
        assert!((0.85..1.25).contains(&share), "{model}: {planned} of {}", ended.peak_rss_bytes);
    }
}
