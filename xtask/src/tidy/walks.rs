//! The walks of docs/walks.md: every file they name exists, and a walk is short enough to be read.
//!
//! A walk is a section (`## …`); a file of it is an item of a numbered list that begins with a path in
//! backticks.

use std::collections::HashSet;

use super::Finding;
use crate::repository::SourceFile;

/// The page.
const PAGE: &str = "docs/walks.md";

/// Files that a walk names at most.
const FILES_MAX: usize = 30;

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let there: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut findings = Vec::new();
    let mut walk: HashSet<&str> = HashSet::new();
    for (number, line) in page.text.lines().enumerate() {
        let mut object = |message: String| findings.push(Finding::line(PAGE, number + 1, message));
        if line.starts_with("## ") {
            walk.clear();
        }
        let Some(item) = numbered_item(line) else { continue };
        let Some(path) = quoted_first(item) else {
            object("an item of a walk begins with a path in backticks".to_owned());
            continue;
        };
        if !there.contains(path) {
            object(format!("{path} does not exist"));
        }
        if !walk.insert(path) {
            object(format!("{path} is named twice in one walk"));
        } else if walk.len() == FILES_MAX + 1 {
            object(format!("a walk names at most {FILES_MAX} files"));
        }
    }
    findings
}

/// The text of an item of a numbered list.
fn numbered_item(line: &str) -> Option<&str> {
    let (number, item) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit());
    is_number.then_some(item)
}

/// What an item has in backticks at its beginning.
fn quoted_first(item: &str) -> Option<&str> {
    Some(item.strip_prefix('`')?.split_once('`')?.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let files = [file(PAGE, page), file("a.rs", ""), file("b.rs", "")];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn files_that_exist_pass_in_every_walk_once() {
        let page = "Text.\n\n## One\n\n1. `a.rs`: begins.\n2. `b.rs`: ends.\n\n## Two\n\n1. `a.rs`: again.\n";
        assert_eq!(found(page), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_gone_is_found_and_so_is_one_named_twice() {
        let page =
            "## One\n\n1. `a.rs`: begins.\n2. `c.rs`: is gone.\n3. `a.rs`: again.\n4. no path\n";
        let found = found(page);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "docs/walks.md:4: c.rs does not exist");
        assert!(found[1].contains("twice"), "{found:?}");
        assert!(found[2].contains("backticks"), "{found:?}");
    }

    #[test]
    fn a_walk_that_is_too_long_is_found_once() {
        let names: Vec<String> = (0..FILES_MAX + 5).map(|at| format!("{at}.rs")).collect();
        let items = names.iter().map(|name| format!("1. `{name}`: a step.\n"));
        let page = format!("## Long\n\n{}", items.collect::<String>());
        let mut files = vec![file(PAGE, &page)];
        files.extend(names.iter().map(|name| file(name, "")));
        assert_eq!(check(&files).len(), 1);
    }
}
