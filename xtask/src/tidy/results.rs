//! Every row of a table in `bench/results` says which commit it was measured at.

use super::Finding;
use crate::repository::SourceFile;

/// Tables of `bench/results` in which a row does not name its commit: in a column `commit` (or `commits`), or by
/// columns that are named after commits. "unknown" is an answer, an empty cell is none.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_result =
        |file: &&SourceFile| file.path.starts_with("bench/results/") && file.extension() == "md";
    for file in files.iter().filter(is_result) {
        let mut head: Option<Vec<&str>> = None;
        for (at, line) in file.text.lines().enumerate() {
            let Some(cells) = cells(line) else {
                head = None;
                continue;
            };
            let Some(columns) = &head else {
                if !columns_name_commits(&cells) && place(&cells).is_none() {
                    let message = "the table has no column `commit`";
                    findings.push(Finding::line(&file.path, at + 1, message));
                }
                head = Some(cells);
                continue;
            };
            if place(columns)
                .is_some_and(|place| cells.get(place).is_none_or(|cell| cell.is_empty()))
            {
                findings.push(Finding::line(
                    &file.path,
                    at + 1,
                    "the row does not name its commit",
                ));
            }
        }
    }
    findings
}

/// The cells of a row of a table; none if the line is not one.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    Some(inside.split(" |").map(str::trim).collect())
}

/// Which column names commits.
fn place(columns: &[&str]) -> Option<usize> {
    columns.iter().position(|column| matches!(*column, "commit" | "commits"))
}

/// Whether two columns are named after commits, as in `b01498e` or `b01498e, s`.
fn columns_name_commits(columns: &[&str]) -> bool {
    let is_commit = |column: &&&str| {
        let name = column.split(',').next().unwrap_or_default();
        name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    columns.iter().filter(is_commit).count() == 2
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn found(table: &str) -> usize {
        check(&[file("bench/results/x.md", table)]).len()
    }

    #[test]
    fn a_table_without_commits_is_found() {
        assert_eq!(found("| case | seconds |\n| --- | --- |\n| a | 1 |\n"), 1);
        assert_eq!(check(&[file("docs/x.md", "| case | seconds |\n")]), []);
    }

    #[test]
    fn a_row_without_its_commit_is_found() {
        assert_eq!(found("| case | commit |\n| --- | --- |\n| a | |\n| b | unknown |\n"), 1);
        assert_eq!(found("| case | commit |\n| --- | --- |\n| a |\n"), 1);
    }

    #[test]
    fn columns_named_after_two_commits_say_it_for_every_row() {
        assert_eq!(
            found("| case | b01498e, s | 8e2cd47, s |\n| --- | --- | --- |\n| a | 1 | 2 |\n"),
            0
        );
    }
}
