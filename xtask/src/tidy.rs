//! Rules of the house that no compiler checks. Each rule is a pure function from files to
//! findings, so that it can be tested on files that do not exist.

mod arrows;
mod kernels;
mod leftovers;
mod manifests;
mod names;
mod results;
mod rust_code;
mod unsafety;
mod walks;
mod wishes;

use std::fmt;
use std::path::Path;

use crate::repository::{self, SourceFile};

/// Files longer than this are named, but not refused: a file is split when it owns two things.
const LONG_FILE_LINES: usize = 600;

/// Something that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    fn line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Checks the repository and prints what it found; true if nothing breaks a rule.
pub(crate) fn run(root: &Path) -> bool {
    let files = repository::files(root);
    let mut findings = check(&files);
    match arrows::read_edges(root) {
        Ok(edges) => {
            let page = files.iter().find(|file| file.path == "ARCHITECTURE.md");
            let arrows = arrows::read_arrows(page.map_or("", |page| &page.text));
            findings.extend(arrows::check(&arrows, &edges));
        }
        Err(message) => findings.push(Finding::file("Cargo.toml", message)),
    }
    for finding in &findings {
        println!("{finding}");
    }
    for (path, lines) in long_files(&files) {
        println!("note: {path} has {lines} lines; does it own two things?");
    }
    println!("tidy: {} files, {} findings", files.len(), findings.len());
    findings.is_empty()
}

fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = names::check(files);
    findings.extend(unsafety::check(files));
    findings.extend(manifests::check(files));
    findings.extend(kernels::check(files));
    findings.extend(leftovers::check(files));
    findings.extend(results::check(files));
    findings.extend(walks::check(files));
    findings.extend(wishes::check(files));
    findings
}

fn long_files(files: &[SourceFile]) -> Vec<(&str, usize)> {
    let lengths = files.iter().filter(|file| file.extension() == "rs");
    let lengths = lengths.map(|file| (file.path.as_str(), file.text.lines().count()));
    lengths.filter(|(_, lines)| *lines > LONG_FILE_LINES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn the_repository_itself_is_tidy() {
        assert!(run(&repository::root()));
    }

    #[test]
    fn long_files_are_named_but_break_no_rule() {
        let long = file("crates/zoetrope-graph/src/long.rs", &"\n".repeat(601));
        assert_eq!(long_files(std::slice::from_ref(&long)).len(), 1);
        assert_eq!(check(&[long]), []);
    }
}
