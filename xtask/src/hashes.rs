//! Whether a change keeps every result: a table of small configurations, trained by one program or two.
//!
//! Each row of the table is trained on synthetic data in well under a second, and what came out of it is
//! kept: the hash of its whole state, its losses and metrics, the bytes that it moved, its predictions, or
//! the exit code and the first line of the refusal. Results of two programs, or of one program and a file
//! that an earlier one wrote, are compared row by row. Only results of one kind of processor can be compared:
//! last bits depend on its vector units, which the file names.

mod comparison;
mod outcome;
mod reasons;
mod request;
mod row;
mod runs;
mod table;
mod ties;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use comparison::Comparison;
use reasons::Reasons;
use request::{Other, Request};
use runs::Results;

use crate::validate;

/// Runs the table as asked; true if nothing differs that has no reason.
pub(crate) fn run(root: &Path, words: &[&str]) -> bool {
    match try_run(root, words) {
        Ok(equal) => equal,
        Err(message) => {
            eprintln!("{message}");
            false
        }
    }
}

fn try_run(root: &Path, words: &[&str]) -> Result<bool, String> {
    let request = Request::read(words)?;
    let rows: Vec<_> = table::rows().into_iter().filter(|row| request.selects(&row.name)).collect();
    if rows.is_empty() {
        return Err(format!("no configuration has a name with {}", request.words.join(" ")));
    }
    if request.lists {
        rows.iter().for_each(|row| println!("{}", row.name));
        return Ok(true);
    }
    let program = request.program.as_deref().ok_or(request::USAGE)?;
    let emulator = emulator(root)?;
    let folder = validate::target(root).join("hashes");
    let of = |program: &Path, label: &str, more| {
        runs::run(program, &rows, &emulator, &folder.join(label), more)
    };
    let found = of(program, "program", &request.more)?;
    if let Some(path) = &request.out {
        write(path, &found.to_text())?;
    }
    let broken = found.unequal_after_resuming(&rows);
    for row in &broken {
        println!("{row}: another state than without the stop");
    }
    let (other, name) = match &request.other {
        None => {
            println!("{} configurations, {} refused", rows.len(), found.refused());
            return Ok(broken.is_empty());
        }
        Some(Other::File(path)) => (Results::read(path)?, path.display().to_string()),
        Some(Other::Program(path)) => {
            (of(path, "against", &request::More::default())?, path.display().to_string())
        }
    };
    if let Some(warning) = other.other_processor(&found) {
        eprintln!("{warning}");
    }
    let reasons = request.reasons.as_deref().map(Reasons::read).transpose()?.unwrap_or_default();
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let comparison = Comparison::of(&names, &other, &found, &reasons);
    comparison.print();
    if let Some(path) = &request.markdown {
        write(path, &comparison.page(&name, &program.display().to_string()))?;
    }
    Ok(broken.is_empty() && comparison.unexplained() == 0)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The folder of the emulated CUDA libraries, built if they are older than their sources.
fn emulator(root: &Path) -> Result<PathBuf, String> {
    let folder = validate::target(root).join("cuda-emulator");
    let script = root.join("crates/zoetrope-testkit/emulator/build.sh");
    let built = Command::new(&script).arg(&folder).stdout(Stdio::null()).status();
    if built.is_ok_and(|status| status.success()) {
        Ok(folder)
    } else {
        Err(format!("{} failed", script.display()))
    }
}
