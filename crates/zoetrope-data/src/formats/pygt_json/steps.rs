//! Layouts with numbered steps: Twitter tennis, Wikipedia maths, and what Zoetrope writes if no
//! loader's layout fits.

use zoetrope_graph::{SnapshotSequence, Targets, VertexFeatures};

use super::document::{Document, Record};
use super::extra::Extra;
use super::layout::{named, with_signal};
use super::tennis;
use super::topology::{Findings, StepEdges, in_order, sequence};
use super::values::Edges;
use crate::dataset::{OneHot, Signal, SnapshotDataset, Standardise};
use crate::error::DataError;

/// As many vertices as a file may claim without values for them.
const MOST_CLAIMED: u32 = 1 << 22;

/// Builds the data set from a document with numbered steps.
pub(super) fn build(
    mut document: Document,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let records = std::mem::take(&mut document.records);
    let periods = document.time_periods.unwrap_or(records.len() as u64);
    let records = in_order("steps", records, periods, findings, warnings)?;
    if records.is_empty() {
        return Err(findings.fail("time_periods", "at least one step", "0"));
    }
    let extra = document.extra.take();
    match (extra, document.edges.is_some()) {
        (Some(extra), _) => own(document, records, extra, findings, warnings),
        (None, true) => pages(document, records, findings, warnings),
        (None, false) => mentions(document, records, findings, warnings),
    }
}

/// Wikipedia maths: one topology, a target in each step.
fn pages(
    document: Document,
    records: Vec<Record>,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let steps = records.len();
    let Some(values) = targets(&records, findings)? else {
        return Err(findings.fail("0.y", "the values of the step", "no such key"));
    };
    let vertices = values.vertices();
    let mut signal = Signal::new(values, 8);
    signal.standardise = Standardise::ByVertex { epsilon: 0.0 };
    let edges = document.edges.unwrap_or_default();
    let step = StepEdges { key: "edges".into(), edges, weights: document.weights };
    let sequence = sequence(vertices, vec![step], Some(steps), findings)?;
    let names = named(document.node_ids, None, vertices, findings, warnings)?;
    Ok(with_signal(sequence, names, signal))
}

/// Twitter tennis: edges, features and targets in each step.
fn mentions(
    document: Document,
    mut records: Vec<Record>,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    for (step, record) in records.iter().enumerate() {
        let missing = [
            ("edges", record.edges.is_none()),
            ("X", record.x.is_none()),
            ("y", record.y.is_none()),
        ];
        for (key, _) in missing.into_iter().filter(|&(_, missing)| missing) {
            findings.add(&format!("{step}.{key}"), "this key in every step", "no such key");
        }
    }
    findings.check()?;
    let sequence_parts = step_edges(&mut records);
    let classes = all_classes(&mut records);
    let target = targets(&records, findings)?;
    let Some(values) = features(&mut records, findings)? else {
        return Err(findings.fail("0.X", "features of at least one vertex", "none"));
    };
    let vertices = values.vertices();
    let mut signal = Signal::new(values, 1);
    signal.target = target;
    signal.log_target = true;
    signal.repeat_last_target = true;
    signal.one_hot = classes.map(|classes| OneHot { sizes: tennis::SIZES.to_vec(), classes });
    if signal.one_hot.is_none() {
        warnings.push(
            "`X` is not a degree and a transitivity everywhere, so it is used as it is".to_owned(),
        );
    }
    let sequence = sequence(vertices, sequence_parts, None, findings)?;
    let names = named(document.node_ids, None, vertices, findings, warnings)?;
    Ok(with_signal(sequence, names, signal))
}

