//! Which layout a document has, and what the loader of that layout makes of it.

use zoetrope_graph::{NameTable, Targets, TextTable, VertexFeatures, VertexNames};

use super::document::{Document, Record};
use super::extra::names_of;
use super::node_link::{Link, NodeId, Nodes};
use super::steps;
use super::topology::{Findings, StepEdges, in_order, names, sequence};
use super::values::{Edges, Table};
use crate::dataset::{Notes, Signal, SnapshotDataset, Standardise};
use crate::error::DataError;

const KEPT_FINITE: Standardise = Standardise::ByVertex { epsilon: 1e-10 };
const PLAIN: Standardise = Standardise::ByVertex { epsilon: 0.0 };

/// Builds the data set and fills in the notes.
pub(super) fn build(
    document: Document,
    findings: &mut Findings,
    notes: &mut Notes,
) -> Result<SnapshotDataset, DataError> {
    let warnings = &mut notes.warnings;
    let (reason, mut data) = match document {
        Document { edge_index: Some(_), .. } => {
            ("`edge_mapping` holds the edges of each step", mapping(document, findings, warnings)?)
        }
        Document { nodes: Some(nodes), links, .. } => {
            let Some(links) = links else {
                return Err(findings.fail("links", "the links between the nodes", "no such key"));
            };
            ("`nodes` and `links`", node_link(nodes, links, findings, warnings)?)
        }
        Document { labels: Some(_), .. } => {
            ("`LABEL` holds the class of each frame", hand(document, findings, warnings)?)
        }
        Document { records, .. } if !records.is_empty() => {
            let document = Document { records, ..document };
            ("numbered steps", steps::build(document, findings, warnings)?)
        }
        Document { edges: Some(_), series: Some(_), .. } => {
            ("`edges` and one series", series(document, findings, warnings)?)
        }
        _ => {
            let expected = "`edge_mapping`, numbered steps, `nodes` and `links`, or `edges` with \
                            one of FX, X and block";
            return Err(findings.fail("", expected, "none of these keys"));
        }
    };
    notes.reason = format!("JSON with {reason}");
    let missing = |values: &[f32]| values.iter().filter(|value| value.is_nan()).count() as u64;
    let tables = [
        data.features.as_ref().map(VertexFeatures::values),
        data.targets.as_ref().map(Targets::values),
        data.signal.as_ref().map(|signal| signal.values.values()),
        data.signal.as_ref().and_then(|signal| Some(signal.target.as_ref()?.values())),
    ];
    notes.missing_values = tables.into_iter().flatten().map(missing).sum();
    if let Some(signal) = &mut data.signal {
        crate::lagged::check_sizes(signal, &data.sequence)?;
    }
    Ok(data)
}

/// A data set with a signal and no features yet.
pub(super) fn with_signal(
    sequence: zoetrope_graph::SnapshotSequence,
    names: VertexNames,
    signal: Signal,
) -> SnapshotDataset {
    SnapshotDataset { sequence, names, features: None, targets: None, signal: Some(signal) }
}

/// The series as a signal with one channel; checks that there is at least one value.
fn signal(
    key: &str,
    table: Table,
    lags: usize,
    standardise: Standardise,
    findings: &mut Findings,
) -> Result<Signal, DataError> {
    if table.values.is_empty() {
        return Err(findings.fail(key, "a value for each step and vertex", "none"));
    }
    let values = VertexFeatures::new(table.rows, table.width, 1, table.values)
        .map_err(|error| findings.graph(error))?;
    Ok(Signal { standardise, ..Signal::new(values, lags) })
}

