//! What a command may take to decide about a file, and what is wrong with an outcome.
//!
//! The promise (SECURITY.md): every file is decided within 5 s and 64 MiB plus 8 times its size,
//! without a panic, and nothing raw of it reaches the terminal.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::process::Outcome;

/// What a decision may compute: time of processors, so that a busy machine changes nothing.
pub const CPU_LIMIT_SECONDS: f64 = 5.0;

/// When a process is given up that neither computes nor ends.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The memory that reading files of so many bytes may take.
pub fn reading_memory_bytes(file_bytes: u64) -> u64 {
    (64 << 20) + 8 * file_bytes
}

/// How an outcome breaks the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breach {
    /// It panicked.
    Panic,
    /// A signal ended it.
    Signal,
    /// It did not decide in time, or did not stop when it was asked to.
    Hang,
    /// It took more memory than it may.
    Memory,
    /// An exit code that is not the one of bad input.
    ExitCode,
    /// Control characters of the input came out.
    Raw,
    /// Standard output is not the one JSON document that was asked for.
    Document,
    /// Something outside the named paths changed.
    Outside,
}

/// The breaches of an outcome with what was seen; `codes` are the exit codes that are right.
pub fn breaches(outcome: &Outcome, memory_bytes: u64, codes: &[i32]) -> Vec<(Breach, String)> {
    let mut found = Vec::new();
    let message = outcome.stderr_text();
    let panicked = message.contains("panicked") || outcome.code() == Some(101);
    if panicked {
        found.push((Breach::Panic, "panicked".into()));
    }
    if outcome.timed_out {
        let seconds = outcome.seconds;
        found.push((Breach::Hang, format!("not decided within {seconds:.0} s")));
    } else if outcome.asked_to_stop {
        // How it ends is its own affair, as long as it does.
    } else if outcome.cpu_seconds > CPU_LIMIT_SECONDS {
        found.push((Breach::Hang, format!("computed for {:.1} s", outcome.cpu_seconds)));
    } else if outcome.code().is_none() {
        found.push((Breach::Signal, format!("ended with {}", outcome.status)));
    } else if !panicked && !outcome.code().is_some_and(|code| codes.contains(&code)) {
        found.push((Breach::ExitCode, format!("ended with {}", outcome.status)));
    }
    if outcome.peak_rss_bytes > memory_bytes {
        let (peak, limit) = (outcome.peak_rss_bytes >> 20, memory_bytes >> 20);
        found.push((Breach::Memory, format!("took {peak} MiB of memory, may take {limit}")));
    }
    if is_raw(&message) || is_raw(&outcome.stdout_text()) {
        found.push((Breach::Raw, "the output holds control characters of the file".into()));
    }
    found
}

/// Whether a text holds characters that command a terminal.
fn is_raw(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
}

/// Whether bytes are one JSON document.
pub fn is_one_json_document(stdout: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(stdout).is_ok()
}

/// The bytes of a file, or of all files in a folder. Links count nothing.
pub fn bytes_on_disk(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => meta.len(),
        Ok(meta) if meta.is_dir() => fs::read_dir(path)
            .map(|entries| entries.flatten().map(|entry| bytes_on_disk(&entry.path())).sum())
            .unwrap_or(0),
        _ => 0,
    }
}
