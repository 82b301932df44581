//! One key in one kind of run.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use zoetrope_testkit::emulator;

use crate::binary::Folder;
use crate::table::{FILES, Key, Kind};

/// What a changed value does.
#[derive(Debug)]
pub(crate) enum Found {
    /// Something differs: what.
    Acts(#[allow(dead_code, reason = "read where it is printed")] Vec<String>),
    /// The run is refused, and the refusal names the key.
    Refused,
    /// The run is refused, and the refusal does not name the key: what it says.
    Nameless(#[allow(dead_code, reason = "read where it is printed")] String),
    /// Nothing differs.
    Silent,
}

/// What came out of a run, or the refusal.
type Outcome = Result<Value, String>;

/// Runs that several keys are compared with, by their settings.
#[derive(Default)]
pub(crate) struct Bases(Mutex<HashMap<String, Outcome>>);

impl Bases {
    fn of(&self, kind: &Kind, more: &[&str]) -> Outcome {
        let name = format!("{} {}", kind.name, more.join(" "));
        if let Some(known) = self.0.lock().unwrap().get(&name) {
            return known.clone();
        }
        let outcome = run(kind, more);
        self.0.lock().unwrap().insert(name, outcome.clone());
        outcome
    }
}

/// Trains a kind of run without and with each other value of a key.
pub(crate) fn trial(bases: &Bases, kind: &Kind, key: &Key) -> Found {
    // What makes the key visible need not suit the kind; then it has to be refused without.
    let suits = bases.of(kind, key.with).is_ok();
    // Nor need a run be possible without the key, as on a file with bad rows.
    let mends = |value: &&str| {
        run(kind, &[key.with, &[&*format!("{}={value}", key.name)]].concat()).is_ok()
    };
    if !suits && key.values.iter().any(mends) {
        return Found::Acts(vec!["the run is possible".to_owned()]);
    }
    let with: &[&str] = if suits { key.with } else { &[] };
    let base = match bases.of(kind, with) {
        Ok(base) => base,
        Err(refusal) => panic!("{} is no kind of run: {refusal}", kind.name),
    };
    let mut silent = false;
    let mut nameless = None;
    for value in key.values {
        let setting = format!("{}={value}", key.name);
        if kind.settings.contains(&setting.as_str()) {
            continue;
        }
        match run(kind, &[with, &[setting.as_str()]].concat()) {
            Ok(found) => {
                let differs = differences(&base, &found);
                if !differs.is_empty() {
                    return Found::Acts(differs);
                }
                silent = true;
            }
            Err(refusal) if names(&refusal, key.name) => {}
            Err(refusal) => nameless = Some(refusal),
        }
    }
    match nameless {
        _ if silent => Found::Silent,
        Some(refusal) => Found::Nameless(refusal),
        None => Found::Refused,
    }
}

/// Whether a refusal names a key, by its name or by its flag.
fn names(refusal: &str, key: &str) -> bool {
    let name = key.split_once('.').map_or(key, |(_, name)| name);
    let spoken = name.replace('_', "-");
    let of_ranks = name == "ranks" && refusal.contains("ranks");
    [name, spoken.as_str()].iter().any(|word| refusal.contains(word)) || of_ranks
}

fn differences(base: &Value, found: &Value) -> Vec<String> {
    let of = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (base, found) = (of(base), of(found));
    base.iter()
        .filter(|(key, value)| found.get(*key) != Some(value))
        .map(|at| at.0.clone())
        .collect()
}

/// Trains and predicts in a fresh folder.
fn run(kind: &Kind, more: &[&str]) -> Outcome {
    let folder = Folder::new();
    for (name, text) in FILES {
        folder.write(name, text);
    }
    let mut arguments = vec!["train", "--quiet", "--out", "run"];
    for setting in kind.settings.iter().chain(kind.common()).chain(more) {
        arguments.extend(["--set", setting]);
    }
    let call = |arguments: &[&str]| {
        let point = |command: &mut std::process::Command| {
            if kind.on_gpu() {
                emulator::point(command);
            }
        };
        let outcome = folder.run_with(arguments, point, Duration::from_secs(600));
        if outcome.code() == Some(0) { Ok(()) } else { Err(outcome.stderr_text()) }
    };
    call(&arguments)?;
    let answers = call(&["predict", "--quiet", "--run", "run", "--out", "answers.npy"])
        .map_or_else(|_| Vec::new(), |()| folder.bytes("answers.npy"));
    let mut summary = folder.summary("run");
    let epochs = summary["epochs"].as_array_mut().unwrap();
    epochs.iter_mut().for_each(|epoch| epoch["seconds"] = Value::Null);
    let mut plan = summary["plan"].take();
    // Reasons are words.
    plan["reasons"] = Value::Null;
    // Ranks send each other the text of their configuration, so that any other value is other bytes.
    let bytes = if summary["ranks"] == 1 { summary["bytes"].take() } else { Value::Null };
    Ok(json!({
        "state": summary["state_hash"], "epochs": summary["epochs"], "test": summary["test"],
        "baselines": summary["baselines"], "redundancy": summary["redundancy"],
        "verdict": summary["verdict"], "data": summary["data"]["edges"],
        "transport": summary["device_transport"], "streamed": summary["streaming"]["bytes"],
        "plan": plan, "bytes": bytes, "answers": answers, "files": files(&folder),
    }))
}

/// The files of the run folder, without the times in their names.
fn files(folder: &Folder) -> Vec<String> {
    let mut names = Vec::new();
    for inner in ["run", "run/checkpoints"] {
        for entry in std::fs::read_dir(folder.path(inner)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let name = if name.starts_with("events.out") { "events.out".to_owned() } else { name };
            names.push(format!("{inner}/{name}"));
        }
    }
    names.sort();
    names
}
