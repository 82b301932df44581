//! Transactions judged with their own columns in view: training, the report, and new transactions.

mod binary;

use std::fmt::Write as _;

use binary::Folder;
use serde_json::Value;

/// Transactions between accounts; fraud is a risk above 1.5, which no account tells.
fn transactions(from: u64, to: u64, label: bool) -> String {
    let mut text = String::from("src,dst,time,amount,risk");
    text.push_str(if label { ",label\n" } else { "\n" });
    // A generator of Lehmer's: numbers that follow no pattern, and the same ones everywhere.
    let draw = |at: u64| (at + 1).wrapping_mul(6_364_136_223_846_793_005).rotate_left(29) >> 33;
    for at in from..to {
        let (src, dst) = (draw(3 * at) % 40, 40 + draw(3 * at + 1) % 40);
        let risk = (draw(3 * at + 2) % 1000) as f64 / 500.0;
        write!(text, "a{src},a{dst},{},{},{risk}", 100 * at, 5 + at % 17).unwrap();
        text.push_str(match (label, risk > 1.5) {
            (false, _) => "\n",
            (true, true) => ",1\n",
            (true, false) => ",0\n",
        });
    }
    text
}

const JOB: &[&str] = &[
    "train",
    "--data",
    "fraud.csv",
    "--model",
    "tgn",
    "--task",
    "edge-classification",
    "--hidden",
    "8",
    "--epochs",
    "8",
    "--lr",
    "0.01",
    "--batch-size",
    "50",
    "--quiet",
];

#[test]
fn a_report_names_the_columns_and_pairs_are_asked_with_them() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions(0, 1000, true));
    let text = folder.text(&[JOB, &["--out", "run"]].concat());
    assert!(
        text.contains("of a judged event the model sees its ends, its time and risk, weight"),
        "{text}"
    );
    let summary: Value = serde_json::from_slice(&folder.bytes("run/summary.json")).unwrap();
    let seen = &summary["protocol"]["task"]["own_features"];
    assert_eq!(seen["columns"], serde_json::json!(["risk", "weight"]));
    assert!(summary["test"]["ap"].as_f64().unwrap() > 0.95, "{}", summary["test"]);

    // Tomorrow's transactions, which have no labels yet.
    folder.write("new.csv", &transactions(1000, 1040, false));
    let ask = |pairs, out| ["predict", "--run", "run", "--pairs", pairs, "--out", out];
    folder.text(&ask("new.csv", "scores.npy"));
    let scores = folder.bytes("scores.npy");
    let scores: Vec<f32> = scores[scores.len() - 4 * 40..]
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let text = transactions(1000, 1040, true);
    let is_fraud: Vec<bool> = text.lines().skip(1).map(|line| line.ends_with(",1")).collect();
    let least = |fraud| {
        let of = scores.iter().zip(&is_fraud).filter(move |(_, is)| **is == fraud);
        of.map(|(score, _)| *score).collect::<Vec<f32>>()
    };
    let mean = |scores: Vec<f32>| scores.iter().sum::<f32>() / scores.len() as f32;
    assert!(mean(least(true)) > mean(least(false)), "{scores:?}");

    // The order of the columns does not matter, and the scale is that of the run, not of the file: a pair
    // alone gets the score that it has among others.
    let line = |number: usize, text: &str| -> Vec<String> {
        text.lines().nth(number).unwrap().split(',').map(str::to_owned).collect()
    };
    let (names, first) = (line(0, &text), line(1, &text));
    let turned = [&names, &first].map(|row| [4, 3, 2, 1, 0].map(|at| row[at].as_str()).join(","));
    folder.write("alone.csv", &(turned.join("\n") + "\n"));
    folder.text(&ask("alone.csv", "alone.npy"));
    let alone = folder.bytes("alone.npy");
    let alone = f32::from_le_bytes(alone[alone.len() - 4..].try_into().unwrap());
    assert!((alone - scores[0]).abs() < 1e-4 * scores[0].abs().max(1.0), "{alone} {}", scores[0]);

    folder.write("bare.csv", "src,dst,time,amount\na1,a41,100001,7\n");
    let outcome = folder.run(&ask("bare.csv", "none.npy"));
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stderr_text());
    let error = outcome.stderr_text();
    assert!(error.contains("bare.csv") && error.contains("\"risk\""), "{error}");
    assert!(!folder.path("none.npy").exists());
}

