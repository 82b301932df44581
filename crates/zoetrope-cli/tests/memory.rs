//! With which memory a finished run is used: tied to its events by content, never by path.

mod binary;

use std::fmt::Write;

use binary::Folder;
use serde_json::Value;

/// Settings under which 1,000 events part after 600 and 800 of them, where batches end, too.
const MODEL: &[&str] = &["--model", "tgn", "--hidden", "8", "--lr", "0.05", "--batch-size", "100"];
const SETTINGS: &[&str] = &["--set", "task.candidates=5", "--set", "model.neighbours=4"];

/// The lines of so many events, one every 10 seconds, without features. From the thousandth on
/// vertices take part that come before all others in the order of identifiers.
fn events(count: usize) -> Vec<String> {
    let mut random = 7u64;
    let mut below = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % most
    };
    (0..count)
        .map(|event| {
            let first = if event < 1000 { 100 } else { 90 };
            let (src, step) = (first + below(40), below(6));
            format!("{src},{},{}", 200 + (3 * src + step) % 30, 10 * event)
        })
        .collect()
}

fn table(lines: &[String]) -> String {
    let mut text = "src,dst,time\n".to_owned();
    lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
    text
}

fn train(folder: &Folder, data: &str, out: &str, more: &[&str]) -> Value {
    let start = ["train", "--data", data, "--out", out, "--quiet", "--json"];
    let model = if more.contains(&"--model") { &MODEL[2..] } else { MODEL };
    folder.json(&[&start[..], model, SETTINGS, more].concat())
}

/// A folder with the first thousand events and a run on them.
fn trained(more: &[&str]) -> (Folder, Value) {
    let folder = Folder::new();
    folder.write("e.csv", &table(&events(1000)));
    let split = ["--set", "data.split=60/20/20", "--epochs", "3"];
    let summary = train(&folder, "e.csv", "run", &[&split[..], more].concat());
    (folder, summary)
}

fn eval(folder: &Folder, more: &[&str]) -> Value {
    folder.json(&[&["eval", "--run", "run", "--json"][..], more].concat())
}

#[test]
fn the_same_events_have_the_memory_of_the_run_whatever_their_file_is() {
    for more in [&[][..], &["--set", "data.inductive=0.1"]] {
        let (folder, summary) = trained(more);
        std::fs::create_dir(folder.path("elsewhere")).unwrap();
        std::fs::copy(folder.path("e.csv"), folder.path("elsewhere/copy.csv")).unwrap();
        folder.json(&["data", "convert", "e.csv", "e.zoe", "--json"]);
        folder.json(&["data", "convert", "e.csv", "packed.csv.gz", "--json"]);
        let absolute = folder.path("e.csv");
        let files = [
            "e.csv",
            "./e.csv",
            absolute.to_str().unwrap(),
            "elsewhere/copy.csv",
            "e.zoe",
            "packed.csv.gz",
        ];
        for data in files {
            let measured = eval(&folder, &["--data", data]);
            assert_eq!(measured["memory"], "run", "{data}");
            assert!(!measured["warnings"].to_string().contains("replay"), "{data}: {measured}");
            assert_eq!(measured["metrics"], summary["test"], "{data}");
        }
    }
}

#[test]
fn validation_is_measured_as_the_best_epoch_measured_it() {
    let (folder, summary) = trained(&[]);
    let measured = eval(&folder, &["--split", "val"]);
    assert_eq!(measured["memory"], "run");
    let better = |a: &&Value, b: &&Value| {
        a["val"]["ap"].as_f64().unwrap().total_cmp(&b["val"]["ap"].as_f64().unwrap())
    };
    let best = summary["epochs"].as_array().unwrap().iter().max_by(better).unwrap();
    assert_eq!(measured["metrics"], best["val"]);
    // What the final weights make of the training part nobody has measured before.
    let training = eval(&folder, &["--split", "train"]);
    assert_eq!(training["memory"], "replayed");
}

#[test]
fn the_weights_of_the_run_have_its_memory_and_others_have_not() {
    let (folder, summary) = trained(&[]);
    std::fs::copy(folder.path("run/weights.safetensors"), folder.path("w.safetensors")).unwrap();
    for weights in ["run/weights.safetensors", "w.safetensors"] {
        let measured = eval(&folder, &["--weights", weights]);
        assert_eq!(measured["memory"], "run", "{weights}");
        assert_eq!(measured["metrics"], summary["test"], "{weights}");
    }
    // Beside the weights lies the run that they belong to.
    let bare = ["eval", "--data", "./e.csv", "--json", "--set", "data.split=60/20/20", "--weights"];
    let with = |weights| [&bare[..], &[weights], MODEL, SETTINGS].concat();
    let measured = folder.json(&with("run/weights.safetensors"));
    assert_eq!((&measured["memory"], &measured["metrics"]), (&"run".into(), &summary["test"]));
    let alone = folder.json(&with("w.safetensors"));
    assert_eq!(alone["memory"], "replayed");
    assert_ne!(alone["metrics"], summary["test"]);
    let split = ["--set", "data.split=60/20/20", "--epochs", "1", "--seed", "8"];
    train(&folder, "e.csv", "other", &split);
    let foreign = eval(&folder, &["--weights", "other/weights.safetensors"]);
    assert_eq!(foreign["memory"], "replayed");
    let warning = foreign["warnings"][0].as_str().unwrap();
    assert!(warning.contains("the weights are not those of the run"), "{warning}");
}

