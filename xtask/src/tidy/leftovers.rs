//! Nothing half done and nothing that works on one machine only.

use super::Finding;
use super::rust_code::{code_only, has_word};
use crate::repository::SourceFile;

/// Marks of unfinished work, split so that this file does not find itself.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Macros that stand for code that is not there.
const MACROS: [&str; 2] = ["todo!", "unimplemented!"];

/// Beginnings of paths that exist on somebody's machine only.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("C:", "\\\\"),
];

const CODE: [&str; 8] = ["rs", "cu", "cuh", "py", "sh", "toml", "yml", "yaml"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let is_code = CODE.contains(&file.extension());
    if !is_code && file.extension() != "md" {
        return Vec::new();
    }
    let rust = if file.extension() == "rs" { code_only(&file.text) } else { String::new() };
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut object = |message: String| {
            findings.push(Finding::line(&file.path, number + 1, message));
        };
        for mark in MARKS.iter().filter(|mark| is_code && has_word(line, mark)) {
            object(format!("{mark}: finish it, or write an issue"));
        }
        for path in MACHINE_PATHS.iter().filter(|path| names_path(line, path)) {
            object(format!("a path under {path} exists on one machine only"));
        }
    }
    for (number, line) in rust.lines().enumerate() {
        for name in MACROS.iter().filter(|name| line.contains(*name)) {
            findings.push(Finding::line(
                &file.path,
                number + 1,
                format!("{name} stands for nothing"),
            ));
        }
    }
    findings
}

/// Whether an absolute path starts with `prefix` here; `a/home/b` is not absolute.
fn names_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.}$)".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    #[test]
    fn marks_of_unfinished_work_are_found_in_code_but_not_in_prose() {
        let text = format!("// {}: later\n", MARKS[0]);
        assert_eq!(check(&[file("a.rs", &text)]).len(), 1);
        assert_eq!(check(&[file("a.md", &text)]), []);
    }

    #[test]
    fn placeholder_macros_are_found() {
        assert_eq!(check(&[file("a.rs", "fn f() { todo!() }\n")]).len(), 1);
        assert_eq!(check(&[file("a.rs", "// todo!() is refused\n")]), []);
    }

    #[test]
    fn machine_paths_are_found_everywhere() {
        let text = format!("see {}someone/data\n", MACHINE_PATHS[1]);
        assert_eq!(check(&[file("a.md", &text)]).len(), 1);
        assert_eq!(check(&[file("a.rs", &text)]).len(), 1);
    }

    #[test]
    fn parts_of_relative_paths_and_addresses_pass() {
        assert_eq!(check(&[file("a.md", "docs/home/index, example.org/work/a\n")]), []);
    }
}