#[test]
fn hidden_columns_are_hidden_and_reported_so() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions(0, 600, true));
    let hidden = ["--set", "task.own_features=false", "--out", "hidden"];
    let text = folder.text(&[JOB, &hidden].concat());
    assert!(
        text.contains("of a judged event the model sees its ends and its time, no features"),
        "{text}"
    );
    let summary: Value = serde_json::from_slice(&folder.bytes("hidden/summary.json")).unwrap();
    assert!(summary["test"]["ap"].as_f64().unwrap() < 0.6, "{}", summary["test"]);
    folder.write("pairs.csv", "src,dst,time\na1,a41,100001\n");
    folder.text(&["predict", "--run", "hidden", "--pairs", "pairs.csv", "--out", "s.npy"]);
    let refused = ["--task", "link-prediction", "--set", "task.own_features=true"];
    let outcome =
        folder.run(&[&["train", "--data", "fraud.csv", "--model", "tgn"], &refused[..]].concat());
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("did not happen"), "{}", outcome.stderr_text());
}

/// Rare classes of edges on snapshots: AP and AUC for the model and the baseline, weights in the protocol.
#[test]
fn snapshots_are_judged_by_ap_and_auc_and_weigh_classes() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions(0, 800, true));
    let job = [
        "train",
        "--data",
        "fraud.csv",
        "--model",
        "tgcn",
        "--task",
        "edge-classification",
        "--hidden",
        "4",
        "--epochs",
        "2",
        "--set",
        "data.window=20 parts",
        "--set",
        "task.class_weights=balanced",
        "--set",
        "data.split=70/15/15",
        "--json",
        "--quiet",
        "--out",
    ];
    let summary = folder.json(&[&job[..], &["balanced"]].concat());
    for measures in [&summary["test"], &summary["baselines"]["majority_class"]] {
        for metric in ["ap", "auc", "accuracy", "f1_macro"] {
            assert!(measures[metric].is_number(), "{metric}: {measures}");
        }
    }
    // The majority says the same of every edge: its AP is the share of positives.
    let baseline = &summary["baselines"]["majority_class"];
    assert_eq!(baseline["auc"], 0.5);
    let (ap, accuracy) = (baseline["ap"].as_f64().unwrap(), baseline["accuracy"].as_f64().unwrap());
    assert!((ap + accuracy - 1.0).abs() < 1e-9, "{baseline}");
    let weights = &summary["protocol"]["task"]["class_weights"]["weights"];
    let [negative, positive] = [0, 1].map(|class| weights[class].as_f64().unwrap());
    // n / (2 n_0) and n / (2 n_1): the halves add up to one.
    assert!((0.5 / negative + 0.5 / positive - 1.0).abs() < 1e-5, "{weights}");
    assert!(positive > 1.5 * negative, "{weights}");
    let val = &summary["epochs"][0]["val"];
    assert!(val["ap"].is_number(), "{val}");
    // What is not defined is not watched in silence.
    let three = ["--set", "task.classes=3", "--set", "task.metric=ap"];
    let outcome = folder.run(&[&job[..], &["three"], &three].concat());
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
}

#[test]
fn transactions_without_the_label_of_the_run_are_scored_and_not_judged() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions(0, 1000, true));
    folder.write("new.csv", &transactions(0, 1000, false));
    folder.text(&[JOB, &["--out", "run"]].concat());
    // An amount above 0 is no fraud, although a weight stands for a class if there is no label.
    let judged = folder.run(&["eval", "--run", "run", "--data", "new.csv", "--quiet"]);
    let text = judged.stderr_text();
    assert_eq!(judged.code(), Some(3), "{text}");
    let own = ["predict", "--run", "run", "--data", "new.csv", "--quiet", "--json", "--out"];
    let report = folder.json(&[&own[..], &["own.csv"]].concat());
    assert!(report["metrics"]["ap"].is_null(), "{report}");
    let (header, scores) = table(&folder, "own.csv");
    assert_eq!(header.last().unwrap(), "truth");
    assert!(scores.iter().all(|row| row.last().unwrap().is_empty()), "{scores:?}");
    // The scores are those that the same events get if their labels are known.
    let known = ["predict", "--run", "run", "--quiet", "--out", "known.csv"];
    folder.text(&known);
    let (_, known) = table(&folder, "known.csv");
    assert_eq!(scores.len(), known.len());
    for (new, known) in scores.iter().zip(&known) {
        assert_eq!(new[..new.len() - 1], known[..known.len() - 1]);
        assert!(!known.last().unwrap().is_empty());
    }
    folder.json(&[&own[..], &["all.csv", "--split", "all"]].concat());
    assert_eq!(table(&folder, "all.csv").1.len(), 1000);
    folder.json(&[&own[..], &["scores.csv", "--pairs", "new.csv"]].concat());
    assert_eq!(table(&folder, "scores.csv").1.len(), 1000);
}