#[test]
fn pairs_before_the_end_of_training_do_not_change_those_after_it() {
    let (folder, _) = trained(&[]);
    let late = "src,dst,time\n101,203,6001\n102,206,8500\n103,209,9991\n";
    folder.write("late.csv", late);
    folder.write("both.csv", &format!("{late}104,212,900\n105,215,5000\n"));
    let predict = |pairs: &str, out: &str| {
        folder.json(&["predict", "--run", "run", "--pairs", pairs, "--out", out, "--json"])
    };
    let report = predict("late.csv", "late.npy");
    assert_eq!(report["memory"], "run");
    assert_eq!(report["pairs_by_memory"], serde_json::json!({"run": 3}));
    let report = predict("both.csv", "both.npy");
    assert_eq!(report["memory"], "replayed");
    assert_eq!(report["pairs_by_memory"], serde_json::json!({"run": 3, "replayed": 2}));
    assert!(report["warnings"][0].as_str().unwrap().contains("replay"), "{report}");
    let values = |name: &str| folder.bytes(name)[128..][..12].to_vec();
    assert_eq!(values("late.npy"), values("both.npy"));
    // The same of vertices at a time.
    let embed = |at: &str| {
        let out = format!("{at}.npy");
        folder.json(&["embed", "--run", "run", "--at", at, "--out", &out, "--json"])
    };
    assert_eq!(embed("7000")["memory"], "run");
    assert_eq!(embed("3000")["memory"], "replayed");
}

#[test]
fn a_longer_file_goes_on_from_the_memory_of_the_run() {
    for model in [&[][..], &["--set", "model.variant=pyg"], &["--model", "apan"]] {
        let (folder, _) = trained(model);
        folder.write("longer.csv", &table(&events(1600)));
        // One run over all events with the same parts comes to the same.
        let split = ["--set", "data.split=37.5/12.5/50", "--epochs", "3"];
        let whole = train(&folder, "longer.csv", "whole", &[&split[..], model].concat());
        let weights = |run: &str| folder.bytes(&format!("{run}/weights.safetensors"));
        assert!(weights("run") == weights("whole"), "the same events are learnt from");
        let measured = eval(&folder, &["--data", "longer.csv"]);
        assert_eq!(measured["memory"], "continued");
        assert_eq!(measured["warnings"], Value::Null);
        assert_eq!(measured["metrics"], whole["test"], "{model:?}");
        let split = &measured["protocol"]["split"];
        assert_eq!((&split["val"], &split["test"]), (&[600, 800].into(), &[800, 1600].into()));
        assert_eq!(split["run_events"], 1000);
    }
}

#[test]
fn what_is_new_in_a_longer_file_is_judged_alone() {
    let folder = Folder::new();
    folder.write("e.csv", &table(&events(1000)));
    folder.write("longer.csv", &table(&events(1600)));
    train(&folder, "e.csv", "run", &["--set", "data.split=60/20/20", "--epochs", "1"]);
    let split = ["--set", "data.split=37.5/25/37.5", "--epochs", "1"];
    let whole = train(&folder, "longer.csv", "whole", &split);
    let measured = eval(&folder, &["--data", "longer.csv", "--split", "new"]);
    assert_eq!(measured["memory"], "continued");
    assert_eq!(measured["metrics"], whole["test"]);
    assert_eq!(measured["protocol"]["split"]["test"], serde_json::json!([1000, 1600]));
    let outcome = folder.run(&["eval", "--run", "run", "--split", "new"]);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("no event after those of the run"));
}

#[test]
fn an_event_that_differs_before_the_end_of_training_means_replay() {
    let (folder, summary) = trained(&[]);
    let mut lines = events(1000);
    lines[900] = "101,229,9000".to_owned();
    folder.write("later.csv", &table(&lines));
    let measured = eval(&folder, &["--data", "later.csv"]);
    assert_eq!((&measured["memory"], &measured["warnings"]), (&"continued".into(), &Value::Null));
    assert_ne!(measured["metrics"], summary["test"]);
    lines[30] = "101,229,300".to_owned();
    folder.write("other.csv", &table(&lines));
    let measured = eval(&folder, &["--data", "other.csv"]);
    assert_eq!(measured["memory"], "replayed");
    assert!(measured["warnings"][0].as_str().unwrap().contains("the events are not those"));
    let outcome = folder.run(&["eval", "--run", "run", "--data", "other.csv", "--quiet"]);
    assert!(outcome.stderr_text().contains("warning: memory was rebuilt"), "{outcome:?}");
    assert!(outcome.stdout_text().contains("memory: rebuilt by replay"), "{outcome:?}");
    let outcome = folder.run(&["eval", "--run", "run", "--quiet"]);
    assert!(outcome.stdout_text().contains("memory: of the run"), "{outcome:?}");
}

#[test]
fn a_run_without_validation_and_a_model_without_memory_are_measured_again() {
    let folder = Folder::new();
    folder.write("e.csv", &table(&events(1000)));
    for (run, more, memory) in
        [("a", &["--set", "data.split=80/20"][..], "run"), ("b", &["--model", "tgat"], "none")]
    {
        let summary = train(&folder, "e.csv", run, &[more, &["--epochs", "2"]].concat());
        let measured = folder.json(&["eval", "--run", run, "--data", "./e.csv", "--json"]);
        assert_eq!(measured["memory"], memory);
        assert_eq!(measured["metrics"], summary["test"]);
    }
}
