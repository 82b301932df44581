//! `zoetrope doctor`, `completions`, `man` and help, from outside.

mod binary;

use binary::Folder;

#[test]
fn the_doctor_names_the_machine_and_admits_what_the_build_lacks() {
    let folder = Folder::new();
    let text = folder.text(&["doctor"]);
    for expected in ["processor", "memory", "GPU", "MPI launcher", "train --ranks N"] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let document = folder.json(&["doctor", "--json"]);
    assert_eq!(document["schema"], 1);
    assert!(document["cpu"]["threads"].as_u64().unwrap() > 0);
    assert_eq!(document["build"]["cuda"], true);
    let (mpi, knows) = (&document["mpi"], cfg!(feature = "mpi"));
    assert_eq!(document["build"]["mpi"], knows);
    assert_eq!(text.contains("not in this build (cargo build"), !knows, "{text}");
    // A build that knows MPI has found a library or says what it tried.
    assert_eq!(mpi["library"].is_string() || mpi["problem"].is_string(), knows, "{mpi}");
    if let Some(library) = mpi["library"].as_str() {
        assert!(text.contains(&format!("ready: {}", &library[..12])), "{text}");
    }
    let names: Vec<&str> = document["libraries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|library| library["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["CUDA driver", "NVRTC", "cuBLAS", "NCCL"]);
}

#[test]
fn every_shell_has_completions() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.text(&["completions", shell]);
        assert!(script.contains("inspect"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    assert!(folder.text(&["man"]).contains(".TH zoetrope 1"));
    folder.text(&["man", "--out", "pages"]);
    for page in ["zoetrope", "zoetrope-data", "zoetrope-data-inspect", "zoetrope-doctor"] {
        let text = std::fs::read_to_string(folder.path(&format!("pages/{page}.1"))).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

#[test]
fn every_command_shows_examples_in_its_help() {
    let folder = Folder::new();
    for command in [
        &["data", "inspect"][..],
        &["data", "convert"],
        &["data", "generate"],
        &["data", "negatives"],
        &["doctor"],
        &["completions"],
        &["man"],
        &[],
    ] {
        let arguments: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let help = folder.text(&arguments);
        assert!(help.contains("Examples:\n  zoetrope "), "{command:?}: {help}");
    }
}

#[test]
fn the_version_is_that_of_the_workspace() {
    let folder = Folder::new();
    assert_eq!(folder.text(&["--version"]), concat!("zoetrope ", env!("CARGO_PKG_VERSION"), "\n"));
}
