//! The runs that are disturbed, and how they are compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Outcome, run_measured};

/// No run takes longer.
pub(super) const LONGEST: Duration = Duration::from_secs(300);

/// A run of one kind of model: small, with much state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Training {
    pub(super) name: &'static str,
    arguments: &'static str,
}

/// Snapshot and event models, with schedules, shuffling, dropout, carried state and memory.
pub(super) const TRAININGS: [Training; 4] = [
    Training {
        name: "tgcn",
        arguments: "--data synthetic:demo?vertices=60&steps=60 --model tgcn --hidden 16 --set \
                    train.carry_state=true --set train.schedule=plateau",
    },
    Training {
        name: "evolvegcn-o",
        arguments: "--data synthetic:sbm?vertices=60&steps=24&communities=4 --task link-prediction \
                    --model evolvegcn-o --set train.shuffle=true --set train.clip=1.0",
    },
    Training {
        name: "tgn",
        arguments: "--data synthetic:bipartite?events=1500 --model tgn --hidden 8 --batch-size 100 \
                    --set model.dropout=0.1",
    },
    Training {
        name: "apan",
        arguments: "--data synthetic:bipartite?events=1500 --model apan --hidden 8 --batch-size 100 \
                    --set train.schedule=cosine",
    },
];

/// What an undisturbed run ended with.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub(super) end: End,
    pub(super) seconds: f64,
    /// The fault points that it passes, in order; none if the program has none.
    pub(super) points: Vec<String>,
}

/// Everything of a run's end that must be equal: the hash of all state, and the metrics as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct End {
    state_hash: String,
    test: Value,
    metrics: Vec<Value>,
}

impl Training {
    /// A command that starts this run in a folder, or continues it.
    pub(super) fn command(
        &self,
        program: &Path,
        out: &Path,
        resume: bool,
        epochs: usize,
    ) -> Command {
        let mut command = Command::new(program);
        command.arg("train");
        if resume {
            command.arg("--resume").arg(out).args(["--epochs", &epochs.to_string()]);
        } else {
            command.args(self.arguments.split_whitespace());
            // Each, however short the epochs: a fault point is met as often in every run.
            command.args(["--checkpoint-every", "1", "--set", "train.checkpoint_share=none"]);
            command.args(["--epochs", &epochs.to_string()]);
            command.arg("--out").arg(out);
        }
        command.arg("--quiet").env("RUST_BACKTRACE", "0");
        command
    }

    /// Runs it undisturbed, once for its end and once for the names of its fault points.
    pub(super) fn whole(
        &self,
        program: &Path,
        scratch: &Path,
        epochs: usize,
    ) -> Result<Whole, String> {
        let out = scratch.join(format!("whole-{}-{epochs}", self.name));
        let mut seconds = 0.0;
        let mut points = Vec::new();
        for list in [true, false] {
            let _ = fs::remove_dir_all(&out);
            let mut command = self.command(program, &out, false, epochs);
            if list {
                command.env("ZOETROPE_FAULT", "list");
            }
            let outcome = run_measured(command, LONGEST).map_err(|error| error.to_string())?;
            let said = outcome.stderr_text();
            if outcome.code() != Some(0) {
                return Err(format!("an undisturbed run of {} failed: {said}", self.name));
            }
            if list {
                let names = said.lines().filter_map(|line| line.strip_prefix("fault point "));
                points = names.map(str::to_owned).collect();
            } else {
                seconds = outcome.seconds;
            }
        }
        let end = end_of(&out).ok_or(format!("{}: no summary", out.display()))?;
        Ok(Whole { end, seconds, points })
    }

    /// Continues a run to its end, or starts it if it was killed before there was one; says how its end
    /// differs from that of an undisturbed run.
    pub(super) fn finish(
        &self,
        program: &Path,
        out: &Path,
        epochs: usize,
        whole: &End,
    ) -> Result<f64, String> {
        let outcome = self.go_on(program, out, epochs, |command| run_measured(command, LONGEST))?;
        if outcome.code() != Some(0) {
            return Err(format!("{}: {}", outcome.status, outcome.stderr_text().trim()));
        }
        let end = end_of(out).ok_or("no summary after it went on")?;
        same(whole, &end)?;
        Ok(outcome.seconds)
    }

    /// Continues a run, or starts it in the same folder if there is nothing to continue: one of the two
    /// is always possible.
    pub(super) fn go_on(
        &self,
        program: &Path,
        out: &Path,
        epochs: usize,
        run: impl Fn(Command) -> std::io::Result<Outcome>,
    ) -> Result<Outcome, String> {
        let failed = |error: std::io::Error| error.to_string();
        let outcome = run(self.command(program, out, true, epochs)).map_err(failed)?;
        // Exit code 2: the folder is no run.
        if outcome.code() == Some(2) {
            return run(self.command(program, out, false, epochs)).map_err(failed);
        }
        Ok(outcome)
    }
}

/// What is not equal.
pub(super) fn same(whole: &End, end: &End) -> Result<(), String> {
    if whole.state_hash != end.state_hash {
        return Err(format!("state_hash {} instead of {}", end.state_hash, whole.state_hash));
    }
    if whole.test != end.test {
        return Err(format!("measured {} instead of {}", end.test, whole.test));
    }
    if whole.metrics != end.metrics {
        return Err("metrics.jsonl differs".into());
    }
    Ok(())
}

/// What a run in a folder ended with; None if it did not end.
pub(super) fn end_of(folder: &Path) -> Option<End> {
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.join("summary.json")).ok()?).ok()?;
    let lines = fs::read_to_string(folder.join("metrics.jsonl")).ok()?;
    let metrics = lines.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        line.as_object_mut()?.remove("seconds");
        Some(line)
    });
    let state_hash = summary.get("state_hash")?.as_str()?.to_owned();
    Some(End { state_hash, test: summary.get("test")?.clone(), metrics: metrics.collect() })
}

/// Keeps a run folder that broke a promise, for whoever looks into it.
pub(super) fn keep(kept: &Path, name: &str, run: &Path) -> PathBuf {
    let folder = kept.join(name);
    let _ = fs::remove_dir_all(&folder);
    let _ = fs::create_dir_all(&folder);
    let _ = Command::new("cp").arg("-a").arg(run).arg(&folder).status();
    folder
}
