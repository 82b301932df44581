//! What the data decides if nothing was said, seen from outside.

mod binary;

use binary::Folder;
use serde_json::Value;

/// Events of a small town, one an hour: `src,dst,time`, then whatever `more` adds to the row.
fn events(count: usize, more: impl Fn(usize) -> String) -> String {
    let row = |at: usize| {
        let (src, dst) = (at * 7 % 11, 11 + at * 5 % 13);
        format!("{src},{dst},{}{}\n", 1_577_836_800 + at * 3_600, more(at))
    };
    (0..count).map(row).collect()
}

fn chosen<'a>(summary: &'a Value, key: &str) -> Option<&'a Value> {
    summary["chosen"].as_array()?.iter().find(|choice| choice["key"] == key)
}

const SHORT: &[&str] = &["--epochs", "1", "--hidden", "8"];

fn train(folder: &Folder, more: &[&str]) -> Value {
    folder.json(&[&["train", "--json"], SHORT, more].concat())
}

#[test]
fn events_without_a_model_get_an_event_model_and_keys_of_snapshots_cut_them() {
    let folder = Folder::new();
    folder.write("e.csv", &format!("src,dst,time\n{}", events(300, |_| String::new())));
    let summary = train(&folder, &["--data", "e.csv", "--out", "a"]);
    assert_eq!((&summary["model"], &summary["task"]), (&"tgn".into(), &"link-prediction".into()));
    let because = chosen(&summary, "model.name").unwrap()["because"].as_str().unwrap();
    assert!(because.contains("300 events"), "{because}");
    let saved = String::from_utf8(folder.bytes("a/config.toml")).unwrap();
    assert!(saved.contains("name = \"tgn\""), "{saved}");
    assert!(saved.contains("# chosen: model.name = tgn because"), "{saved}");
    // What was given is not touched, and a model that was named is not chosen.
    let given = train(&folder, &["--data", "e.csv", "--model", "tgcn", "--out", "b"]);
    assert_eq!(given["model"], "tgcn");
    assert!(chosen(&given, "model.name").is_none());
    // Keys that only snapshot models read say that events are to be cut.
    for (out, set) in [("c", "data.window=1d"), ("d", "train.frame=2")] {
        let cut = train(&folder, &["--data", "e.csv", "--set", set, "--out", out]);
        assert_eq!(cut["model"], "tgcn", "{set}");
        assert!(cut["data"]["snapshots"].as_u64().unwrap() > 1, "{set}");
    }
    // Keys of event models are taken without naming one.
    let set = train(&folder, &["--data", "e.csv", "--set", "model.neighbours=3", "--out", "e"]);
    assert_eq!(set["model"], "tgn");
    let plan = folder.text(&["plan", "--data", "e.csv", "--quiet"]);
    assert!(plan.contains("chosen: model.name = tgn because"), "{plan}");
    let plan = folder.json(&["plan", "--data", "e.csv", "--json"]);
    let reasons = plan["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| {
        reason.as_str().unwrap().starts_with("chosen: model.name = tgn because")
    }));
}

#[test]
fn labelled_events_get_the_task_of_their_labels_unless_these_say_nothing() {
    let folder = Folder::new();
    let header = "src,dst,time,label\n";
    let table = |label: fn(usize) -> usize| {
        format!("{header}{}", events(400, |at| format!(",{}", label(at))))
    };
    folder.write("labels.csv", &table(|at| at % 2));
    let summary = train(&folder, &["--data", "labels.csv", "--out", "a"]);
    assert_eq!(summary["task"], "edge-classification");
    assert!(chosen(&summary, "task.name").is_some());
    // One class, or a class that training never sees.
    for (name, label, out) in
        [("one.csv", (|_| 0) as fn(usize) -> usize, "b"), ("late.csv", |at| at / 390, "c")]
    {
        folder.write(name, &table(label));
        let outcome = folder.run(&[&["train", "--data", name, "--out", out], SHORT].concat());
        let error = outcome.stderr_text();
        assert_eq!(outcome.code(), Some(0), "{name}: {error}");
        assert!(error.contains("labels of events are not the task"), "{name}: {error}");
        let saved: Value =
            serde_json::from_slice(&folder.bytes(&format!("{out}/summary.json"))).unwrap();
        assert_eq!(saved["task"], "link-prediction", "{name}");
    }
}

