//! The sizes of a graph without the graph: what `data inspect --json` prints, or a few numbers written by hand.
//!
//! `facts:FILE` names such a file. It is enough to plan and to simulate; nothing can be trained on it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};
use zoetrope_graph::SnapshotCounts;

use crate::error::{DataError, Location};
use crate::given;
use crate::regular_file;

const PREFIX: &str = "facts:";

/// Longer files are not facts: a row of each of a million snapshots takes some hundred bytes.
const BYTES_MAX: u64 = 256 << 20;

/// More snapshots than this are refused.
const SNAPSHOTS_MAX: u64 = 1 << 22;

/// The file of facts that a text names, if it names one.
pub fn facts_file(name: &str) -> Option<PathBuf> {
    name.strip_prefix(PREFIX).map(given::path_of)
}

/// What is to be predicted of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactTargets {
    /// A number.
    Numbers,
    /// A class; the number is how many classes there are.
    Classes(usize),
}

/// The sizes of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphFacts {
    /// A short name.
    pub name: String,
    /// The digest of the file.
    pub sha256: String,
    /// Snapshots.
    pub steps: usize,
    /// The sizes of the snapshots; of one if all have the same edges.
    pub counts: SnapshotCounts,
    /// Whether all snapshots have the same edges.
    pub constant: bool,
    /// Whether they are windows of a stream of events.
    pub of_events: bool,
    /// Vertices.
    pub vertices: u32,
    /// Features of a vertex; 0 if it has none of its own.
    pub features: usize,
    /// What vertices have to predict, and whether that never changes.
    pub targets: Option<(FactTargets, bool)>,
}

/// The keys of `data inspect --json` that matter; others are passed over.
#[derive(Deserialize)]
struct Document {
    name: Option<String>,
    vertices: u32,
    /// Edges of all snapshots.
    events: Option<u64>,
    snapshots: Option<u64>,
    topology: Option<String>,
    /// The share of the edges of two consecutive snapshots that they do not share.
    change: Option<f64>,
    features: Option<Widths>,
    weight: Option<IgnoredAny>,
    labels: Option<Labels>,
    signal: Option<IgnoredAny>,
    window: Option<Windows>,
}

#[derive(Deserialize)]
struct Widths {
    node: usize,
}

#[derive(Deserialize)]
struct Labels {
    vertex: Option<Label>,
    step: Option<Label>,
}

#[derive(Deserialize)]
struct Label {
    classes: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct Windows {
    snapshots: Option<u64>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    snapshot: Option<u64>,
    edges: u64,
    change: Option<f64>,
}

impl GraphFacts {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, says too little, or says what cannot be.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let io = |error| DataError::io(path, error);
        let file = regular_file::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() > BYTES_MAX {
            return Err(DataError::Limit {
                at: Location::file(path),
                what: "a file of facts",
                limit: BYTES_MAX,
                advice: "give what `zoetrope data inspect --json` prints",
            });
        }
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, BYTES_MAX), &mut bytes)
            .map_err(io)?;
        Self::parse(&bytes, path)
    }

    /// The facts of a text; `path` is named in errors.
    ///
    /// # Errors
    /// If it says too little, or what cannot be.
    pub fn parse(text: &[u8], path: &Path) -> Result<Self, DataError> {
        let document: Document = serde_json::from_slice(text).map_err(|error| {
            let at = Location::file(path).line(error.line() as u64);
            DataError::invalid(at, "what `zoetrope data inspect --json` prints", error.to_string())
        })?;
        let wrong = |key: &str, expected: &str, found: String| {
            DataError::invalid(Location::file(path).column(key), expected, found)
        };
        if document.signal.is_some() {
            return Err(DataError::Unsupported {
                at: Location::file(path).column("signal"),
                what: "a measured series, whose features are lags,".to_owned(),
                advice: "write vertices, snapshots, events and features.node of what is trained"
                    .to_owned(),
            });
        }
        if document.vertices == 0 {
            return Err(wrong("vertices", "at least 1", "0".to_owned()));
        }
        let constant = document.topology.as_deref() == Some("static");
        let snapshots = document.window.as_ref().and_then(|window| window.snapshots);
        let steps = snapshots.or(document.snapshots);
        let steps = steps.or(document.window.as_ref().map(|window| window.rows.len() as u64));
        let Some(steps) = steps.filter(|steps| (1..=SNAPSHOTS_MAX).contains(steps)) else {
            let expected = format!(
                "1 to {SNAPSHOTS_MAX}; of events say how to cut them: `data inspect --window 1d --json`"
            );
            return Err(wrong("snapshots", &expected, format!("{steps:?}")));
        };
        let steps = steps as usize;
        let rows = match (&document.window, document.events) {
            (Some(window), _) if !constant => of_rows(&window.rows, steps),
            (_, Some(events)) => Ok(evenly(events, steps, constant, document.change)),
            (_, None) => Err(("events", "edges of all snapshots, or window.rows", "null".into())),
        };
        let (edges, changes) =
            rows.map_err(|(key, expected, found)| wrong(key, expected, found))?;
        let added = added(&edges, &changes)
            .map_err(|found| wrong("change", "a share of edges, from 0 to 1", found))?;
        let weighted = document.weight.is_some();
        let counts = SnapshotCounts::new(document.vertices, edges, added, weighted)
            .map_err(|source| DataError::Graph { path: path.to_owned(), source })?;
        let of = |label: Label| match label.classes {
            Some(classes) => FactTargets::Classes(classes.len()),
            None => FactTargets::Numbers,
        };
        let of_events = document.topology.as_deref() == Some("events");
        let labels = document.labels.filter(|_| !of_events);
        Ok(Self {
            name: document.name.unwrap_or_else(|| given::short_name(&path.to_string_lossy())),
            sha256: Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect(),
            steps,
            counts,
            constant,
            of_events,
            vertices: document.vertices,
            features: document.features.map_or(0, |widths| widths.node),
            targets: labels.and_then(|labels| {
                let step = labels.step.map(|label| (of(label), false));
                step.or(labels.vertex.map(|label| (of(label), true)))
            }),
        })
    }
}

