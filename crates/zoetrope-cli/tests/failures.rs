//! Exit codes, error blocks and error documents, from outside.

mod binary;

use std::process::Stdio;

use binary::{EVENTS, Folder, command};
use serde_json::Value;

#[test]
fn a_missing_file_is_bad_input_and_names_the_nearest() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let outcome = folder.run(&["data", "inspect", "event.csv"]);
    assert_eq!(outcome.code(), Some(3));
    assert_eq!(outcome.stdout_text(), "");
    let error = outcome.stderr_text();
    assert!(error.contains("event.csv: no such file or folder"), "{error}");
    assert!(error.contains("did you mean events.csv?"), "{error}");
}

#[test]
fn a_bad_row_is_shown_with_place_expectation_finding_and_advice() {
    let folder = Folder::new();
    folder.write("rows.csv", "src,dst,t\n1,2,5\n1,2,never\n2,3,9\n");
    let outcome = folder.run(&["data", "inspect", "rows.csv"]);
    assert_eq!(outcome.code(), Some(3));
    let error = outcome.stderr_text();
    assert!(error.contains("rows.csv:3"), "{error}");
    assert!(error.contains("expected") && error.contains("found"), "{error}");
    assert!(error.contains("never"), "{error}");
    assert!(error.contains("--lenient"), "{error}");
}

#[test]
fn with_json_a_failure_is_one_document_too() {
    let folder = Folder::new();
    folder.write("rows.csv", "src,dst,t\n1,2,5\n1,2,never\n2,3,9\n");
    for (arguments, code) in [
        (&["data", "inspect", "rows.csv", "--json"][..], 3),
        (&["data", "inspect", "absent.csv", "--json"], 3),
        (&["data", "inspect", "rows.csv", "--json", "--no-such-flag"], 2),
        (&["data", "inspect", "synthetic:unifrom", "--json"], 2),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code(), Some(code), "{arguments:?}");
        let document: Value = serde_json::from_slice(&outcome.stdout).unwrap();
        assert_eq!(document["error"]["code"], code, "{arguments:?}");
        assert!(document["error"]["message"].is_string(), "{arguments:?}");
    }
    let outcome = folder.run(&["data", "inspect", "rows.csv", "--json"]);
    let document: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(document["error"]["problems"][0]["line"], 3);
}

#[test]
fn wrong_usage_is_two_and_suggests_what_was_meant() {
    let folder = Folder::new();
    for (arguments, expected) in [
        (&["data", "inspct"][..], "'inspect'"),
        (&["data", "inspect", "x", "--windw", "1d"], "'--window'"),
        (&["data", "inspect", "x", "--format", "edge-lst"], "'edge-list'"),
        (&["data", "inspect", "x", "--threads", "0"], "whole number"),
        (&["data", "inspect", "x", "--window", "sometimes"], "6h"),
        (&["data", "inspect", "x", "--header", "--no-header"], "cannot be used with"),
        (&["trian"], "unrecognized subcommand"),
        (&[], "Usage"),
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code(), Some(2), "{arguments:?}");
        let error = outcome.stderr_text();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_window_that_makes_too_many_snapshots_is_refused_at_once() {
    let folder = Folder::new();
    folder.write("wide.csv", "src,dst,t\n1,2,0\n1,2,4000000000000\n");
    let outcome = folder.run(&["data", "inspect", "wide.csv", "--window", "1"]);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.cpu_seconds < 5.0, "{} s", outcome.cpu_seconds);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let here = folder.path("");
    for arguments in [
        &["data", "inspect", "events.csv", "--json"][..],
        &["completions", "bash"],
        &["--help"],
        &["man"],
    ] {
        let mut child = command(&here, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_report_is_a_missing_resource() {
    let folder = Folder::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status =
        command(&folder.path(""), &["doctor"]).stdout(full).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(4));
}
