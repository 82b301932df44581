//! `zoetrope calibrate`, and what it is used for.

mod binary;

use std::time::Duration;

use binary::Folder;
use serde_json::Value;

const DATA: &[&str] =
    &["--data", "synthetic:demo?vertices=50&steps=20", "--model", "tgcn", "--json"];

fn sim(folder: &Folder, machine: &[&str], cache: &str) -> Value {
    let arguments = [&["sim"], DATA, machine].concat();
    let set = |command: &mut std::process::Command| {
        command.env("ZOETROPE_MACHINE_CACHE", folder.path(cache));
    };
    let outcome = folder.run_with(&arguments, set, Duration::from_secs(600));
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    serde_json::from_slice(&outcome.stdout).unwrap()
}

#[test]
fn what_was_measured_is_a_machine_that_epochs_are_simulated_on_with_an_interval() {
    let folder = Folder::new();
    let measure = ["calibrate", "--quick", "--out", "machine.toml"];
    let told = folder.json(&[&measure[..], &["--json"]].concat());
    assert!(told["points"].as_u64().unwrap() > 50, "{told}");
    assert!(told["host"].as_str().unwrap().contains("threads"), "{told}");
    let found = sim(&folder, &["--machine", "machine.toml"], "none");
    assert_eq!(found["calibrated"], true);
    let seconds = found["epoch"]["seconds"].as_f64().unwrap();
    let [least, most] = [0, 1].map(|at| found["interval"][at].as_f64().unwrap());
    assert!(0.0 < least && least <= seconds && seconds <= most, "{found}");
    // A file that is there is not replaced unasked.
    assert_eq!(folder.run(&measure).code(), Some(2));
    // A file in the cache folder is the machine of every run that names no other.
    std::fs::create_dir(folder.path("cache")).unwrap();
    std::fs::copy(folder.path("machine.toml"), folder.path("cache/cpu.toml")).unwrap();
    #[cfg(unix)]
    for (path, mode) in [("cache", 0o700), ("cache/cpu.toml", 0o600)] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path(path), mode).unwrap();
    }
    for machine in [&[][..], &["--machine", "this"]] {
        assert_eq!(sim(&folder, machine, "cache")["machine"]["name"], "this-machine");
    }
    assert_eq!(sim(&folder, &[], "none")["machine"]["name"], "laptop");
}

#[test]
fn a_machine_that_was_not_measured_has_no_interval_and_says_so() {
    let folder = Folder::new();
    let found = sim(&folder, &["--machine", "laptop"], "none");
    assert_eq!((&found["calibrated"], &found["interval"]), (&Value::Bool(false), &Value::Null));
    let asked = ["sim", "--machine", "this"];
    let set = |command: &mut std::process::Command| {
        command.env("ZOETROPE_MACHINE_CACHE", folder.path("none"));
    };
    let outcome = folder.run_with(&[&asked, DATA].concat(), set, Duration::from_secs(60));
    assert_eq!(outcome.code(), Some(2));
    let message = outcome.stderr_text();
    assert!(
        message.contains("not measured") && message.contains("zoetrope calibrate"),
        "{message}"
    );
}

#[test]
fn candidates_are_told_what_binds_them_and_what_would_change_the_choice() {
    let folder = Folder::new();
    let data = "synthetic:sbm?vertices=60&steps=24&communities=3&inside=4&outside=1";
    let job = ["--data", data, "--frame", "all", "--model", "tm-gcn", "--ranks", "2"];
    let plan = folder.json(&[&["plan", "--why", "--json"], &job[..]].concat());
    let candidates = plan["candidates"].as_array().unwrap();
    assert!(candidates.len() > 1, "{plan}");
    assert!(plan["timed_by"].as_str().unwrap().contains("laptop"), "{plan}");
    for candidate in candidates {
        assert!(candidate["seconds"].as_f64().unwrap() > 0.0, "{candidate}");
        assert!(!candidate["binds"].as_str().unwrap().is_empty(), "{candidate}");
    }
    let text = folder.text(&[&["plan", "--why", "--quiet"], &job[..]].concat());
    for words in ["bound by", "would be the fastest with", "simulated on laptop", "it is"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Of one rank there is nothing to choose.
    let alone = folder.run(&["plan", "--why", "--data", data]);
    assert_eq!(alone.code(), Some(2));
}
