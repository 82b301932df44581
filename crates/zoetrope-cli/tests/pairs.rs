//! Pairs to predict are read as the data of the run was.

mod binary;

use std::fmt::Write as _;
use std::process::Stdio;

use binary::{Folder, command};
use serde_json::Value;

/// Numbers without a pattern.
fn draw(row: usize, column: usize, below: usize) -> usize {
    let mixed = ((row * 31 + column + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) % below as u64) as usize
}

/// Meetings with a start and an end, both of which could be a time or a person.
fn meetings() -> String {
    let mut text = "person1,person2,start,end\n".to_owned();
    for row in 0..200 {
        let (start, length) = (60 * (row / 2), draw(row, 2, 60));
        let (one, two) = (draw(row, 0, 30), draw(row, 1, 30));
        writeln!(text, "{one},{two},{start},{}", start + length).unwrap();
    }
    text
}

const SHORT: [&str; 9] =
    ["--model", "jodie", "--epochs", "1", "--hidden", "8", "--batch-size", "50", "-q"];

fn train(folder: &Folder, data: &str, more: &[&str]) {
    folder.text(&[&["train", "--data", data, "--out", "run"], &SHORT[..], more].concat());
}

/// The pairs of a file with the answers, and the report.
fn ask(folder: &Folder, pairs: &str, more: &[&str]) -> (Vec<Vec<String>>, Value) {
    let ask =
        ["predict", "--run", "run", "--pairs", pairs, "--out", "out.csv", "--force", "--json"];
    let report = folder.json(&[&ask[..], more].concat());
    let text = String::from_utf8(folder.bytes("out.csv")).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect());
    (rows.collect(), report)
}

/// Source, destination and time of each row.
fn ends(rows: &[Vec<String>]) -> Vec<[&str; 3]> {
    rows.iter().map(|row| [&row[0][..], &row[1][..], &row[2][..]]).collect()
}

#[test]
fn pairs_are_read_with_the_roles_of_the_run() {
    let folder = Folder::new();
    folder.write("a.csv", &meetings());
    let roles = ["--src", "person1", "--dst", "person2", "--time", "start"];
    train(&folder, "a.csv", &roles);
    folder.write("p.csv", "person1,person2,start,end\n5,7,7000,7020\n8,9,7100,7101\n");
    let (rows, report) = ask(&folder, "p.csv", &[]);
    assert_eq!(ends(&rows), [["5", "7", "7000"], ["8", "9", "7100"]]);
    assert_eq!(report["warnings"], Value::Null);
    // Another column of times, which the data has as well.
    let (rows, _) = ask(&folder, "p.csv", &["--pairs-time", "end"]);
    assert_eq!(ends(&rows)[0], ["5", "7", "7020"]);
    // Other names are judged, and that is said; flags of their own name them.
    folder.write("q.csv", "src,dst\n5,7\n8,9\n");
    let (rows, report) = ask(&folder, "q.csv", &[]);
    assert_eq!((&rows[0][0], &rows[0][1]), (&"5".to_owned(), &"7".to_owned()));
    let said = report["warnings"].to_string();
    assert!(said.contains("person1") && said.contains("--pairs-src"), "{said}");
    let named = ["--pairs-src", "dst", "--pairs-dst", "src"];
    let (rows, report) = ask(&folder, "q.csv", &named);
    assert_eq!((&rows[0][0], &rows[0][1]), (&"7".to_owned(), &"5".to_owned()));
    assert_eq!(report["warnings"], Value::Null);
}

#[test]
fn a_doubtful_file_of_pairs_is_confirmed_by_the_flags_that_it_prints() {
    let folder = Folder::new();
    folder.write("a.csv", &meetings());
    train(&folder, "a.csv", &["--src", "person1", "--dst", "person2", "--time", "start"]);
    let mut text = "alpha,beta,gamma,delta\n".to_owned();
    for row in 0..60 {
        let cells: Vec<String> = (0..4).map(|column| draw(row, column, 30).to_string()).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    folder.write("p.csv", &text);
    let outcome = folder.run(&["predict", "--run", "run", "--pairs", "p.csv", "--out", "o.csv"]);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stderr_text());
    let said = outcome.stderr_text();
    let flags = said.lines().find_map(|line| line.split_once("add: ")).unwrap().1.to_owned();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    assert_eq!(flags, ["--pairs-src", "alpha", "--pairs-dst", "beta"]);
    let (rows, _) = ask(&folder, "p.csv", &flags);
    assert_eq!(rows.len(), 60);
}

#[test]
fn identifiers_are_text_if_the_run_has_text() {
    let folder = Folder::new();
    let mut text = "src,dst,time\n".to_owned();
    for row in 0..200 {
        let zeros = if draw(row, 2, 2) == 0 { "00" } else { "" };
        writeln!(text, "{zeros}{},{},{row}", draw(row, 0, 9), draw(row, 1, 9)).unwrap();
    }
    folder.write("a.csv", &text);
    train(&folder, "a.csv", &["--text-ids"]);
    folder.write("p.csv", "src,dst\n007,7\n7,7\n");
    let (rows, _) = ask(&folder, "p.csv", &[]);
    assert_eq!([&rows[0][0], &rows[1][0]], ["007", "7"]);
    assert_ne!(rows[0][3], rows[1][3], "two people");
}

