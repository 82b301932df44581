//! Crates depend downwards only, along the arrows of ARCHITECTURE.md.

use std::path::Path;

use serde_json::Value;

use super::Finding;
use crate::validate;

/// Each crate and the crates of the house that it may use. A crate that is not listed is refused:
/// its place in the house has to be decided first.
const ARROWS: [(&str, &[&str]); 17] = [
    ("zoetrope-heap", &[]),
    ("zoetrope-graph", &["zoetrope-heap"]),
    ("zoetrope-data", &["zoetrope-heap", "zoetrope-graph"]),
    ("zoetrope-tensor", &["zoetrope-graph"]),
    ("zoetrope-nn", &["zoetrope-graph", "zoetrope-tensor"]),
    ("zoetrope-dist", &["zoetrope-tensor"]),
    ("zoetrope-plan", &["zoetrope-heap", "zoetrope-graph"]),
    ("zoetrope-config", &["zoetrope-graph", "zoetrope-data", "zoetrope-plan"]),
    ("zoetrope-run", &["zoetrope-graph", "zoetrope-data", "zoetrope-dist", "zoetrope-config"]),
    ("zoetrope-train", LIBRARIES_BELOW_TRAIN),
    ("zoetrope-sim", &["zoetrope-graph", "zoetrope-plan"]),
    ("zoetrope-board", &["zoetrope-run"]),
    ("zoetrope", LIBRARIES),
    ("zoetrope-cli", LIBRARIES_AND_FACADE),
    ("zoetrope-python", &["zoetrope"]),
    ("zoetrope-testkit", &["zoetrope-graph", "zoetrope-tensor", "zoetrope-nn", "zoetrope-dist"]),
    ("xtask", &[]),
];

const LIBRARIES_BELOW_TRAIN: &[&str] = &[
    "zoetrope-heap",
    "zoetrope-graph",
    "zoetrope-data",
    "zoetrope-tensor",
    "zoetrope-nn",
    "zoetrope-dist",
    "zoetrope-plan",
    "zoetrope-config",
    "zoetrope-run",
];

const LIBRARIES: &[&str] = &[
    "zoetrope-heap",
    "zoetrope-graph",
    "zoetrope-data",
    "zoetrope-tensor",
    "zoetrope-nn",
    "zoetrope-dist",
    "zoetrope-plan",
    "zoetrope-config",
    "zoetrope-run",
    "zoetrope-train",
    "zoetrope-sim",
    "zoetrope-board",
];

const LIBRARIES_AND_FACADE: &[&str] = &[
    "zoetrope-heap",
    "zoetrope-graph",
    "zoetrope-data",
    "zoetrope-tensor",
    "zoetrope-nn",
    "zoetrope-dist",
    "zoetrope-plan",
    "zoetrope-config",
    "zoetrope-run",
    "zoetrope-train",
    "zoetrope-sim",
    "zoetrope-board",
    "zoetrope",
];

/// The crate that only tests may use.
const TEST_ONLY: &str = "zoetrope-testkit";

/// One crate of the workspace that uses another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edge {
    from: String,
    manifest: String,
    to: String,
    dev: bool,
}

/// Asks cargo for the crates of the workspace and what they depend on.
pub(super) fn read_edges(root: &Path) -> Result<Vec<Edge>, String> {
    let mut command = validate::cargo(root, &["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let metadata = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(edges(&metadata, root))
}

fn edges(metadata: &Value, root: &Path) -> Vec<Edge> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let mut edges = Vec::new();
    for package in &packages {
        let manifest = text(&package["manifest_path"]);
        let prefix = format!("{}/", root.display());
        let manifest = manifest.strip_prefix(&prefix).unwrap_or(&manifest).to_owned();
        let from = text(&package["name"]);
        // A crate that uses nothing must still have a place in the house.
        let own = Edge { from: from.clone(), manifest, to: String::new(), dev: false };
        let inside = list(&package["dependencies"]).into_iter();
        let inside = inside.filter(|dependency| dependency["path"].is_string());
        edges.extend(inside.map(|dependency| Edge {
            to: text(&dependency["name"]),
            dev: dependency["kind"] == "dev",
            ..own.clone()
        }));
        edges.push(own);
    }
    edges
}

/// Edges that point up or sideways, and crates without a place.
pub(super) fn check(edges: &[Edge]) -> Vec<Finding> {
    edges
        .iter()
        .filter_map(|edge| objection(edge).map(|it| Finding::file(&edge.manifest, it)))
        .collect()
}

fn objection(edge: &Edge) -> Option<String> {
    // Benchmarks measure whatever they like and nothing uses them.
    if edge.from.starts_with("bench-") {
        return None;
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == edge.from) else {
        return Some(format!("crate {} has no place in the table of arrows", edge.from));
    };
    let permitted = edge.to.is_empty()
        || allowed.contains(&edge.to.as_str())
        || (edge.dev && edge.to == TEST_ONLY);
    (!permitted).then(|| format!("{} must not use {}: arrows point down only", edge.from, edge.to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, dev: bool) -> Edge {
        Edge { from: from.into(), manifest: "Cargo.toml".into(), to: to.into(), dev }
    }

    #[test]
    fn arrows_that_point_down_pass() {
        assert_eq!(check(&[edge("zoetrope-data", "zoetrope-graph", false)]), []);
        assert_eq!(check(&[edge("zoetrope-nn", "zoetrope-tensor", false)]), []);
    }

    #[test]
    fn arrows_that_point_up_are_refused() {
        assert_eq!(check(&[edge("zoetrope-graph", "zoetrope-data", false)]).len(), 1);
        assert_eq!(check(&[edge("zoetrope-plan", "zoetrope-tensor", false)]).len(), 1);
    }

    #[test]
    fn the_testkit_serves_tests_only() {
        assert_eq!(check(&[edge("zoetrope-data", "zoetrope-testkit", true)]), []);
        assert_eq!(check(&[edge("zoetrope-data", "zoetrope-testkit", false)]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_place_is_refused_even_if_it_uses_nothing() {
        assert_eq!(check(&[edge("zoetrope-attic", "", false)]).len(), 1);
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        let place = |name: &str| ARROWS.iter().position(|(crate_name, _)| *crate_name == name);
        // Repeatedly remove crates whose targets are all gone: a cycle would remain.
        let mut left: Vec<usize> = (0..ARROWS.len()).collect();
        loop {
            let before = left.len();
            let remaining = left.clone();
            left.retain(|&index| {
                ARROWS[index].1.iter().any(|to| place(to).is_some_and(|to| remaining.contains(&to)))
            });
            if left.len() == before {
                break;
            }
        }
        assert!(left.is_empty(), "cycle among {left:?}");
    }

    #[test]
    fn edges_are_read_from_what_cargo_says() {
        let metadata = serde_json::json!({ "packages": [{
            "name": "zoetrope-data",
            "manifest_path": "/repo/crates/zoetrope-data/Cargo.toml",
            "dependencies": [
                { "name": "serde", "kind": null },
                { "name": "zoetrope-graph", "kind": null, "path": "/repo/crates/zoetrope-graph" },
                { "name": "zoetrope-testkit", "kind": "dev", "path": "/repo/crates/zoetrope-testkit" },
            ],
        }]});
        let read = edges(&metadata, Path::new("/repo"));
        let targets: Vec<_> = read.iter().map(|edge| (edge.to.as_str(), edge.dev)).collect();
        assert_eq!(targets, [("zoetrope-graph", false), ("zoetrope-testkit", true), ("", false)]);
        assert_eq!(read[0].manifest, "crates/zoetrope-data/Cargo.toml");
    }
}