/// What Zoetrope wrote: anything.
fn own(
    document: Document,
    mut records: Vec<Record>,
    extra: Extra,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, DataError> {
    let target = targets(&records, findings)?;
    let classes = all_classes(&mut records);
    let sequence = own_sequence(&document, &mut records, &extra, findings);
    let features = features(&mut records, findings)?;
    if features.is_none() && target.is_none() && extra.vertices > MOST_CLAIMED {
        let what = "the number of vertices without values";
        return Err(findings.limit("zoetrope.vertices", what, u64::from(MOST_CLAIMED)));
    }
    let tables = [("X", features.as_ref()), ("y", target.as_ref())];
    for (key, table) in tables {
        if let Some(table) = table.filter(|table| table.vertices() != extra.vertices as usize) {
            let found = table.vertices().to_string();
            findings.add(&format!("0.{key}"), format!("{} vertices", extra.vertices), found);
        }
    }
    findings.check()?;
    let sequence = sequence?;
    let sides = extra.sides;
    let names = named(document.node_ids, sides, extra.vertices as usize, findings, warnings)?;
    if let Some(series) = extra.series {
        // A series without channels of its own is the target alone.
        let (values, target) = match (features, target) {
            (Some(values), target) => (values, target),
            (None, Some(values)) => (values, None),
            (None, None) => return Err(findings.fail("0.X", "a series", "no such key")),
        };
        let mut signal = Signal { target, ..Signal::new(values, 1) };
        series.apply_to(&mut signal);
        if let Some(one_hot) = &mut signal.one_hot
            && one_hot.classes.is_empty()
        {
            one_hot.classes = classes.unwrap_or_default();
        }
        return Ok(with_signal(sequence, names, signal));
    }
    let targets = target.map(|target| {
        let (steps, vertices) = (target.steps(), target.vertices());
        Targets::new(steps, vertices, extra.classes, target.values().to_vec())
    });
    let targets = targets.transpose().map_err(|error| findings.graph(error))?;
    Ok(SnapshotDataset { sequence, names, features, targets, signal: None })
}

fn own_sequence(
    document: &Document,
    records: &mut [Record],
    extra: &Extra,
    findings: &mut Findings,
) -> Result<SnapshotSequence, DataError> {
    let vertices = extra.vertices as usize;
    let steps = records.len();
    let sequence = match &document.edges {
        Some(edges) => {
            let edges = Edges { src: edges.src.clone(), dst: edges.dst.clone() };
            let weights = document.weights.clone().filter(|_| extra.weighted);
            let step = StepEdges { key: "edges".into(), edges, weights };
            sequence(vertices, vec![step], Some(steps), findings)?
        }
        None => {
            let mut parts = step_edges(records);
            for part in &mut parts {
                if extra.weighted {
                    part.weights = Some(part.weights.take().unwrap_or_default())
                } else {
                    part.weights = None
                }
            }
            sequence(vertices, parts, None, findings)?
        }
    };
    match extra.boundaries.clone() {
        None => Ok(sequence),
        Some(times) => sequence.with_boundaries(times).map_err(|error| findings.graph(error)),
    }
}

fn step_edges(records: &mut [Record]) -> Vec<StepEdges> {
    records
        .iter_mut()
        .enumerate()
        .map(|(step, record)| StepEdges {
            key: format!("{step}.edges"),
            edges: record.edges.take().unwrap_or_default(),
            weights: record.weights.take(),
        })
        .collect()
}

/// The classes of all steps, if every row of every `X` is a degree and a transitivity.
fn all_classes(records: &mut [Record]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for record in records {
        all.extend(record.x.as_mut()?.classes.take()?);
    }
    Some(all)
}

/// `X` of all steps, or of the first if only that has one.
fn features(
    records: &mut [Record],
    findings: &mut Findings,
) -> Result<Option<VertexFeatures>, DataError> {
    let Some(first) = records[0].x.take() else { return Ok(None) };
    let (rows, width) = (first.rows, first.width);
    if first.values.is_empty() {
        return Ok(None);
    }
    let mut values = first.values;
    let mut steps = 1;
    if records[1..].iter().any(|record| record.x.is_some()) {
        steps = records.len();
        for (step, record) in records.iter_mut().enumerate().skip(1) {
            let table = record.x.take().unwrap_or_default();
            if (table.rows, table.width) != (rows, width) {
                let found = format!("{} × {}", table.rows, table.width);
                findings.add(&format!("{step}.X"), format!("{rows} × {width} values"), found);
            }
            values.extend(table.values);
        }
        findings.check()?;
    }
    VertexFeatures::new(steps, rows, width, values).map(Some).map_err(|error| findings.graph(error))
}

/// `y` of all steps, or of the first if only that has one.
fn targets(
    records: &[Record],
    findings: &mut Findings,
) -> Result<Option<VertexFeatures>, DataError> {
    let Some(first) = records[0].y.as_ref().filter(|values| !values.is_empty()) else {
        return Ok(None);
    };
    let vertices = first.len();
    let mut values = first.clone();
    let mut steps = 1;
    if records[1..].iter().any(|record| record.y.is_some()) {
        steps = records.len();
        for (step, record) in records.iter().enumerate().skip(1) {
            let row = record.y.as_deref().unwrap_or_default();
            if row.len() != vertices {
                let found = row.len().to_string();
                findings.add(&format!("{step}.y"), format!("{vertices} values"), found);
            }
            values.extend_from_slice(row);
        }
        findings.check()?;
    }
    VertexFeatures::new(steps, vertices, 1, values).map(Some).map_err(|error| findings.graph(error))
}
