//! Crates depend downwards only, along the arrows of ARCHITECTURE.md: the page is the table, and it says no
//! more and no less than the manifests.

use std::path::Path;

use serde_json::Value;

use super::Finding;
use crate::validate;

/// The page whose block of arrows is the table.
const PAGE: &str = "ARCHITECTURE.md";

/// What stands between a crate and those that it uses.
const ARROW: char = '◄';

/// A line of the page: a crate and the crates of the house that it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrows {
    line: usize,
    from: String,
    to: Vec<String>,
    /// Whether the page names them one by one, so that each of them must be used.
    is_list: bool,
}

/// The arrows of the page, from the bottom to the top: a crate may only name those above its line.
pub(super) fn read_arrows(page: &str) -> Vec<Arrows> {
    let mut read: Vec<Arrows> = Vec::new();
    for (number, line) in page.lines().enumerate() {
        let Some((from, to)) = line.split_once(ARROW) else { continue };
        let to = to.trim_start_matches('─').trim();
        let all = || read.iter().map(|arrows| arrows.from.clone()).collect();
        let (to, is_list) = match to {
            "(nothing)" => (Vec::new(), true),
            "all of the above" => (all(), false),
            names => (names.split(',').map(|name| full(name.trim())).collect(), true),
        };
        read.push(Arrows { line: number + 1, from: full(from.trim()), to, is_list });
    }
    read
}

/// The whole name of a crate that the page calls by a part of it.
fn full(name: &str) -> String {
    match name {
        "zoetrope (facade)" | "facade" => "zoetrope".to_owned(),
        name if name.starts_with("zoetrope") || name == "xtask" => name.to_owned(),
        name => format!("zoetrope-{name}"),
    }
}

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

/// Where the page and the manifests differ: edges without an arrow, arrows without an edge, crates without
/// a line; and arrows of the page that point up.
pub(super) fn check(arrows: &[Arrows], edges: &[Edge]) -> Vec<Finding> {
    let up = arrows.iter().enumerate().flat_map(|(place, of)| {
        let below = &arrows[..place];
        let is_below = |to: &&String| below.iter().any(|other| other.from == **to);
        let wrong = of.to.iter().filter(move |to| !is_below(to));
        wrong.map(|to| {
            let what = format!("{} points to {to}, which no line above it owns", of.from);
            Finding::line(PAGE, of.line, what)
        })
    });
    let missing = edges
        .iter()
        .filter_map(|edge| Some(Finding::file(&edge.manifest, objection(arrows, edge)?)));
    up.chain(missing).chain(unused(arrows, edges)).collect()
}

fn objection(arrows: &[Arrows], edge: &Edge) -> Option<String> {
    // Benchmarks measure whatever they like and nothing uses them.
    if edge.from.starts_with("bench-") {
        return None;
    }
    let Some(of) = arrows.iter().find(|of| of.from == edge.from) else {
        return Some(format!("crate {} has no place among the arrows of {PAGE}", edge.from));
    };
    let permitted =
        edge.to.is_empty() || of.to.contains(&edge.to) || (edge.dev && edge.to == TEST_ONLY);
    (!permitted)
        .then(|| format!("{} must not use {}: {PAGE} has no such arrow", edge.from, edge.to))
}

/// Arrows of crates that exist, to crates that they do not use.
fn unused(arrows: &[Arrows], edges: &[Edge]) -> Vec<Finding> {
    let exists = |of: &&Arrows| edges.iter().any(|edge| edge.from == of.from);
    let lists = arrows.iter().filter(|of| of.is_list).filter(exists);
    let idle = |of: &&Arrows, to: &&String| {
        !edges.iter().any(|edge| edge.from == of.from && edge.to == **to)
    };
    lists
        .flat_map(|of| of.to.iter().filter(move |to| idle(&of, to)).map(move |to| (of, to)))
        .map(|(of, to)| Finding::line(PAGE, of.line, format!("{} does not use {to}", of.from)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "text\n\
        zoetrope-graph    ◄─ (nothing)\n\
        zoetrope-data     ◄─ graph\n\
        zoetrope (facade) ◄─ all of the above\n";

    fn edge(from: &str, to: &str, dev: bool) -> Edge {
        Edge { from: from.into(), manifest: "Cargo.toml".into(), to: to.into(), dev }
    }

    fn found(page: &str, edges: &[Edge]) -> usize {
        check(&read_arrows(page), edges).len()
    }

    #[test]
    fn a_page_is_read_as_it_is_written() {
        let read = read_arrows(SMALL);
        assert_eq!(read[1].line, 3);
        assert_eq!(
            (read[1].from.as_str(), &read[1].to[..]),
            ("zoetrope-data", &["zoetrope-graph".to_owned()][..])
        );
        assert_eq!((read[2].from.as_str(), read[2].to.len()), ("zoetrope", 2));
    }

    #[test]
    fn edges_along_the_arrows_pass_and_others_are_refused() {
        let used = edge("zoetrope-data", "zoetrope-graph", false);
        assert_eq!(found(SMALL, std::slice::from_ref(&used)), 0);
        assert_eq!(found(SMALL, &[used, edge("zoetrope-graph", "zoetrope-data", false)]), 1);
    }

    #[test]
    fn an_arrow_that_nobody_uses_is_refused_unless_the_crate_may_use_all() {
        assert_eq!(found(SMALL, &[edge("zoetrope-data", "", false)]), 1);
        assert_eq!(found(SMALL, &[edge("zoetrope", "", false)]), 0);
    }

    #[test]
    fn arrows_of_the_page_point_to_lines_above() {
        let upwards = "zoetrope-graph ◄─ data\nzoetrope-data ◄─ (nothing)\n";
        assert_eq!(found(upwards, &[]), 1);
    }

    #[test]
    fn the_testkit_serves_tests_only() {
        let used = edge("zoetrope-data", "zoetrope-graph", false);
        let kit = |dev| [used.clone(), edge("zoetrope-data", "zoetrope-testkit", dev)];
        assert_eq!((found(SMALL, &kit(true)), found(SMALL, &kit(false))), (0, 1));
    }

    #[test]
    fn a_crate_without_a_place_is_refused_even_if_it_uses_nothing() {
        assert_eq!(found(SMALL, &[edge("zoetrope-attic", "", false)]), 1);
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
