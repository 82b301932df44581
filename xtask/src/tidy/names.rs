//! A file is named after the thing that it owns.

use super::Finding;
use crate::repository::SourceFile;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 12] = [
    "base", "util", "utils", "common", "helper", "helpers", "misc", "stuff", "shared", "tools",
    "general", "various",
];

const CODE: [&str; 6] = ["rs", "cu", "cuh", "py", "sh", "js"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().filter_map(objection).collect()
}

fn objection(file: &SourceFile) -> Option<Finding> {
    if !CODE.contains(&file.extension()) {
        return None;
    }
    let folders = file.path.split('/').rev().skip(1);
    let empty = folders.chain([file.stem()]).find(|part| EMPTY_NAMES.contains(part))?;
    Some(Finding::file(
        &file.path,
        format!("`{empty}` does not say what the file owns; name it after that"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    #[test]
    fn a_name_that_says_nothing_is_refused() {
        assert_eq!(check(&[file("crates/zoetrope-graph/src/utils.rs", "")]).len(), 1);
        assert_eq!(check(&[file("crates/zoetrope-graph/src/common/degree.rs", "")]).len(), 1);
    }

    #[test]
    fn a_name_that_contains_such_a_word_passes() {
        assert_eq!(check(&[file("crates/zoetrope-graph/src/database.rs", "")]), []);
        assert_eq!(check(&[file("docs/base.md", "")]), []);
    }
}
