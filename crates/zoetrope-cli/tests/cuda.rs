//! What the commands say about CUDA, if it is missing and if it is there, from outside.

mod binary;

use std::time::Duration;

use binary::Folder;
use serde_json::Value;
use zoetrope_testkit::{Outcome, emulator};

const TRAIN: &[&str] = &[
    "train",
    "--data",
    "synthetic:demo?vertices=20&steps=30",
    "--epochs",
    "1",
    "--quiet",
    "--device",
    "cuda",
];

/// Compiling the kernels for the emulated GPU takes most of it.
const LIMIT: Duration = Duration::from_secs(600);

fn without_cuda(folder: &Folder, arguments: &[&str]) -> Outcome {
    let empty = folder.path("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let hide = |command: &mut std::process::Command| {
        command.env("ZOETROPE_CUDA_PATH", empty);
    };
    folder.run_with(arguments, hide, LIMIT)
}

fn with_gpu(folder: &Folder, arguments: &[&str]) -> Outcome {
    let point = |command: &mut std::process::Command| {
        emulator::point(command);
    };
    folder.run_with(arguments, point, LIMIT)
}

fn document(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout).unwrap()
}

#[test]
fn without_a_driver_a_gpu_is_a_missing_resource_and_the_advice_names_both_ways_out() {
    let folder = Folder::new();
    let machine = document(&without_cuda(&folder, &["doctor", "--json"]));
    if machine["cuda"]["problem"].is_null() {
        // This machine has CUDA where the system looks for libraries: it cannot be hidden.
        return;
    }
    let says = machine["cuda"]["problem"].as_str().unwrap();
    for arguments in [TRAIN, &["doctor", "--conformance"]] {
        let outcome = without_cuda(&folder, arguments);
        let error = outcome.stderr_text();
        assert_eq!(outcome.code(), Some(4), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(error.contains("not found (looked for lib"), "{error}");
        assert!(error.contains("--device cpu"), "{error}");
        assert_eq!(outcome.stdout_text(), "");
    }
}

#[test]
fn a_gpu_that_is_there_is_ready_and_trains() {
    let folder = Folder::new();
    let outcome = with_gpu(&folder, &["doctor"]);
    assert!(outcome.stdout_text().contains("ready: "), "{}", outcome.stdout_text());
    assert!(outcome.stdout_text().contains("CUPTI"), "{}", outcome.stdout_text());
    assert!(outcome.stdout_text().contains("ready: NCCL 2."), "{}", outcome.stdout_text());
    let out = [TRAIN, &["--out", "run", "--json"]].concat();
    let outcome = with_gpu(&folder, &out);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    document(&outcome);
}

#[test]
fn a_comparison_is_one_document() {
    let folder = Folder::new();
    let arguments = ["doctor", "--conformance", "--device", "cuda", "--only", "tgcn", "--json"];
    let outcome = with_gpu(&folder, &arguments);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let document = document(&outcome);
    assert_eq!(document["agrees"], true);
    let names: Vec<&str> = document["models"]["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"tgcn pygt") && names.contains(&"a3tgcn paper"), "{names:?}");
}