/// A key, what should stand there and what does.
type Wrong = (&'static str, &'static str, String);

/// Edges of each snapshot, and the share that changed.
type Sizes = (Vec<u64>, Vec<Option<f64>>);

/// Those that are listed; snapshots that are not have no edges.
fn of_rows(rows: &[Row], steps: usize) -> Result<Sizes, Wrong> {
    let (mut edges, mut changes) = (vec![0; steps], vec![None; steps]);
    for (at, row) in rows.iter().enumerate() {
        let step = row.snapshot.unwrap_or(at as u64) as usize;
        if step >= steps {
            return Err(("window.rows", "snapshots below their number", step.to_string()));
        }
        (edges[step], changes[step]) = (row.edges, row.change);
    }
    Ok((edges, changes))
}

/// As many edges in each snapshot, as nearly as can be.
fn evenly(events: u64, steps: usize, constant: bool, change: Option<f64>) -> Sizes {
    if constant {
        return (vec![events], vec![None]);
    }
    let all = steps as u64;
    let end = |step: u64| (u128::from(events) * u128::from(step) / u128::from(all)) as u64;
    let edges = (0..all).map(|step| end(step + 1) - end(step)).collect();
    (edges, vec![Some(change.unwrap_or(1.0)); steps])
}

/// Edges that are new: the change of two snapshots of `a` and `b` edges is `(a + b − 2·common) / (a + b)`.
fn added(edges: &[u64], changes: &[Option<f64>]) -> Result<Vec<u64>, String> {
    let mut added = vec![edges.first().copied().unwrap_or(0)];
    for step in 1..edges.len() {
        let (before, now) = (edges[step - 1], edges[step]);
        let change = changes[step].unwrap_or(1.0);
        if !(0.0..=1.0).contains(&change) {
            return Err(change.to_string());
        }
        let common = ((before + now) as f64 * (1.0 - change) / 2.0).round() as u64;
        added.push(now - common.min(now).min(before));
    }
    Ok(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<GraphFacts, DataError> {
        GraphFacts::parse(text.as_bytes(), Path::new("facts.json"))
    }

    #[test]
    fn changes_give_back_the_edges_that_are_new() {
        // 10 and 12 edges of which 8 are shared: (10 + 12 − 16) / 22 changed.
        let rows = r#"[{"snapshot":0,"edges":10,"change":null},
            {"snapshot":1,"edges":12,"change":0.2727272727272727}, {"snapshot":3,"edges":1}]"#;
        let text = format!(r#"{{"vertices":9,"window":{{"snapshots":4,"rows":{rows}}}}}"#);
        let facts = parse(&text).unwrap();
        assert_eq!((facts.steps, facts.counts.added(1), facts.counts.removed(1)), (4, 4, 2));
        assert_eq!((facts.counts.added(2), facts.counts.removed(2)), (0, 12));
        assert_eq!(facts.counts.added(3), 1);
    }

    #[test]
    fn a_few_numbers_suffice() {
        let text =
            r#"{"vertices":1000,"snapshots":3,"events":100,"change":0.1,"features":{"node":2}}"#;
        let facts = parse(text).unwrap();
        let graph = facts.counts.clone().into_sequence(None);
        let edges: Vec<usize> = (0..3).map(|step| graph.edges_at(step)).collect();
        assert_eq!(edges, [33, 33, 34]);
        assert_eq!((facts.features, facts.targets, facts.constant), (2, None, false));
        assert_eq!(facts.counts.added(1), 3);
        let text = r#"{"vertices":10,"snapshots":3,"events":100,"topology":"static",
            "labels":{"vertex":{"classes":[1,2]}},"weight":{"count":7}}"#;
        let facts = parse(text).unwrap();
        assert!(facts.constant && facts.counts.is_weighted());
        assert_eq!(facts.targets, Some((FactTargets::Classes(2), true)));
    }

    #[test]
    fn facts_that_cannot_be_are_refused_with_the_key() {
        for (text, expected) in [
            ("[]", "inspect --json"),
            (r#"{"vertices":0,"snapshots":1,"events":1}"#, "`vertices`"),
            (r#"{"vertices":5,"events":9,"topology":"events"}"#, "--window 1d"),
            (r#"{"vertices":5,"snapshots":9}"#, "`events`"),
            (r#"{"vertices":5,"snapshots":9,"events":9,"change":1.5}"#, "`change`"),
            (r#"{"vertices":5,"snapshots":99999999999,"events":9}"#, "`snapshots`"),
            (
                r#"{"vertices":5,"window":{"snapshots":1,"rows":[{"snapshot":4,"edges":1}]}}"#,
                "rows",
            ),
            (r#"{"vertices":5,"snapshots":9,"events":9,"signal":{}}"#, "measured series"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
