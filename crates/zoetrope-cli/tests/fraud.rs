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
        text.contains("of a judged event the model sees its ends, its time and risk"),
        "{text}"
    );
    let summary: Value = serde_json::from_slice(&folder.bytes("run/summary.json")).unwrap();
    let seen = &summary["protocol"]["task"]["own_features"];
    assert_eq!(seen["columns"][0], "risk");
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

    // The amount changed its scale, the columns their order: the same columns are read.
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