fn series(
    document: Document,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let (key, table) = document.series.unwrap_or_default();
    let (lags, standardise) = match key {
        "block" => (8, KEPT_FINITE),
        "FX" | "X" => (4, Standardise::No),
        _ => return Err(findings.fail(key, "FX, X or block as the series of `edges`", key)),
    };
    let mut signal = signal(key, table, lags, standardise, findings)?;
    let (steps, vertices) = (signal.values.steps(), signal.values.vertices());
    let extra = document.extra.unwrap_or_default();
    let weights = document.weights.filter(|_| extra.weighted || extra.vertices == 0);
    let step =
        StepEdges { key: "edges".into(), edges: document.edges.unwrap_or_default(), weights };
    let mut sequence = sequence(vertices, vec![step], Some(steps), findings)?;
    if let Some(boundaries) = extra.boundaries {
        sequence = sequence.with_boundaries(boundaries).map_err(|error| findings.graph(error))?;
    }
    if let Some(series) = extra.series {
        series.apply_to(&mut signal);
    }
    let names = named(document.node_ids, extra.sides, vertices, findings, warnings)?;
    Ok(with_signal(sequence, names, signal))
}

fn mapping(
    document: Document,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let Some(("y", table)) = document.series else {
        return Err(findings.fail("y", "the series of `edge_mapping`", "no such key"));
    };
    let extra = document.extra.unwrap_or_default();
    let mut signal = signal("y", table, 8, KEPT_FINITE, findings)?;
    let (steps, vertices) = (signal.values.steps(), signal.values.vertices());
    if document.time_periods.is_some_and(|periods| periods != steps as u64) {
        let found = document.time_periods.unwrap_or(0).to_string();
        return Err(findings.fail("time_periods", format!("{steps}, the rows of `y`"), found));
    }
    let index = document.edge_index.unwrap_or_default();
    let index = in_order("edge_mapping.edge_index", index, steps as u64, findings, warnings)?;
    let weights = match document.edge_weight.filter(|_| extra.weighted || extra.vertices == 0) {
        Some(weights) => {
            let key = "edge_mapping.edge_weight";
            let weights = in_order(key, weights, steps as u64, findings, warnings)?;
            weights.into_iter().map(|weights| Some(weights.0)).collect()
        }
        None => std::iter::repeat_with(|| None).take(steps).collect::<Vec<_>>(),
    };
    let each = index.into_iter().zip(weights).enumerate().map(|(step, (edges, weights))| {
        StepEdges { key: format!("edge_mapping.edge_index.{step}"), edges, weights }
    });
    let mut sequence = sequence(vertices, each.collect(), None, findings)?;
    if let Some(boundaries) = extra.boundaries {
        sequence = sequence.with_boundaries(boundaries).map_err(|error| findings.graph(error))?;
    }
    if let Some(series) = extra.series {
        series.apply_to(&mut signal);
    }
    let names = named(document.node_ids, extra.sides, vertices, findings, warnings)?;
    Ok(with_signal(sequence, names, signal))
}

fn node_link(
    nodes: Nodes,
    links: Vec<Link>,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let (steps, vertices) = (nodes.steps, nodes.order.len());
    if steps == 0 || vertices == 0 {
        return Err(findings.fail("nodes", "nodes with series", "none"));
    }
    if nodes.further_series {
        warnings.push("series of `X` other than `y` are not used".to_owned());
    }
    let (mut edges, mut weights) = (Edges::default(), Vec::new());
    let weighted = links.iter().any(|link| link.weight.is_some());
    for (at, link) in links.iter().enumerate() {
        for (side, id) in [("source", &link.source), ("target", &link.target)] {
            match nodes.ids.get(id) {
                Some(&vertex) if side == "source" => edges.src.push(vertex),
                Some(&vertex) => edges.dst.push(vertex),
                None => {
                    let key = format!("links[{at}].{side}");
                    findings.add(&key, "the id of a node", id.to_string());
                }
            }
        }
        match link.weight {
            None if weighted => {
                findings.add(&format!("links[{at}].weight"), "a weight, as others have", "none");
            }
            weight => weights.extend(weight),
        }
    }
    findings.check()?;
    let step = StepEdges { key: "links".into(), edges, weights: weighted.then_some(weights) };
    let sequence = sequence(vertices, vec![step], Some(steps), findings)?;
    let by_step = |values: &[f32]| {
        let turned: Vec<f32> =
            (0..steps * vertices).map(|at| values[at % vertices * steps + at / vertices]).collect();
        VertexFeatures::new(steps, vertices, 1, turned)
    };
    let values = by_step(&nodes.inputs).map_err(|error| findings.graph(error))?;
    let target = by_step(&nodes.targets).map_err(|error| findings.graph(error))?;
    let mut signal = Signal::new(values, 4);
    signal.target = Some(target);
    signal.standardise = PLAIN;
    Ok(with_signal(sequence, node_names(&nodes.order), signal))
}

