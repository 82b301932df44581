//! Runs the rows of the table with one program, at most two at a time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::outcome::Outcome;
use super::request::More;
use super::row::Row;
use super::ties;

/// Rows that run side by side.
const AT_A_TIME: usize = 2;

/// A command that takes longer hangs: the slowest compiles the kernels of a model for the emulated GPU.
const LIMIT: Duration = Duration::from_secs(300);

/// What came out of the rows, by name.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The vector units of the processor, on which last bits depend.
    vector_level: String,
    pub(super) rows: BTreeMap<String, Outcome>,
}

impl Results {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let bad = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let text = fs::read_to_string(path).map_err(|error| bad(&error))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| bad(&error))?;
        let rows = value["rows"].as_object().ok_or_else(|| bad(&"no results of `hashes`"))?;
        let rows = rows.iter().map(|(name, row)| (name.clone(), Outcome::from_json(row))).collect();
        let vector_level = value["vector_level"].as_str().unwrap_or_default().to_owned();
        Ok(Self { vector_level, rows })
    }

    pub(super) fn to_text(&self) -> String {
        let rows: Map<String, Value> =
            self.rows.iter().map(|(name, row)| (name.clone(), row.to_json())).collect();
        let value = json!({"vector_level": self.vector_level, "rows": rows});
        serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
    }

    pub(super) fn refused(&self) -> usize {
        self.rows.values().filter(|row| row.code != Some(0)).count()
    }

    /// What to say if results of two kinds of processors are compared.
    pub(super) fn other_processor(&self, other: &Self) -> Option<String> {
        let [one, two] = [&self.vector_level, &other.vector_level];
        (one != two)
            .then(|| format!("vector units differ ({one} and {two}): last bits cannot be compared"))
    }

    /// Rows that were stopped and continued, and came to another state than their twin without a stop.
    pub(super) fn unequal_after_resuming<'a>(&self, rows: &'a [Row]) -> Vec<&'a str> {
        let differs = |row: &&Row| {
            let whole = row.without_stop().and_then(|name| self.rows.get(name));
            let resumed = self.rows.get(&row.name);
            whole.zip(resumed).is_some_and(|(one, two)| one.state_hash() != two.state_hash())
        };
        rows.iter().filter(differs).map(|row| row.name.as_str()).collect()
    }
}

/// Runs all rows; fails only if the program cannot be started at all.
pub(super) fn run(
    program: &Path,
    rows: &[Row],
    emulator: &Path,
    folder: &Path,
    more: &More,
) -> Result<Results, String> {
    let program = fs::canonicalize(program)
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let place = Place { program, emulator: fs::canonicalize(emulator).unwrap_or_default() };
    let _ = fs::remove_dir_all(folder);
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Results::default()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = rows.get(at) else { return };
            let settings = if row.is_of_events() { &more.events } else { &more.snapshots };
            let root = folder.join(at.to_string());
            let (outcome, level) = place.run(row, settings, &root);
            eprintln!("{:>4} of {}  {}  {}", at + 1, rows.len(), outcome.brief(), row.name);
            let Ok(mut found) = found.lock() else { return };
            found.vector_level = level.unwrap_or_else(|| found.vector_level.clone());
            found.rows.insert(row.name.clone(), outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
    found.into_inner().map_err(|_| "a row could not be run".to_owned())
}

/// What all rows are run with.
struct Place {
    program: PathBuf,
    emulator: PathBuf,
}

impl Place {
    /// Runs the commands of a row and what predicts with it; and the vector units that it computed with.
    fn run(&self, row: &Row, more: &[String], root: &Path) -> (Outcome, Option<String>) {
        let made =
            fs::create_dir_all(root).and_then(|()| fs::write(root.join(ties::FILE), ties::text()));
        if let Err(error) = made {
            return (Outcome::refused(None, error.to_string()), None);
        }
        let start = Instant::now();
        for arguments in row.commands(more) {
            let (code, said) = self.command(&arguments, root);
            if code != Some(0) {
                return (Outcome::refused(code, said), None);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let predict = ["predict", "--quiet", "--run", "run", "--out", "answers.npy"];
        let (code, said) = self.command(&predict.map(str::to_owned), root);
        let answers = match code {
            Some(0) => fs::read(root.join("answers.npy")).map_err(|error| error.to_string()),
            _ => Err(said),
        };
        let summary = fs::read(root.join("run/summary.json")).ok();
        let summary: Value =
            summary.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let level = summary["vector_level"].as_str().map(str::to_owned);
        let _ = fs::remove_dir_all(root);
        (Outcome::of_run(&summary, answers, seconds), level)
    }

    /// The exit code of a command and the first line of what it complained about.
    fn command(&self, arguments: &[String], root: &Path) -> (Option<i32>, String) {
        let said = root.join("said.txt");
        let log = match File::create(&said) {
            Ok(log) => log,
            Err(error) => return (None, error.to_string()),
        };
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ZOETROPE_") {
                command.env_remove(name);
            }
        }
        command
            .env("ZOETROPE_CUDA_PATH", &self.emulator)
            .env("ZOETROPE_KERNEL_CACHE", self.emulator.join("kernels"))
            .args(arguments)
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let code = match command.spawn() {
            Ok(child) => wait(child),
            Err(error) => return (None, error.to_string()),
        };
        let text = fs::read(&said).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let complaint = lines().find(|line| line.starts_with("error")).or_else(|| lines().next());
        let hangs = || format!("did not end within {} s", LIMIT.as_secs());
        (
            code,
            complaint.map_or_else(
                || if code.is_none() { hangs() } else { String::new() },
                str::to_owned,
            ),
        )
    }
}

/// The exit code, or none if a signal ended the program or it had to be ended.
fn wait(mut child: std::process::Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(status)) => return status.code(),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Trains and predicts as the real program does, as far as this file looks; refuses `tgat`.
    const PROGRAM: &str = r#"#!/bin/sh
case "$*" in
*tgat*) echo 'warning: first'; echo 'error: no tgat' >&2; exit 2 ;;
predict*) cp run/summary.json answers.npy ;;
train*--resume*) : ;;
*) mkdir run && printf '{"state_hash":"abc","vector_level":"v"}' >run/summary.json ;;
esac
"#;

    #[test]
    fn what_the_program_says_and_writes_is_kept_by_row() {
        let folder = std::env::temp_dir().join(format!("zoetrope-hashes-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        fs::write(&program, PROGRAM).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let data = ("data", "data.csv");
        let row = |model| Row::new(model, "link-prediction", data, "cpu", "");
        let rows = [row("tgn"), row("tgn").resumed(), row("tgat")];
        let found = run(&program, &rows, &folder, &folder.join("runs"), &More::default()).unwrap();
        let [one, two, refused] = rows.each_ref().map(|row| &found.rows[&row.name]);
        assert_eq!((one.state_hash(), two.state_hash()), (Some("abc"), Some("abc")));
        assert_eq!((refused.code, refused.said.as_str()), (Some(2), "error: no tgat"));
        assert!(one.differences(two).is_empty());
        assert!(found.unequal_after_resuming(&rows).is_empty());
        assert_eq!(found.vector_level, "v");
        fs::write(folder.join("results.json"), found.to_text()).unwrap();
        let read = Results::read(&folder.join("results.json")).unwrap();
        assert_eq!(read.rows[&rows[2].name], *refused);
        fs::remove_dir_all(&folder).unwrap();
    }
}
