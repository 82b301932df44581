//! Every command that a report or an error suggests runs as it stands.

mod binary;

use std::process::Command;
use std::time::Duration;

use binary::Folder;
use zoetrope_testkit::{Outcome, run_measured};

/// Payments with classes of accounts and of payments, amounts, and Unix times.
const PAYMENTS: &str = "synthetic:aml?accounts=60&events=900&patterns=12&size=4&days=20";
/// Users and items, with classes and features of events.
const VISITS: &str = "synthetic:bipartite?users=30&items=20&events=900&features=2&labels=0.2";

/// The whole commands of this program in a text: a line that begins with one, or one in backticks.
fn suggested(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("zoetrope "));
    let ticked = text.split('`').skip(1).step_by(2);
    // A name of a command without anything to work on is no whole command.
    let whole = |command: &&str| command.starts_with("zoetrope ") && command.contains(" --");
    lines.chain(ticked.filter(whole)).map(str::to_owned).collect()
}

/// Runs a command line in a shell, as a user who copies it.
fn shell(folder: &Folder, line: &str) -> Outcome {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_zoetrope"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(folder.path(""))
        .env("PATH", format!("{}:{path}", binary.parent().unwrap().display()));
    run_measured(command, Duration::from_secs(120)).unwrap()
}

/// Trains, then runs whatever the report suggests; returns the lines.
fn follow(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let outcome = folder.run(&[&["train", "--quiet"], arguments].concat());
    assert_eq!(outcome.code(), Some(0), "{arguments:?}: {}", outcome.stderr_text());
    let found = suggested(&outcome.stdout_text());
    assert!(found.len() >= 2, "{}", outcome.stdout_text());
    for line in &found {
        let outcome = shell(folder, line);
        assert_eq!(outcome.code(), Some(0), "{line}: {}", outcome.stderr_text());
        assert!(!outcome.stdout.is_empty(), "{line}");
    }
    found
}

#[test]
fn what_a_report_of_a_snapshot_model_suggests_runs() {
    let folder = Folder::new();
    let short = ["--epochs", "2", "--hidden", "4", "--frame", "3"];
    for (task, data, more) in [
        ("node-regression", "synthetic:demo?vertices=20&steps=40", &[][..]),
        ("node-classification", PAYMENTS, &["--set", "data.window=1d"]),
        ("link-prediction", PAYMENTS, &["--set", "data.window=1d"]),
        ("edge-classification", PAYMENTS, &["--set", "data.window=1d"]),
    ] {
        let out = format!("run of {task}");
        let job = ["--model", "tgcn", "--data", data, "--task", task, "--out", &out];
        let lines = follow(&folder, &[&job, &short[..], more].concat());
        assert!(lines.iter().all(|line| line.contains(&format!("'{out}'"))), "{lines:?}");
        let table = String::from_utf8(folder.bytes(&format!("{out}/predictions.csv"))).unwrap();
        assert!(table.lines().count() > 12, "{task}: {table}");
    }
}

#[test]
fn what_a_report_of_an_event_model_suggests_runs() {
    let folder = Folder::new();
    let short = ["--epochs", "1", "--hidden", "4", "--batch-size", "100"];
    for (task, data) in [
        ("link-prediction", VISITS),
        ("node-classification", VISITS),
        ("edge-classification", PAYMENTS),
        ("edge-regression", PAYMENTS),
    ] {
        let job = ["--model", "jodie", "--data", data, "--task", task, "--out", task];
        follow(&folder, &[&job, &short[..]].concat());
        let table = String::from_utf8(folder.bytes(&format!("{task}/predictions.csv"))).unwrap();
        assert!(table.lines().count() > 100, "{task}: {table}");
    }
}

#[test]
fn what_a_report_without_a_test_part_suggests_runs() {
    let folder = Folder::new();
    let all = ["--set", "data.split=none", "--set", "output.tensorboard=false", "--out", "run"];
    let short = ["--epochs", "1", "--hidden", "4", "--frame", "3"];
    let data = ["--model", "tgcn", "--data", PAYMENTS, "--set", "data.window=1d"];
    let links = ["--task", "link-prediction"];
    let lines = follow(&folder, &[&data, &short[..], &links, &all].concat());
    assert!(lines[0].ends_with("--split train"), "{lines:?}");
    assert!(!folder.text(&["data", "inspect", PAYMENTS, "--quiet"]).is_empty());
}

