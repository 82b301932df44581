//! Runs that are continued although their data has changed.

mod binary;

use binary::Folder;
use serde_json::Value;

const SNAPSHOTS: &[&str] = &[
    "--model",
    "tgcn",
    "--task",
    "link-prediction",
    "--set",
    "data.window=20",
    "--frame",
    "3",
    "--hidden",
    "4",
    "--quiet",
];

const EVENTS: &[&str] = &["--model", "tgn", "--hidden", "4", "--batch-size", "40", "--quiet"];

/// Events among ten people; `salt` changes who meets whom, and nothing about their number.
fn events(salt: usize, count: usize) -> String {
    let person = |at: usize| (at.wrapping_mul(2_654_435_761) >> 7) % 10;
    let row = |at: usize| format!("p{},p{},{at}\n", person(at + salt), person(3 * at + salt + 1));
    // Everybody is there whatever the salt is.
    let first: String = (0..10).map(|at| format!("p{at},p{},0\n", (at + 1) % 10)).collect();
    format!("src,dst,time\n{first}{}", (1..count).map(row).collect::<String>())
}

fn summary(folder: &Folder, run: &str) -> Value {
    serde_json::from_slice(&folder.bytes(&format!("{run}/summary.json"))).unwrap()
}

fn losses(summary: &Value) -> Vec<String> {
    let epochs = summary["epochs"].as_array().unwrap().iter();
    epochs.map(|epoch| epoch["loss"].to_string()).collect()
}

#[test]
fn data_that_changed_is_listed_and_goes_on_if_that_is_accepted() {
    let folder = Folder::new();
    for (name, model) in [("snapshots", SNAPSHOTS), ("events", EVENTS)] {
        folder.write("e.csv", &events(0, 300));
        let job = ["train", "--data", "e.csv", "--epochs", "2", "--out", name];
        folder.text(&[&job, model].concat());
        let before = summary(&folder, name);
        // The same number of rows and people, and more of both.
        for (step, changed) in [events(5, 300), events(5, 340)].into_iter().enumerate() {
            folder.write("e.csv", &changed);
            let epochs = (3 + step).to_string();
            let resume = ["train", "--resume", name, "--epochs", &epochs];
            let files = |file: &str| folder.bytes(&format!("{name}/{file}"));
            let kept = ["config.toml", "data.json", "metrics.jsonl", "summary.json"].map(files);
            let outcome = folder.run(&resume);
            let said = outcome.stderr_text();
            assert_eq!(outcome.code(), Some(2), "{said}");
            for word in ["e.csv is not the data of this run", "sha256", "--accept-changed-data"] {
                assert!(said.contains(word), "{name}: {word} in {said}");
            }
            assert_eq!(said.contains("349 events, were 309"), step == 1, "{said}");
            let now = ["config.toml", "data.json", "metrics.jsonl", "summary.json"].map(files);
            assert_eq!(now, kept, "a run that was refused was changed");
            let outcome = folder.run(&[&resume[..], &["--accept-changed-data"]].concat());
            let said = outcome.stderr_text();
            assert_eq!(outcome.code(), Some(0), "{said}");
            assert!(said.contains("goes on with other data"), "{said}");
            let words = format!("the data changed after epoch {}", 2 + step);
            assert!(outcome.stdout_text().contains(&words), "{}", outcome.stdout_text());
            let after = summary(&folder, name);
            let changes = after["data_changes"].as_array().unwrap();
            assert_eq!(changes.len(), 1 + step, "{changes:?}");
            assert_eq!(changes[step]["after_epochs"], 2 + step);
            assert_ne!(after["data"]["sha256"], before["data"]["sha256"]);
            assert_eq!(losses(&after)[..2], losses(&before)[..]);
            assert_eq!(losses(&after).len(), 3 + step);
            // What was accepted is the run's data from then on.
            folder.text(&["train", "--resume", name, "--epochs", &epochs, "--quiet"]);
            assert_eq!(summary(&folder, name)["data_changes"], after["data_changes"]);
            assert_eq!(summary(&folder, name)["state_hash"], after["state_hash"]);
            assert_eq!(folder.run(&["eval", "--run", name]).code(), Some(0));
        }
        let config = String::from_utf8(folder.bytes(&format!("{name}/config.toml"))).unwrap();
        assert!(!config.contains("accept_changed_data = true"), "{config}");
    }
}

#[test]
fn a_run_of_ranks_goes_on_with_changed_data_too() {
    let folder = Folder::new();
    folder.write("e.csv", &events(0, 300));
    let job = ["train", "--data", "e.csv", "--epochs", "2", "--out", "run", "--ranks", "2"];
    folder.text(&[&job, SNAPSHOTS].concat());
    folder.write("e.csv", &events(5, 340));
    let resume = ["train", "--resume", "run", "--epochs", "3", "--quiet"];
    assert_eq!(folder.run(&resume).code(), Some(2));
    let outcome = folder.run(&[&resume[..], &["--accept-changed-data"]].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    assert_eq!(summary(&folder, "run")["data_changes"].as_array().unwrap().len(), 1);
}

#[test]
fn weights_of_vertices_do_not_go_to_other_vertices() {
    let folder = Folder::new();
    folder.write("e.csv", &events(0, 300));
    let job = ["train", "--data", "e.csv", "--epochs", "2", "--out", "run"];
    let learned = ["--set", "data.features=learned"];
    folder.text(&[&job[..], SNAPSHOTS, &learned].concat());
    folder.write("e.csv", &events(0, 300).replace("p7", "q7"));
    let resume = ["train", "--resume", "run", "--epochs", "3", "--accept-changed-data"];
    let outcome = folder.run(&resume);
    let said = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(2), "{said}");
    assert!(said.contains("belong to vertices"), "{said}");
    // The same people who meet others are the same vertices.
    folder.write("e.csv", &events(5, 300));
    assert_eq!(folder.run(&resume).code(), Some(0));
}

#[test]
fn accepting_changed_data_is_for_runs_that_are_continued() {
    let folder = Folder::new();
    let outcome = folder.run(&["train", "--accept-changed-data"]);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    let set = ["train", "--set", "train.accept_changed_data=true", "--quiet"];
    let outcome = folder.run(&set);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("--resume"), "{}", outcome.stderr_text());
}
