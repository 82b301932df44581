//! The crates with `unsafe` under a sanitizer: their tests, built with `-Zsanitizer`.
//!
//! A stable compiler takes the flag with `RUSTC_BOOTSTRAP=1` and ships the run-time library. The standard
//! library itself is not instrumented, which is enough for AddressSanitizer; ThreadSanitizer would
//! report its locks, and Miri is a component that stable toolchains do not have.

use std::path::Path;
use std::process::Command;

use crate::validate::{cargo, target};

/// Crates with `unsafe` of their own.
const CRATES: [&str; 4] = ["zoetrope-heap", "zoetrope-graph", "zoetrope-tensor", "zoetrope-dist"];

/// Runs the tests of the crates with `unsafe`, or those that the words name, under AddressSanitizer.
pub(crate) fn run(root: &Path, words: &[&str]) -> bool {
    let Some(host) = host() else {
        eprintln!("rustc does not say which machine it compiles for");
        return false;
    };
    let mut command = cargo(root, &["test", "--locked", "--lib", "--tests", "--no-fail-fast"]);
    for name in CRATES {
        command.args(["--package", name]);
    }
    // With a target named, build scripts and macros are compiled without the sanitizer.
    command.args(["--target", &host, "--target-dir"]).arg(target(root).join("sanitize"));
    command.arg("--").args(words);
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // Libraries that are loaded at run time keep what they allocate until the process ends.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    command.status().is_ok_and(|status| status.success())
}

fn host() -> Option<String> {
    let output = Command::new("rustc").arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}