#[test]
fn a_stray_first_time_does_not_make_hundreds_of_windows() {
    let folder = Folder::new();
    let text = format!("src,dst,time\n3,14,0\n{}", events(2_000, |_| String::new()));
    folder.write("stray.csv", &text);
    let arguments = ["train", "--data", "stray.csv", "--model", "tgcn", "--out", "run"];
    let outcome = folder.run(&[&arguments, SHORT].concat());
    let error = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(0), "{error}");
    assert!(error.contains("1 event lies far from all others"), "{error}");
    assert!(error.contains("3 → 14 at 0 s"), "{error}");
    let summary: Value = serde_json::from_slice(&folder.bytes("run/summary.json")).unwrap();
    let steps = summary["data"]["snapshots"].as_u64().unwrap();
    assert!((20..300).contains(&steps), "{steps} snapshots");
}

#[test]
fn a_frame_that_does_not_fit_shrinks_unless_it_was_asked_for() {
    let folder = Folder::new();
    let data = ["--data", "synthetic:demo?vertices=20&steps=14"];
    let summary = train(&folder, &[&data[..], &["--out", "a"]].concat());
    let frame = chosen(&summary, "train.frame").expect("the frame is chosen");
    assert_eq!(frame["value"], "2", "{frame}");
    let outcome = folder.run(&[&["train", "--frame", "8"], SHORT, &data].concat());
    let error = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(2), "{error}");
    assert!(error.contains("frame") && error.contains("8"), "{error}");
}

#[test]
fn the_first_run_learns() {
    let folder = Folder::new();
    // A fifth of the epochs of `zoetrope train`.
    let summary = folder.json(&["train", "--epochs", "10", "--json", "--out", "run"]);
    let losses: Vec<f64> = summary["epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|epoch| epoch["loss"].as_f64().unwrap())
        .collect();
    assert!(losses[9] < 0.5 * losses[0], "the loss falls: {losses:?}");
    let val = |epoch: usize| summary["epochs"][epoch]["val"]["mse"].as_f64().unwrap();
    let best = (0..10).min_by(|&a, &b| val(a).total_cmp(&val(b))).unwrap();
    assert!(best >= 5, "the best epoch is {} of 10", best + 1);
    let mse = |rule: &str| summary["baselines"][rule]["mse"].as_f64().unwrap();
    let own = summary["test"]["mse"].as_f64().unwrap();
    assert!(own < 0.6 * mse("persistence") && own < 0.1 * mse("historical_mean"), "{own}");
    assert_eq!(summary["verdict"]["beats"], true);
}

#[test]
fn the_report_says_plainly_whether_a_rule_was_beaten() {
    let folder = Folder::new();
    let text = folder.text(&["train", "--epochs", "5", "--quiet", "--out", "a"]);
    assert!(text.contains("tgcn beats the best rule, persistence: mse"), "{text}");
    let slow = ["--epochs", "1", "--lr", "1e-9", "--quiet", "--out", "b"];
    let text = folder.text(&[&["train"], &slow[..]].concat());
    assert!(text.contains("tgcn does not beat"), "{text}");
    assert!(text.contains("try --epochs 3"), "{text}");
    let summary: Value = serde_json::from_slice(&folder.bytes("b/summary.json")).unwrap();
    assert_eq!(summary["verdict"]["beats"], false);
    assert!(!summary["verdict"]["try"].as_array().unwrap().is_empty());
}
