//! What the command line of `cargo xtask hashes` asks for.

use std::path::PathBuf;

pub(super) const USAGE: &str = "\
cargo xtask hashes --program FILE [--out FILE] [--against FILE | --against-program FILE]
                   [--reasons FILE] [--markdown FILE] [--snapshots KEY=VALUE] [--events KEY=VALUE]
                   [--list] [WORD …]";

/// What the results are compared with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Results that an earlier call wrote with `--out`.
    File(PathBuf),
    /// Another program, run now.
    Program(PathBuf),
}

/// Settings that one program gets besides those of the rows, which win.
#[derive(Debug, Default)]
pub(super) struct More {
    /// For rows of snapshot models.
    pub(super) snapshots: Vec<String>,
    /// For rows of event models.
    pub(super) events: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) program: Option<PathBuf>,
    pub(super) other: Option<Other>,
    pub(super) out: Option<PathBuf>,
    pub(super) markdown: Option<PathBuf>,
    pub(super) reasons: Option<PathBuf>,
    pub(super) more: More,
    pub(super) lists: bool,
    /// A row is run if its name holds all of them.
    pub(super) words: Vec<String>,
}

impl Request {
    pub(super) fn read(arguments: &[&str]) -> Result<Self, String> {
        let mut request = Self::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut value = || {
                let value = rest.next().map(|text| (*text).to_owned());
                value.ok_or_else(|| format!("{argument} needs a value\n{USAGE}"))
            };
            match argument {
                "--program" => request.program = Some(value()?.into()),
                "--out" => request.out = Some(value()?.into()),
                "--against" => request.other = Some(Other::File(value()?.into())),
                "--against-program" => request.other = Some(Other::Program(value()?.into())),
                "--markdown" => request.markdown = Some(value()?.into()),
                "--reasons" => request.reasons = Some(value()?.into()),
                "--snapshots" => request.more.snapshots.push(value()?),
                "--events" => request.more.events.push(value()?),
                "--list" => request.lists = true,
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown flag {flag}\n{USAGE}"));
                }
                word => request.words.push(word.to_owned()),
            }
        }
        if request.markdown.is_some() && request.other.is_none() {
            return Err(format!("--markdown shows a comparison\n{USAGE}"));
        }
        Ok(request)
    }

    pub(super) fn selects(&self, name: &str) -> bool {
        self.words.iter().all(|word| name.contains(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_words_are_told_apart() {
        let words = ["--program", "a", "tgcn", "--against", "b.json", "cuda"];
        let request = Request::read(&words).unwrap();
        assert_eq!(request.other, Some(Other::File("b.json".into())));
        assert!(request.selects("tgcn link-prediction cuda"));
        assert!(!request.selects("tgcn link-prediction cpu"));
    }

    #[test]
    fn a_flag_without_its_value_and_an_unknown_one_are_refused() {
        for words in [&["--program"][..], &["--progam", "a"], &["--markdown", "page.md"]] {
            assert!(Request::read(words).unwrap_err().contains(USAGE), "{words:?}");
        }
    }
}
