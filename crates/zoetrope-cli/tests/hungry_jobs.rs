//! Jobs that ask for much on small data: planning them takes no more than R4 allows, and says what they take.

mod binary;

use std::fmt::Write as _;

use binary::{Folder, command};
use serde_json::Value;
use zoetrope_testkit::promise::{TIME_LIMIT, breaches, bytes_on_disk, reading_memory_bytes};
use zoetrope_testkit::run_measured;

/// 160 events between 20 sources and 12 destinations.
fn events() -> String {
    let mut rows = "src,dst,time,weight\n".to_owned();
    for at in 0..160 {
        let (src, dst) = (at * 7 % 20, 20 + at * 5 % 12);
        writeln!(rows, "{src},{dst},{},{}.5", 1_000_000 + at * 2000, at % 4).unwrap();
    }
    rows
}

/// A model, what it is asked, and what multiplies the answers.
type Job = (&'static str, &'static str, &'static str);

const SNAPSHOTS: [&str; 10] = [
    "tgcn",
    "a3tgcn",
    "gc-lstm",
    "evolvegcn-o",
    "evolvegcn-h",
    "mpnn-lstm",
    "cd-gcn",
    "wd-gcn",
    "tm-gcn",
    "dysat",
];

fn jobs() -> Vec<Job> {
    let mut jobs: Vec<Job> =
        SNAPSHOTS.map(|model| (model, "link-prediction", "task.negatives=65536")).into();
    jobs.extend([
        ("tgcn", "edge-classification", "task.classes=65536"),
        ("evolvegcn-o", "link-prediction", "task.negatives=65536 data.features=learned"),
        ("tgcn", "link-prediction", "task.negatives=65536 plan.memory_limit=8GiB"),
    ]);
    for model in ["tgn", "jodie", "apan", "tgat"] {
        for asked in ["task.negatives=65536", "task.candidates=1048576"] {
            jobs.push((model, "link-prediction", asked));
        }
    }
    jobs.push(("jodie", "link-prediction", "task.candidates=1048576 plan.deduplicate=false"));
    jobs.push(("tgn", "link-prediction", "task.negatives=65536 plan.deduplicate=false"));
    jobs
}

#[test]
fn planning_takes_little_however_many_answers_are_asked_for() {
    let folder = Folder::new();
    let events = folder.write("e.csv", &events());
    let most = reading_memory_bytes(bytes_on_disk(&events));
    let mut report = String::new();
    for (model, task, settings) in jobs() {
        let mut arguments = vec!["plan", "--json", "--quiet", "--data", "e.csv"];
        arguments.extend(["--model", model, "--task", task]);
        settings.split(' ').for_each(|setting| arguments.extend(["--set", setting]));
        let outcome = run_measured(command(&folder.path(""), &arguments), TIME_LIMIT).unwrap();
        for (_, what) in breaches(&outcome, most, &[0]) {
            writeln!(report, "{model} {settings}: {what}\n{}", outcome.stderr_text()).unwrap();
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// What is extrapolated from fewer candidates is what those of a run take.
#[test]
fn what_very_many_candidates_take_is_planned() {
    let folder = Folder::new();
    let mut job = vec!["train", "--quiet", "--epochs", "1", "--threads", "1", "--out", "run"];
    job.extend(["--model", "tgn", "--hidden", "16", "--memory-limit", "8GiB"]);
    job.extend(["--data", "synthetic:bipartite?events=300&users=30&items=40"]);
    job.extend(["--set", "task.candidates=10000", "--set", "plan.deduplicate=false"]);
    job.extend(["--task", "link-prediction"]);
    let ended = folder.run(&job);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr_text());
    let memory: Value = folder.summary("run")["plan"]["memory"].clone();
    let bytes = memory.as_object().unwrap().values().map(|bytes| bytes.as_u64().unwrap());
    let share = bytes.sum::<u64>() as f64 / ended.peak_rss_bytes as f64;
    // Seen: 0.95 with 20,000. A tenth of the candidates is tried.
    assert!((0.85..1.25).contains(&share), "{share}: {memory} of {}", ended.peak_rss_bytes);
}
