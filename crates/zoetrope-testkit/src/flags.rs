//! The command lines of the programs of this crate: flags that each take a value.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The value of a flag.
#[derive(Debug)]
pub struct Given {
    flag: String,
    value: String,
}

impl Given {
    /// The flag with its dashes.
    pub fn flag(&self) -> &str {
        &self.flag
    }

    /// The value as a path.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.value)
    }

    /// The value as it is.
    pub fn text(&self) -> String {
        self.value.clone()
    }

    /// The value as a number.
    ///
    /// # Errors
    /// If it is none.
    pub fn number(&self) -> Result<u64, String> {
        self.value.parse().map_err(|error| format!("{} {}: {error}", self.flag, self.value))
    }
}

/// Shows each flag of this process to `take`, which returns false for one that it does not know.
///
/// # Errors
/// If a flag has no value or is not known, and what `take` finds wrong.
pub fn read(
    usage: &str,
    mut take: impl FnMut(&Given) -> Result<bool, String>,
) -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or(format!("{flag} needs a value\n{usage}"))?;
        let given = Given { flag, value };
        if !take(&given)? {
            return Err(format!("{} is not known\n{usage}", given.flag));
        }
    }
    Ok(())
}

/// Markdown tables with the commit that they were measured at as a further column; other lines stay.
pub fn with_commit(tables: &str, commit: &str) -> String {
    let (mut text, mut rows) = (String::new(), 0);
    for line in tables.lines() {
        rows = if line.starts_with('|') { rows + 1 } else { 0 };
        let cell = [None, Some("commit"), Some("---")].get(rows).copied().unwrap_or(Some(commit));
        text.push_str(line);
        text.extend(cell.map(|cell| format!(" {cell} |")));
        text.push('\n');
    }
    text
}

/// The program that is tried, wherever it is started.
///
/// # Errors
/// If it is not there.
pub fn program(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
}

/// The end of a process: whether promises held, or why that could not be found out.
pub fn exit(name: &str, found: Result<bool, String>) -> ExitCode {
    match found {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_a_table_names_its_commit() {
        let table = "| kind | tried |\n| --- | --- |\n| kill | 3 |\nleft out: ranks\n";
        let expected =
            "| kind | tried | commit |\n| --- | --- | --- |\n| kill | 3 | abc |\nleft out: ranks\n";
        assert_eq!(with_commit(table, "abc"), expected);
    }
}