#[test]
fn what_a_report_suggests_runs_with_the_file_of_data_that_came_through_a_pipe() {
    let folder = Folder::new();
    folder.text(&["data", "convert", VISITS, "visits.csv", "--quiet", "--drop"]);
    let job =
        "zoetrope train --quiet --model jodie --epochs 1 --hidden 4 --batch-size 100 --out run";
    let outcome = shell(&folder, &format!("cat visits.csv | {job} --data -"));
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let said = outcome.stdout_text();
    assert!(said.contains("came through a pipe"), "{said}");
    let found = suggested(&said);
    assert!(found.len() >= 2, "{said}");
    for line in found {
        assert!(line.contains(" --data FILE"), "{line}");
        let outcome = shell(&folder, &line.replace("FILE", "visits.csv"));
        assert_eq!(outcome.code(), Some(0), "{line}: {}", outcome.stderr_text());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_report_suggests_names_the_file_behind_standard_input() {
    let folder = Folder::new();
    folder.text(&["data", "convert", VISITS, "visits.csv", "--quiet", "--drop"]);
    let job = "zoetrope train --quiet --model jodie --epochs 1 --hidden 4 --batch-size 100";
    for (out, line) in [
        ("in", format!("{job} --out in --data /dev/stdin < visits.csv")),
        ("fd", format!("{job} --out fd --data /dev/fd/3 3< visits.csv")),
    ] {
        let outcome = shell(&folder, &line);
        assert_eq!(outcome.code(), Some(0), "{line}: {}", outcome.stderr_text());
        let found = suggested(&outcome.stdout_text());
        assert!(found.len() >= 2, "{}", outcome.stdout_text());
        for line in found {
            let outcome = shell(&folder, &format!("{line} < /dev/null"));
            assert_eq!(outcome.code(), Some(0), "{line}: {}", outcome.stderr_text());
        }
        let source: serde_json::Value =
            serde_json::from_slice(&folder.bytes(&format!("{out}/data.json"))).unwrap();
        assert!(source["path"].as_str().unwrap().ends_with("/visits.csv"), "{source}");
    }
    // A file without a name is like a pipe: it is gone when the run has ended.
    let gone = format!("exec 3< gone.csv; rm gone.csv; {job} --out gone --data /dev/fd/3");
    let outcome = shell(&folder, &format!("cp visits.csv gone.csv; {gone}"));
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let found = suggested(&outcome.stdout_text());
    assert!(found.iter().all(|line| line.contains(" --data FILE")), "{found:?}");
}

#[test]
fn what_plans_inspections_and_errors_suggest_runs() {
    let folder = Folder::new();
    let data = ["--model", "tgcn", "--data", PAYMENTS, "--set", "data.window=1d"];
    let mut texts = vec![
        folder.text(&[&["plan", "--quiet"], &data[..]].concat()),
        folder.text(&["data", "inspect", PAYMENTS, "--quiet"]),
    ];
    // A run that was stopped says how to go on, and whoever uses it says so again.
    let job = ["--epochs", "1000000", "--hidden", "4", "--frame", "3", "--out", "half done"];
    texts.push(stop_after_an_epoch(&folder, &[&["train"], &data[..], &job].concat()));
    texts.push(folder.text(&["eval", "--run", "half done", "--quiet"]));
    let found: Vec<String> = texts.iter().flat_map(|text| suggested(text)).collect();
    assert!(found.iter().filter(|line| line.contains("--resume 'half done'")).count() >= 2);
    let done = String::from_utf8(folder.bytes("half done/metrics.jsonl")).unwrap().lines().count();
    for line in found {
        // As many epochs as are done already, so that a continued run only measures.
        let outcome = shell(&folder, &format!("ZOETROPE_TRAIN_EPOCHS={done} {line}"));
        assert_eq!(outcome.code(), Some(0), "{line}: {}", outcome.stderr_text());
    }
}

/// Interrupts a run as Ctrl-C does, once `metrics.jsonl` has a line; returns what it says.
fn stop_after_an_epoch(folder: &Folder, arguments: &[&str]) -> String {
    use std::process::Stdio;
    let mut child = binary::command(&folder.path(""), arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let metrics = folder.path("half done/metrics.jsonl");
    while std::fs::metadata(&metrics).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}
