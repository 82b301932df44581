//! Edges of steps put together, and the problems found on the way.

use std::path::{Path, PathBuf};

use zoetrope_graph::{GraphError, NameTable, SnapshotSequence, TextTable, VertexNames};

use super::values::Edges;
use crate::error::{DataError, Location, Problem};

/// Problems of a document, with the keys where they stand.
pub(super) struct Findings {
    path: PathBuf,
    problems: Vec<Problem>,
    total: u64,
    most: usize,
}

impl Findings {
    pub(super) fn new(path: &Path, most: usize) -> Self {
        Self { path: path.to_owned(), problems: Vec::new(), total: 0, most: most.max(1) }
    }

    pub(super) fn add(&mut self, key: &str, expected: impl Into<String>, found: impl AsRef<str>) {
        self.total += 1;
        if self.problems.len() < self.most {
            let at = Location::file(&self.path).column(key);
            self.problems.push(Problem::new(at, expected, found));
        }
    }

    /// Counts problems that are not worth listing one by one.
    pub(super) fn add_unlisted(&mut self, count: u64) {
        self.total = self.total.saturating_add(count);
    }

    /// Fails if anything was found so far.
    pub(super) fn check(&mut self) -> Result<(), DataError> {
        match self.total {
            0 => Ok(()),
            total => {
                Err(DataError::Invalid { problems: std::mem::take(&mut self.problems), total })
            }
        }
    }

    /// One problem, at once.
    pub(super) fn fail(
        &mut self,
        key: &str,
        expected: impl Into<String>,
        found: impl AsRef<str>,
    ) -> DataError {
        self.add(key, expected, found);
        DataError::Invalid { problems: std::mem::take(&mut self.problems), total: self.total }
    }

    pub(super) fn graph(&self, source: GraphError) -> DataError {
        DataError::Graph { path: self.path.clone(), source }
    }

    pub(super) fn limit(&self, key: &str, what: &'static str, limit: u64) -> DataError {
        let advice = "leave the claim out, or give values for the vertices";
        DataError::Limit { at: Location::file(&self.path).column(key), what, limit, advice }
    }
}

/// The entries of steps `0..periods` in order; missing ones are problems.
pub(super) fn in_order<T>(
    key: &str,
    mut entries: Vec<(u64, T)>,
    periods: u64,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Result<Vec<T>, DataError> {
    entries.sort_by_key(|&(step, _)| step);
    let beyond = entries.len() - entries.partition_point(|&(step, _)| step < periods);
    if beyond > 0 {
        warnings.push(format!("{beyond} steps in `{key}` beyond `time_periods` are not used"));
        entries.truncate(entries.len() - beyond);
    }
    let mut expected = 0;
    for step in entries.iter().map(|&(step, _)| step).chain([periods]) {
        // Numbers are distinct and ascending: a gap is missing steps.
        let gap = step - expected;
        for missing in (expected..step).take(findings.most) {
            findings.add(&format!("{key}.{missing}"), "every step", "no such key");
        }
        findings.add_unlisted(gap.saturating_sub(findings.most as u64));
        expected = step.saturating_add(1);
    }
    findings.check()?;
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Edges and weights of one step, and the key under which they stood.
pub(super) struct StepEdges {
    pub(super) key: String,
    pub(super) edges: Edges,
    pub(super) weights: Option<Vec<f32>>,
}

/// Puts the steps end to end, or makes one topology that holds for `constant` steps.
pub(super) fn sequence(
    vertices: usize,
    steps: Vec<StepEdges>,
    constant: Option<usize>,
    findings: &mut Findings,
) -> Result<SnapshotSequence, DataError> {
    let weighted = steps.iter().any(|step| step.weights.is_some());
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    let mut weight = weighted.then(Vec::new);
    let mut offsets = vec![0];
    for step in &steps {
        check_step(vertices, step, weighted, findings);
    }
    findings.check()?;
    for step in steps {
        src.extend(step.edges.src);
        dst.extend(step.edges.dst);
        if let (Some(all), Some(weights)) = (&mut weight, step.weights) {
            all.extend(weights);
        }
        offsets.push(src.len() as u64);
    }
    let vertices = vertices as u32;
    match constant {
        Some(steps) => SnapshotSequence::constant(vertices, steps, src, dst, weight),
        None => SnapshotSequence::new(vertices, offsets, src, dst, weight),
    }
    .map_err(|error| findings.graph(error))
}

fn check_step(vertices: usize, step: &StepEdges, weighted: bool, findings: &mut Findings) {
    let edges = step.edges.src.len();
    match &step.weights {
        Some(weights) if weights.len() != edges => {
            let found = format!("{} weights", weights.len());
            findings.add(&step.key, format!("a weight for each of {edges} edges"), found);
        }
        None if weighted && edges > 0 => {
            findings.add(&step.key, "weights, as other steps have them", "none");
        }
        _ => {}
    }
    let outside = |id: &u32| *id as usize >= vertices;
    for (at, (src, dst)) in step.edges.src.iter().zip(&step.edges.dst).enumerate() {
        if let Some(id) = [src, dst].into_iter().find(|id| outside(id)) {
            let key = format!("{}[{at}]", step.key);
            findings.add(&key, format!("vertices below {vertices}"), id.to_string());
        }
    }
}

/// Names by vertex from `node_ids`, or a warning if it does not name each vertex once.
pub(super) fn names(
    node_ids: Option<Vec<(String, u64)>>,
    vertices: usize,
    warnings: &mut Vec<String>,
) -> VertexNames {
    let identity = VertexNames::identity(vertices as u32);
    let Some(mut node_ids) = node_ids.filter(|names| !names.is_empty()) else { return identity };
    node_ids.sort_by_key(|&(_, id)| id);
    let whole = node_ids.len() == vertices
        && node_ids.iter().enumerate().all(|(vertex, &(_, id))| id == vertex as u64);
    if !whole {
        warnings
            .push(format!("`node_ids` does not name each of {vertices} vertices once; ignored"));
        return identity;
    }
    // "007" is text: only a number that is written the same way again is kept as a number.
    let integer = |name: &str| name.parse::<i64>().ok().filter(|id| id.to_string() == name);
    let integers: Option<Vec<i64>> = node_ids.iter().map(|(name, _)| integer(name)).collect();
    let first = match integers {
        Some(ids) if ids.iter().enumerate().all(|(vertex, &id)| id == vertex as i64) => {
            return identity;
        }
        Some(ids) => NameTable::Integers(ids),
        None => NameTable::Text(node_ids.iter().map(|(name, _)| name).collect::<TextTable>()),
    };
    VertexNames { first, second: None }
}
