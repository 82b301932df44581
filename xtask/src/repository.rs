//! Where the repository is and what files it holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that hold nothing written by hand.
const SKIPPED: [&str; 9] = [
    ".git",
    "target",
    ".venv",
    "__pycache__",
    "corpus",
    "artifacts",
    "node_modules",
    "out",
    "proptest-regressions",
];

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The commit that is measured, `-changed` if the files differ from it; "unknown" without git.
pub(crate) fn commit(root: &Path) -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git").current_dir(root).args(words).output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(said)
    };
    let tracked = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"];
    let Some(name) = git(&["rev-parse", "--short=9", "HEAD"]) else { return "unknown".to_owned() };
    let is_changed = git(&tracked).is_none_or(|files| !files.is_empty());
    if is_changed { format!("{name}-changed") } else { name }
}

/// A file as the rules see it.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    /// Path from the root, with `/` between its parts.
    pub(crate) path: String,
    /// Its text; empty if it is not UTF-8.
    pub(crate) text: String,
}

impl SourceFile {
    /// The part of the name before the first dot.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }

    /// The part of the name after the last dot.
    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |it| it.1)
    }
}

/// All files written by hand, ordered by path. Links are not followed: the attack corpus has
/// links that lead in circles.
pub(crate) fn files(root: &Path) -> Vec<SourceFile> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.extend(read(root, &entry.path()));
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

fn read(root: &Path, path: &Path) -> Option<SourceFile> {
    let relative = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str()).collect();
    let path_text = parts.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
    let text = fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    Some(SourceFile { path: path_text, text: text.unwrap_or_default() })
}
