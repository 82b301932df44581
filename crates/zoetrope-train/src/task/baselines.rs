//! Simple rules, judged like the model: what it has to beat.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use zoetrope_data::split::Part;
use zoetrope_graph::Targets;
use zoetrope_nn::metrics::{Classification, Regression};

use super::link_prediction::{LinkQuestions, LinkScores};
use super::results::put;
use crate::baseline::{
    EdgeBank, HistoricalMean, LinkBaseline, MajorityClass, Persistence, Popularity, StepBaseline,
    replay_links, replay_targets,
};
use crate::config::{Config, TaskName};
use crate::error::TrainError;
use crate::material::{Goal, Material};
use crate::run::Metrics;
use crate::sampling::{DrawKey, EdgeClassRule, Pairs};

/// Snapshots that the windowed EdgeBank remembers, as a share of the training part (Poursafaei et
/// al. take the length of the test part).
fn edge_bank_window(material: &Material) -> NonZeroUsize {
    NonZeroUsize::new(material.split.test.len()).unwrap_or(NonZeroUsize::MIN)
}

/// The metrics of every baseline of a task on some steps.
///
/// # Errors
/// Where the data does not fit the task.
pub fn baselines(
    config: &Config,
    task: TaskName,
    material: &Material,
    steps: Range<usize>,
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    if steps.is_empty() {
        return Ok(BTreeMap::new());
    }
    match task {
        TaskName::NodeRegression => regression(material, steps),
        TaskName::NodeClassification => classification(config, material, steps),
        TaskName::LinkPrediction => links(config, material, steps),
        TaskName::EdgeClassification => edge_classes(material, steps),
    }
}

/// Targets as the baselines take them: NaN where there is none.
fn targets(material: &Material) -> Result<Targets, TrainError> {
    let value = |row: usize| match &material.goal {
        Some(Goal::Numbers { values, .. }) => values.as_slice()[row],
        Some(Goal::Classes { labels, .. }) => labels[row] as f32,
        None => f32::NAN,
    };
    let present = material.goal.as_ref().and_then(Goal::present);
    let here = |row: usize| present.is_none_or(|present| present.as_slice()[row] != 0.0);
    let rows = material.steps() * material.vertices();
    let values = (0..rows).map(|row| if here(row) { value(row) } else { f32::NAN }).collect();
    Ok(Targets::new(material.steps(), material.vertices(), None, values)?)
}

fn regression(
    material: &Material,
    steps: Range<usize>,
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    let targets = targets(material)?;
    let training = material.split.part(Part::Train).len();
    let mut all: [Box<dyn StepBaseline>; 2] = [
        Box::new(Persistence::new(material.vertices())),
        Box::new(HistoricalMean::new(material.vertices(), training)),
    ];
    let mut found = BTreeMap::new();
    for baseline in &mut all {
        let mut errors = Regression::default();
        replay_targets(baseline.as_mut(), &targets, steps.clone(), |_, predicted, truth| {
            errors.add(predicted, truth);
        });
        let mut metrics = Metrics::new();
        put(&mut metrics, errors.report());
        found.insert(baseline.name().to_owned(), metrics);
    }
    Ok(found)
}

fn classification(
    config: &Config,
    material: &Material,
    steps: Range<usize>,
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    let classes = super::node_classification::classes(config, material)? as u32;
    let targets = targets(material)?;
    let training = material.split.part(Part::Train).len();
    let mut all: [Box<dyn StepBaseline>; 2] = [
        Box::new(Persistence::new(material.vertices())),
        Box::new(MajorityClass::new(classes, training)),
    ];
    let mut found = BTreeMap::new();
    for baseline in &mut all {
        let mut right = Classification::new(classes);
        replay_targets(baseline.as_mut(), &targets, steps.clone(), |_, predicted, truth| {
            right.add_numbers(predicted, truth);
        });
        let mut metrics = Metrics::new();
        put(&mut metrics, right.report());
        found.insert(baseline.name().to_owned(), metrics);
    }
    Ok(found)
}

fn links(
    config: &Config,
    material: &Material,
    steps: Range<usize>,
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    let mut all: [Box<dyn LinkBaseline>; 3] = [
        Box::new(EdgeBank::unlimited()),
        Box::new(EdgeBank::windowed(edge_bank_window(material))),
        Box::new(Popularity::new(material.sequence.vertices())),
    ];
    let mut found = BTreeMap::new();
    for baseline in &mut all {
        let mut questions = LinkQuestions::new(config);
        let mut results = LinkScores::new(&config.task);
        let mut scores = Vec::new();
        let sequence = &material.sequence;
        let mut failure = None;
        replay_links(baseline.as_mut(), sequence, steps.clone(), |step, baseline| {
            let mut score = |pairs: &Pairs| {
                scores.clear();
                scores.resize(pairs.len(), 0.0);
                baseline.score(&pairs.src, &pairs.dst, &mut scores);
                std::mem::take(&mut scores)
            };
            questions.sample(sequence, step, DrawKey::evaluation(step as u32));
            let answers = score(&questions.pairs);
            results.sampled(&answers, 0.5, &questions.pairs.label);
            let ranked = questions.rank(sequence, step, |candidates| {
                results.ranked(&score(&candidates.pairs), candidates);
                Ok(())
            });
            failure = failure.take().or(ranked.err());
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        found.insert(baseline.name().to_owned(), results.metrics());
    }
    Ok(found)
}

fn edge_classes(
    material: &Material,
    steps: Range<usize>,
) -> Result<BTreeMap<String, Metrics>, TrainError> {
    let Some((labelled, rule)) = &material.edge_labels else { return Ok(BTreeMap::new()) };
    let classes = rule.classes(labelled)?;
    let training = material.split.part(Part::Train);
    let mut majority = MajorityClass::new(classes, training.len());
    let mut pairs = Pairs::default();
    for step in training {
        EdgeClassRule::fill(*rule, labelled.at(step), &mut pairs);
        majority.observe(&pairs.label);
    }
    let mut right = Classification::new(classes);
    let mut predicted = Vec::new();
    for step in steps {
        rule.fill(labelled.at(step), &mut pairs);
        predicted.clear();
        predicted.resize(pairs.len(), 0.0);
        majority.predict(&mut predicted);
        right.add_numbers(&predicted, &pairs.label);
    }
    let mut metrics = Metrics::new();
    put(&mut metrics, right.report());
    Ok(BTreeMap::from([(majority.name().to_owned(), metrics)]))
}
