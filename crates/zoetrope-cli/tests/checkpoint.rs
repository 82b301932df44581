//! Looking at checkpoints, and run folders that try to reach outside of themselves.

mod binary;

use binary::Folder;

fn trained() -> Folder {
    let folder = Folder::new();
    folder.text(&[
        "train",
        "--data",
        "synthetic:demo?vertices=20&steps=30",
        "--epochs",
        "3",
        "--checkpoint-every",
        "1",
        "--out",
        "run",
        "--quiet",
    ]);
    folder
}

#[test]
fn checkpoints_are_listed_verified_and_shown() {
    let folder = trained();
    let listed = folder.json(&["checkpoint", "ls", "run", "--json"]);
    let newest = &listed["checkpoints"][0];
    assert_eq!(newest["epoch"], 3);
    let summary: serde_json::Value =
        serde_json::from_slice(&folder.bytes("run/summary.json")).unwrap();
    assert_eq!(newest["state_hash"], summary["state_hash"]);
    assert_eq!(newest["vector_level"], summary["vector_level"]);
    assert!(folder.text(&["checkpoint", "verify", "run"]).contains("step-"));
    let shown = folder.json(&["checkpoint", "show", "run", "--json"]);
    assert!(!shown["weights"].as_array().unwrap().is_empty());
    assert_eq!(shown["epochs"].as_array().unwrap().len(), 3);
    assert!(folder.text(&["checkpoint", "show", "run"]).contains("weights"));

    let name = newest["name"].as_str().unwrap();
    let path = folder.path(&format!("run/checkpoints/{name}/weights.safetensors"));
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let outcome = folder.run(&["checkpoint", "verify", "run"]);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stderr_text());
    assert!(outcome.stdout_text().contains("damaged"), "{}", outcome.stdout_text());
    assert!(outcome.stderr_text().contains("weights.safetensors"), "{}", outcome.stderr_text());
    let missing = folder.run(&["checkpoint", "show", "run", "--step", "999999"]);
    assert_eq!(missing.code(), Some(2), "{}", missing.stderr_text());
}

#[cfg(unix)]
#[test]
fn a_run_folder_writes_nothing_through_its_links() {
    use std::os::unix::fs::symlink;
    for name in ["run.lock", "trace.json", "metrics.jsonl", "checkpoints/latest.tmp"] {
        let folder = trained();
        let victim = folder.write("victim", "years of work");
        let path = folder.path(&format!("run/{name}"));
        let _ = std::fs::remove_file(&path);
        symlink(&victim, &path).unwrap();
        let resumed = ["train", "--resume", "run", "--epochs", "4", "--trace", "--quiet"];
        let outcome = folder.run(&resumed);
        assert!(outcome.code().is_some(), "{}", outcome.stderr_text());
        assert_eq!(folder.bytes("victim"), b"years of work", "{name}");
    }
    // A folder of checkpoints that lies elsewhere is left alone.
    let folder = trained();
    std::fs::rename(folder.path("run/checkpoints"), folder.path("elsewhere")).unwrap();
    symlink(folder.path("elsewhere"), folder.path("run/checkpoints")).unwrap();
    let count = || std::fs::read_dir(folder.path("elsewhere")).unwrap().count();
    let before = count();
    let outcome = folder.run(&["train", "--resume", "run", "--epochs", "5", "--quiet"]);
    assert_ne!(outcome.code(), Some(0));
    assert!(outcome.stderr_text().contains("it is a link"), "{}", outcome.stderr_text());
    assert_eq!(count(), before);
}

#[test]
fn names_in_files_do_not_reach_the_terminal_as_commands() {
    let folder = Folder::new();
    folder.write("e.csv", "src,dst,time,f\u{1b}]0;owned\u{7}\n1,2,3,4\n2,3,4,5\n");
    let outcome = folder.run(&["data", "inspect", "e.csv"]);
    let said = outcome.stdout_text() + &outcome.stderr_text();
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
}

#[test]
fn a_metric_that_is_not_defined_is_not_shown() {
    let folder = Folder::new();
    let data = ["--data", "synthetic:bipartite?users=30&items=20&events=900", "--hidden", "4"];
    let job = ["--task", "link-prediction", "--epochs", "1", "--out", "run", "--quiet"];
    folder.text(&[&["train"], &data[..], &job].concat());
    let shown = folder.text(&["checkpoint", "show", "run"]);
    assert!(shown.contains("val ap 0.") && !shown.contains("NaN"), "{shown}");
}

/// Exit code 4 is for what the machine lacks, and nothing is missing here.
#[test]
fn a_damaged_summary_or_plan_is_bad_input() {
    let folder = trained();
    for (file, command) in [
        ("summary.json", ["eval", "--run", "run", "--quiet"]),
        ("plan.json", ["train", "--resume", "run", "--quiet"]),
    ] {
        let path = folder.path(&format!("run/{file}"));
        let whole = std::fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[40] = 0xff;
        std::fs::write(&path, &damaged).unwrap();
        let outcome = folder.run(&command);
        assert_eq!(outcome.code(), Some(3), "{file}: {}", outcome.stderr_text());
        assert!(outcome.stderr_text().contains(file), "{}", outcome.stderr_text());
        std::fs::write(&path, &whole).unwrap();
    }
}