/// The header and the rows of a table that was written.
fn table(folder: &Folder, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let text = String::from_utf8(folder.bytes(name)).unwrap();
    let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
    let header = rows.next().unwrap();
    (header, rows.collect())
}

/// The transactions without the labels of every third of them, or of none.
fn gaps(every: usize) -> String {
    let mut text = String::new();
    for (at, line) in transactions(0, 1000, true).lines().enumerate() {
        let cut = at > 0 && at % every == 0;
        text.push_str(if cut { line.trim_end_matches(['0', '1']) } else { line });
        text.push('\n');
    }
    text
}

#[test]
fn events_without_a_label_are_counted_and_scored() {
    let folder = Folder::new();
    folder.write("fraud.csv", &gaps(3));
    let summary = folder.json(&[JOB, &["--out", "run", "--json"]].concat());
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("333 of 1000 events have no label"), "{warnings}");
    let own = ["predict", "--run", "run", "--quiet", "--split", "all", "--out"];
    // What lies before the end of training is asked with memory that is rebuilt, which is told.
    assert_eq!(folder.run(&[&own[..], &["own.csv"]].concat()).code(), Some(0));
    let (_, rows) = table(&folder, "own.csv");
    assert_eq!(rows.len(), 1000);
    let unknown = rows.iter().filter(|row| row.last().unwrap().is_empty()).count();
    assert_eq!(unknown, 333);
    // What is judged is what is known.
    let judged = folder.json(&["eval", "--run", "run", "--json"]);
    let report = folder.json(&["predict", "--run", "run", "--out", "test.csv", "--json"]);
    let [one, two] = [&judged, &report].map(|report| report["metrics"]["ap"].as_f64().unwrap());
    assert!((one - two).abs() < 1e-9, "{one} {two}");
    assert_eq!(folder.run(&[&own[..], &["own.parquet"]].concat()).code(), Some(0));
}

#[test]
fn edges_of_snapshots_without_a_label_are_scored() {
    let folder = Folder::new();
    folder.write("fraud.csv", &gaps(3));
    folder.write("new.csv", &transactions(0, 1000, false));
    let job = ["train", "--data", "fraud.csv", "--model", "tgcn", "--task", "edge-classification"];
    let more = ["--set", "data.window=20 parts", "--frame", "3", "--hidden", "4", "--epochs", "1"];
    let summary = folder.json(&[&job, &more[..], &["--out", "run", "--json", "-q"]].concat());
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("333 of 1000 events have no label"), "{warnings}");
    let own = ["predict", "--run", "run", "--quiet", "--out"];
    folder.text(&[&own[..], &["own.csv"]].concat());
    let new = [&own[..], &["new.out.csv", "--data", "new.csv"]].concat();
    let scored = folder.run(&new);
    assert_eq!(scored.code(), Some(0), "{}", scored.stderr_text());
    let ((header, own), (_, new)) = (table(&folder, "own.csv"), table(&folder, "new.out.csv"));
    let truth = header.iter().position(|name| name == "truth").unwrap();
    let unknown = own.iter().filter(|row| row[truth].is_empty()).count();
    assert!(0 < unknown && unknown < own.len(), "{unknown} of {}", own.len());
    assert_eq!(own.len(), new.len());
    for (own, new) in own.iter().zip(&new) {
        assert!(new[truth].is_empty());
        assert_eq!(own[..truth], new[..truth]);
    }
}

#[test]
fn amounts_that_are_not_known_are_predicted() {
    let folder = Folder::new();
    folder.write("paid.csv", &transactions(0, 600, false));
    let mut job = JOB.to_vec();
    job.splice(1..7, ["--data", "paid.csv", "--model", "tgn", "--task", "edge-regression"]);
    folder.text(&[&job[..], &["--out", "run"]].concat());
    let unknown: String = transactions(0, 600, false)
        .lines()
        .map(|line| {
            let mut cells: Vec<&str> = line.split(',').collect();
            cells.remove(3);
            format!("{}\n", cells.join(","))
        })
        .collect();
    folder.write("new.csv", &unknown);
    let own = ["predict", "--run", "run", "--quiet", "--out"];
    folder.text(&[&own[..], &["own.csv"]].concat());
    let scored = folder.run(&[&own[..], &["new.out.csv", "--data", "new.csv"]].concat());
    assert_eq!(scored.code(), Some(0), "{}", scored.stderr_text());
    let ((_, own), (_, new)) = (table(&folder, "own.csv"), table(&folder, "new.out.csv"));
    for (own, new) in own.iter().zip(&new) {
        assert_eq!(own[..own.len() - 1], new[..new.len() - 1]);
        assert!(new.last().unwrap().is_empty());
    }
    assert_eq!(own.len(), new.len());
}
