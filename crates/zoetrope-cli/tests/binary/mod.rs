//! Runs the real binary in a fresh folder.
#![allow(dead_code, reason = "each test program uses its own part of this module")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use zoetrope_testkit::{Outcome, run_measured};

/// A fresh folder to run the binary in.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// `summary.json` of a run folder.
    pub(crate) fn summary(&self, run: &str) -> Value {
        serde_json::from_slice(&self.bytes(&format!("{run}/summary.json"))).unwrap()
    }

    /// Runs `zoetrope` with these arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, |_| {}, Duration::from_secs(600))
    }

    /// Runs `zoetrope` in another environment, for a limited time.
    pub(crate) fn run_with(
        &self,
        arguments: &[&str],
        change: impl FnOnce(&mut Command),
        limit: Duration,
    ) -> Outcome {
        let mut command = command(self.0.path(), arguments);
        change(&mut command);
        run_measured(command, limit).unwrap()
    }

    /// Runs `zoetrope` and expects success and one JSON document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
        serde_json::from_slice(&outcome.stdout).unwrap()
    }

    /// Runs `zoetrope` and expects success; returns what it prints.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
        assert_eq!(outcome.stderr_text(), "");
        outcome.stdout_text()
    }
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zoetrope"));
    command.args(arguments).current_dir(folder);
    // What was measured of the machine that tests run on is not theirs.
    command.env("ZOETROPE_MACHINE_CACHE", "");
    command
}

/// Ten events among four people over three days, one of them a self-loop.
pub(crate) const EVENTS: &str = "\
src,dst,t,w
ann,bob,0,1.5
bob,ann,3600,2
ann,bob,7200,0.5
cid,dan,86400,1
dan,dan,90000,1
ann,cid,93600,3
bob,cid,172800,1
ann,bob,176400,2
cid,ann,180000,1
dan,ann,183600,4
";