#[test]
fn times_of_pairs_are_those_of_the_data() {
    let folder = Folder::new();
    folder.write("a.csv", &meetings());
    train(&folder, "a.csv", &["--src", "person1", "--dst", "person2", "--time", "start"]);
    folder.write("dates.csv", "person1,person2,start\n5,7,2021-01-01\n");
    let dated = ["predict", "--run", "run", "--pairs", "dates.csv", "--out", "o.csv"];
    let outcome = folder.run(&dated);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
    assert!(outcome.stderr_text().contains("do not count from 1970"), "{}", outcome.stderr_text());
    // A column that nobody takes for a time is not dropped without a word.
    folder.write("zeit.csv", "person1,person2,zeit\n5,7,morgen\n");
    let (rows, report) = ask(&folder, "zeit.csv", &[]);
    assert_eq!(rows[0][2], "5941", "after the last event");
    let said = report["warnings"].to_string();
    assert!(said.contains("zeit") && said.contains("--pairs-time"), "{said}");
    // One decimal time does not move the others.
    folder.write("half.csv", "person1,person2,start\n5,7,7000\n8,9,7000.5\n");
    let (rows, report) = ask(&folder, "half.csv", &[]);
    assert_eq!((&rows[0][2][..], &rows[1][2][..]), ("7000", "7000"));
    assert!(report["warnings"].to_string().contains("rounded down"), "{report}");
}

#[test]
fn a_feature_is_found_by_its_name_and_missed_by_the_name_in_the_data() {
    let folder = Folder::new();
    let mut text = "src,dst,time,amount,is_fraud\n".to_owned();
    for row in 0..300 {
        let (amount, fraud) = (draw(row, 2, 90), usize::from(draw(row, 3, 4) == 0));
        writeln!(text, "{},{},{row},{amount},{fraud}", draw(row, 0, 20), draw(row, 1, 20)).unwrap();
    }
    folder.write("a.csv", &text);
    train(&folder, "a.csv", &["--task", "edge-classification"]);
    folder.write("p.csv", "dst,amount,src,time\n3,50,4,301\n4,1,3,302\n");
    let (rows, _) = ask(&folder, "p.csv", &[]);
    assert_eq!(ends(&rows), [["4", "3", "301"], ["3", "4", "302"]]);
    folder.write("q.csv", "src,dst,time\n3,4,301\n");
    let lacking = ["predict", "--run", "run", "--pairs", "q.csv", "--out", "o.csv"];
    let said = folder.run(&lacking).stderr_text();
    assert!(said.contains("a column \"amount\""), "{said}");
}

#[cfg(unix)]
#[test]
fn pairs_come_through_standard_input_and_pipes() {
    let folder = Folder::new();
    folder.write("a.csv", &meetings());
    let roles = ["--src", "person1", "--dst", "person2", "--time", "start"];
    train(&folder, "a.csv", &roles);
    let pairs = "person1,person2,start\n5,7,7000\n";
    folder.write("p.csv", pairs);
    let (expected, _) = ask(&folder, "p.csv", &[]);
    let ask = ["predict", "--run", "run", "--pairs", "-", "--out", "stdin.csv", "-q"];
    let mut child = command(&folder.path(""), &ask).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), pairs.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let written = String::from_utf8(folder.bytes("stdin.csv")).unwrap();
    assert_eq!(written.lines().nth(1).unwrap().split(',').collect::<Vec<_>>(), expected[0]);
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn(move || std::fs::write(pipe, pairs).unwrap());
    let ask = ["predict", "--run", "run", "--pairs", "pipe", "--out", "pipe.csv", "-q"];
    assert_eq!(folder.run(&ask).code(), Some(0));
    writer.join().unwrap();
    assert_eq!(folder.bytes("pipe.csv"), folder.bytes("stdin.csv"));
    // One pipe cannot be both.
    let both = ["predict", "--run", "run", "--data", "-", "--pairs", "-", "--out", "both.csv"];
    let outcome = command(&folder.path(""), &both)
        .stdin(std::fs::File::open(folder.path("a.csv")).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot both be"), "{said}");
}

#[test]
fn flags_that_would_change_nothing_are_refused() {
    let folder = Folder::new();
    folder.write("p.csv", "src,dst\n1,2\n");
    let both = ["--pairs", "p.csv", "--split", "test", "--out", "o.csv"];
    let outcome = folder.run(&[&["predict", "--run", "absent"], &both[..]].concat());
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("--split"), "{}", outcome.stderr_text());
    let data = ["--data", "synthetic:demo?vertices=20&steps=40", "--model", "tgcn"];
    let job = ["--hidden", "4", "--epochs", "1", "--out", "run", "-q"];
    folder.text(&[&["train"], &data[..], &job].concat());
    let outcome = folder.run(&["predict", "--run", "run", "--logits", "--out", "o.csv", "-q"]);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("--logits"), "{}", outcome.stderr_text());
}
