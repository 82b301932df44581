//! Every crate takes the workspace's lints, licence and minimum Rust version.

use super::Finding;
use crate::repository::SourceFile;

/// What each manifest inside the workspace must say, and in which table.
const REQUIRED: [(&str, &str); 4] = [
    ("[package]", "edition.workspace = true"),
    ("[package]", "license.workspace = true"),
    ("[package]", "rust-version.workspace = true"),
    ("[lints]", "workspace = true"),
];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let manifests = files.iter().filter(|file| {
        // The fuzz targets are a workspace of their own: they build with sanitizers.
        file.path.ends_with("/Cargo.toml") && !file.path.starts_with("fuzz/")
    });
    manifests.flat_map(missing).collect()
}

fn missing(manifest: &SourceFile) -> Vec<Finding> {
    let absent = REQUIRED.iter().filter(|(table, line)| !says(&manifest.text, table, line));
    absent
        .map(|(table, line)| Finding::file(&manifest.path, format!("{table} lacks `{line}`")))
        .collect()
}

fn says(text: &str, table: &str, wanted: &str) -> bool {
    let mut inside = false;
    text.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            inside = line == table;
        }
        inside && line == wanted
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    const GOOD: &str = "[package]\nedition.workspace = true\nlicense.workspace = true\n\
        rust-version.workspace = true\n\n[lints]\nworkspace = true\n";

    #[test]
    fn a_manifest_with_the_lint_table_passes() {
        assert_eq!(check(&[file("crates/a/Cargo.toml", GOOD)]), []);
    }

    #[test]
    fn a_manifest_without_the_lint_table_is_refused() {
        let bad = GOOD.replace("[lints]", "[features]");
        assert_eq!(check(&[file("crates/a/Cargo.toml", &bad)]).len(), 1);
    }

    #[test]
    fn the_workspace_manifest_is_no_crate() {
        assert_eq!(check(&[file("Cargo.toml", "[workspace]\n")]), []);
    }
}