/// Names in the order of the file, which is the order of the rows that the loader makes.
fn node_names(order: &[NodeId]) -> VertexNames {
    let integers: Option<Vec<i64>> = order
        .iter()
        .map(|id| match id {
            NodeId::Integer(id) => Some(*id),
            NodeId::Text(_) => None,
        })
        .collect();
    let first = match integers {
        Some(ids) if ids.iter().enumerate().all(|(vertex, &id)| id == vertex as i64) => {
            NameTable::Identity(ids.len() as u32)
        }
        Some(ids) => NameTable::Integers(ids),
        None => NameTable::Text(order.iter().map(NodeId::to_string).collect::<TextTable>()),
    };
    VertexNames { first, second: None }
}

fn hand(
    document: Document,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let classes = document.labels.unwrap_or_default();
    let joints = document.records.len();
    let records = in_order("joint", document.records, joints as u64, findings, warnings)?;
    let steps = classes.len();
    if steps == 0 || joints == 0 {
        return Err(findings.fail("LABEL", "joints, and a class for each frame", "none"));
    }
    for (joint, record) in records.iter().enumerate() {
        if record.points.len() != steps {
            let found = record.points.len().to_string();
            findings.add(&joint.to_string(), format!("a point for each of {steps} frames"), found);
        }
    }
    let highest = classes.iter().copied().max().unwrap_or(0);
    if highest >= 1 << 24 {
        findings.add("LABEL", "classes below 2^24", highest.to_string());
    }
    findings.check()?;
    let mut points = Vec::with_capacity(steps * joints * 3);
    for frame in 0..steps {
        for Record { points: joint, .. } in &records {
            points.extend(joint[frame]);
        }
    }
    let features = VertexFeatures::new(steps, joints, 3, points);
    let values = classes.iter().flat_map(|&class| std::iter::repeat_n(class as f32, joints));
    let targets = Targets::new(steps, joints, Some(highest as u32 + 1), values.collect());
    let edges = document.edges.unwrap_or_default();
    let step = StepEdges { key: "edges".into(), edges, weights: None };
    let sequence = sequence(joints, vec![step], Some(steps), findings)?;
    warnings.push(
        "the class of a frame is given to each of its vertices; the reference loader takes frames \
         of 16 snapshots"
            .to_owned(),
    );
    Ok(SnapshotDataset {
        sequence,
        names: VertexNames::identity(joints as u32),
        features: Some(features.map_err(|error| findings.graph(error))?),
        targets: Some(targets.map_err(|error| findings.graph(error))?),
        signal: None,
    })
}

/// Names from `node_ids`, or from the sides of bipartite data.
pub(super) fn named(
    node_ids: Option<Vec<(String, u64)>>,
    sides: Option<[super::extra::Side; 2]>,
    vertices: usize,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<VertexNames, DataError> {
    let Some(sides) = sides else { return Ok(names(node_ids, vertices, warnings)) };
    let names = names_of(sides);
    if names.len() == vertices {
        Ok(names)
    } else {
        let found = names.len().to_string();
        Err(findings.fail("zoetrope.sides", format!("names of {vertices} vertices"), found))
    }
}
