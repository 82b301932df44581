//! `unsafe` stands only where it was decided that it may.

use super::Finding;
use super::rust_code::{code_only, has_word};
use crate::repository::SourceFile;

/// Crates whose work is unsafe by nature, and single files with a decision of their own
/// (docs/decisions/unsafe-mapping.md).
const ALLOWED: [&str; 4] = [
    "crates/zoetrope-heap/",
    "crates/zoetrope-tensor/",
    "crates/zoetrope-dist/",
    "crates/zoetrope-graph/src/store/mapping.rs",
];

/// Crate roots that cannot forbid it because one of their files may use it; they deny it.
const DENIED: [&str; 1] = ["crates/zoetrope-graph/src/lib.rs"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let rust = files.iter().filter(|file| file.extension() == "rs");
    rust.filter(|file| !ALLOWED.iter().any(|allowed| file.path.starts_with(allowed)))
        .flat_map(|file| uses(file).into_iter().chain(missing_attribute(file)))
        .collect()
}

fn uses(file: &SourceFile) -> Vec<Finding> {
    let code = code_only(&file.text);
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| {
            let allows = has_word(line, "unsafe_code")
                && ["allow", "expect", "warn"].iter().any(|level| has_word(line, level));
            has_word(line, "unsafe") || allows
        })
        .map(|(number, _)| {
            Finding::line(&file.path, number + 1, "unsafe code is not allowed in this file")
        })
        .collect()
}

fn missing_attribute(file: &SourceFile) -> Option<Finding> {
    let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    if !is_root || file.path.starts_with("fuzz/") {
        return None;
    }
    let level = if DENIED.contains(&file.path.as_str()) { "deny" } else { "forbid" };
    let attribute = format!("#![{level}(unsafe_code)]");
    (!file.text.contains(&attribute))
        .then(|| Finding::file(&file.path, format!("the crate root lacks {attribute}")))
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    const BLOCK: &str = "fn f() {\n    unsafe { g() }\n}\n";

    #[test]
    fn unsafe_blocks_are_found_with_their_line() {
        let found = check(&[file("crates/zoetrope-data/src/mapping.rs", BLOCK)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(2));
    }

    #[test]
    fn the_allow_list_is_exact() {
        assert_eq!(check(&[file("crates/zoetrope-graph/src/store/mapping.rs", BLOCK)]), []);
        assert_eq!(check(&[file("crates/zoetrope-tensor/src/cuda/copy.rs", BLOCK)]), []);
        assert_eq!(check(&[file("crates/zoetrope-graph/src/store/format.rs", BLOCK)]).len(), 1);
    }

    #[test]
    fn the_word_in_comments_and_strings_is_no_use() {
        let text = "// unsafe\nlet a = \"unsafe\";\n";
        assert_eq!(check(&[file("crates/zoetrope-data/src/a.rs", text)]), []);
    }

    #[test]
    fn switching_the_lint_off_is_a_use() {
        let text = "#[allow(unsafe_code)]\nmod a;\n";
        assert_eq!(check(&[file("crates/zoetrope-data/src/a.rs", text)]).len(), 1);
    }

    #[test]
    fn every_crate_root_forbids_it() {
        assert_eq!(check(&[file("crates/zoetrope-data/src/lib.rs", "//! Data.\n")]).len(), 1);
        let text = "#![forbid(unsafe_code)]\n";
        assert_eq!(check(&[file("crates/zoetrope-data/src/lib.rs", text)]), []);
    }
}
