//! Simple rules, judged like the model: what it has to beat.

use std::collections::BTreeMap;
use std::ops::Range;

use zoetrope_config::{Config, TaskName};
use zoetrope_data::split::Part;
use zoetrope_graph::{SnapshotSequence, Targets};
use zoetrope_nn::metrics::TieRule;
use zoetrope_run::Metrics;

use super::link_prediction::{LinkJudge, is_of_all, is_of_few};
use super::results::{put, put_own};
use crate::error::TrainError;
use crate::snapshots::baseline::{
    Comparison, compare_classes, compare_edge_classes, compare_links, compare_links_with_all,
    compare_values,
};
use crate::snapshots::material::{Goal, SnapshotInput};

/// The metrics of every baseline of a task on some steps.
///
/// # Errors
/// If the data does not fit the task.
pub fn baselines(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    steps: Range<usize>,
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    let training = material.split.part(Part::Train).len();
    let steps: Vec<usize> = steps.collect();
    if steps.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = match task {
        TaskName::NodeRegression => {
            return values(material, training, &steps);
        }
        TaskName::NodeClassification => {
            let classes = super::node_classification::classes(config, material)? as u32;
            compare_classes(&targets(material)?, classes, training, &steps)
        }
        TaskName::LinkPrediction => {
            return Ok(link_baselines(config, &material.happened, &steps));
        }
        TaskName::EdgeClassification => {
            let Some((labelled, rule)) = &material.edge_labels else { return Ok(BTreeMap::new()) };
            compare_edge_classes(labelled, *rule, rule.classes(labelled)?, training, &steps)
        }
        TaskName::EdgeRegression => Vec::new(),
    };
    Ok(named(found))
}

/// The metrics of the baselines of link prediction on some steps; none if there are no steps.
pub fn link_baselines(
    config: &Config,
    sequence: &SnapshotSequence,
    steps: &[usize],
) -> BTreeMap<String, Metrics> {
    if steps.is_empty() { BTreeMap::new() } else { named(links(config, sequence, steps)) }
}

pub(super) fn named(found: Vec<Comparison>) -> BTreeMap<String, Metrics> {
    let mut named: BTreeMap<String, Metrics> = BTreeMap::new();
    for Comparison { name, measures } in found {
        put(named.entry(name.to_owned()).or_default(), measures);
    }
    named
}

/// Predicted numbers, measured on the scale of the model and in the data's own units.
fn values(
    material: &SnapshotInput,
    training: usize,
    steps: &[usize],
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    let targets = targets(material)?;
    let compare =
        |units| compare_values(&targets, material.known_before.clone(), training, steps, units);
    let mut named: BTreeMap<String, Metrics> = BTreeMap::new();
    for Comparison { name, measures } in compare(None) {
        put(named.entry(name.to_owned()).or_default(), measures);
    }
    if let Some(units) = &material.scaled.own_units {
        for Comparison { name, measures } in compare(Some(units)) {
            put_own(named.entry(name.to_owned()).or_default(), measures);
        }
    }
    Ok(named)
}

/// Targets as the baselines take them: NaN if there is none, one step if they never change.
fn targets(material: &SnapshotInput) -> Result<Targets, TrainError> {
    let value = |row: usize| match &material.goal {
        Some(Goal::Numbers { values, .. }) => values.as_slice()[row],
        Some(Goal::Classes { labels, .. }) => labels[row] as f32,
        None => f32::NAN,
    };
    let present = material.goal.as_ref().and_then(Goal::present);
    let here = |row: usize| present.is_none_or(|present| present.as_slice()[row] != 0.0);
    let steps = if material.constant_goal { 1 } else { material.steps() };
    let rows = steps * material.vertices();
    let values = (0..rows).map(|row| if here(row) { value(row) } else { f32::NAN }).collect();
    Ok(Targets::new(steps, material.vertices(), None, values)?)
}

/// Each measure from the candidates that the model's is taken from.
fn links(config: &Config, sequence: &SnapshotSequence, steps: &[usize]) -> Vec<Comparison> {
    let LinkJudge { mut few, mut many, mut sampler, few_scores, many_scores, all } =
        LinkJudge::new(config);
    let mut questions = [(&mut few, &few_scores), (&mut many, &many_scores)];
    let compared = compare_links(sequence, steps, &mut questions, &mut sampler);
    let mut found = joined(compared);
    if all.is_some() {
        let of_all = compare_links_with_all(sequence, steps, TieRule::Average);
        for (one, all) in found.iter_mut().zip(of_all) {
            one.measures.extend(all.measures.into_iter().filter(|(metric, _)| is_of_all(*metric)));
        }
    }
    found
}

/// What rules reached among the few and among the many.
pub(super) fn joined(compared: Vec<Vec<Comparison>>) -> Vec<Comparison> {
    let mut compared = compared.into_iter();
    let mut found = compared.next().unwrap_or_default();
    found.iter_mut().for_each(|one| one.measures.retain(|(metric, _)| is_of_few(*metric)));
    for (one, ranked) in found.iter_mut().zip(compared.flatten()) {
        let ranks = ranked.measures.into_iter().filter(|(metric, _)| !is_of_few(*metric));
        one.measures.extend(ranks);
    }
    found
}
