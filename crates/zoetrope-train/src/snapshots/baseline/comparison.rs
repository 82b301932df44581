//! The measures of all baselines of a task.

use std::num::NonZeroUsize;

use rayon::prelude::*;
use zoetrope_data::scaling::OwnUnits;
use zoetrope_graph::{SnapshotSequence, Targets};
use zoetrope_nn::metrics::{ClassScores, Metric, Regression, TieRule, Undefined};

use super::link_rules::LinkRules;
use super::{
    EdgeBank, HistoricalMean, LinkBaseline, MajorityClass, Persistence, Popularity, StepBaseline,
    replay_links, replay_targets,
};
use crate::snapshots::sampling::{
    AllPairScores, Candidates, DrawKey, EdgeClassRule, LinkCandidates, LinkSampler, LinkScores,
    Pairs,
};

/// What a baseline reaches.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The name of the baseline.
    pub name: &'static str,
    /// Its measures, with the reason if one is undefined.
    pub measures: Vec<(Metric, Result<f64, Undefined>)>,
}

/// Persistence and historical mean on the targets of `steps`.
///
/// `known_before` is what was known of each vertex before the first step, if anything was
/// ([`last_lag_column`](super::last_lag_column)); the mean is over the first `training_steps`. Errors
/// are in the data's own units if `units` are given: of the same predictions.
///
/// # Panics
/// If `steps` do not ascend or one is not among the targets.
pub fn compare_values(
    targets: &Targets,
    known_before: Option<Vec<f32>>,
    training_steps: usize,
    steps: &[usize],
    units: Option<&OwnUnits>,
) -> Vec<Comparison> {
    let vertices = targets.vertices();
    let persistence =
        known_before.map_or_else(|| Persistence::new(vertices), Persistence::starting_from);
    let mean = HistoricalMean::new(vertices, training_steps);
    let baselines: [Box<dyn StepBaseline>; 2] = [Box::new(persistence), Box::new(mean)];
    baselines
        .into_iter()
        .map(|mut baseline| {
            let mut errors = Regression::default();
            replay_targets(
                baseline.as_mut(),
                targets,
                steps.iter().copied(),
                |_, predicted, truth| match units {
                    None => errors.add(predicted, truth),
                    Some(units) => {
                        let mut own = [predicted.to_vec(), truth.to_vec()];
                        own.iter_mut().for_each(|values| units.undo(values));
                        errors.add(&own[0], &own[1]);
                    }
                },
            );
            Comparison { name: baseline.name(), measures: errors.report().to_vec() }
        })
        .collect()
}

/// Majority class and, if targets change, the last known class of each vertex, on the targets
/// of `steps`.
///
/// # Panics
/// If `steps` do not ascend or one is not among the targets, or a target is not below
/// `classes`.
pub fn compare_classes(
    targets: &Targets,
    classes: u32,
    training_steps: usize,
    steps: &[usize],
) -> Vec<Comparison> {
    let mut baselines: Vec<Box<dyn StepBaseline>> =
        vec![Box::new(MajorityClass::new(classes, training_steps))];
    if targets.steps() > 1 {
        baselines.push(Box::new(Persistence::new(targets.vertices())));
    }
    baselines
        .into_iter()
        .map(|mut baseline| {
            let mut counts = ClassScores::new(classes);
            replay_targets(
                baseline.as_mut(),
                targets,
                steps.iter().copied(),
                |_, predicted, truth| {
                    counts.add_numbers(predicted, truth);
                },
            );
            Comparison { name: baseline.name(), measures: counts.report() }
        })
        .collect()
}

/// The majority class on the edges of `steps`; the first `training_steps` snapshots count.
///
/// # Panics
/// If `steps` do not ascend or one is not a snapshot, or a class is not below `classes`.
pub fn compare_edge_classes(
    labelled: &SnapshotSequence,
    rule: EdgeClassRule,
    classes: u32,
    training_steps: usize,
    steps: &[usize],
) -> Vec<Comparison> {
    let mut baseline = MajorityClass::new(classes, training_steps);
    let mut counts = ClassScores::new(classes);
    let (mut pairs, mut predicted, mut told) = (Pairs::default(), Vec::new(), 0);
    for &step in steps {
        assert!(told <= step, "step {step} comes too late");
        while told < step {
            rule.fill(labelled.at(told), &mut pairs);
            baseline.observe(&pairs.label);
            told += 1;
        }
        rule.fill(labelled.at(step), &mut pairs);
        predicted.resize(pairs.len(), 0.0);
        baseline.predict(&mut predicted);
        counts.add_numbers(&predicted, &pairs.label);
    }
    vec![Comparison { name: baseline.name(), measures: counts.report() }]
}

/// Pairs that links are compared with, and the empty results of that.
pub type LinkQuestion<'a> = (&'a mut LinkCandidates, &'a LinkScores);

/// EdgeBank with an unlimited memory and with one as long as the queries last, and popularity: for each
/// of `questions` AP, AUC, MRR and hits@k as its scores are set up, and accuracy on the pairs of `sampler`.
/// Query `t` is asked for snapshot `t + 1`.
///
/// # Panics
/// If `queries` do not ascend, or a query has no next snapshot.
pub fn compare_links(
    sequence: &SnapshotSequence,
    queries: &[usize],
    questions: &mut [LinkQuestion<'_>],
    sampler: &mut LinkSampler,
) -> Vec<Vec<Comparison>> {
    let scores = questions.iter().map(|(_, scores)| *scores);
    let mut rules = LinkRules::new(sequence, queries.len(), scores);
    for &query in queries {
        rules.tell(sequence, query);
        let (target, key) = (sequence.at(query + 1), DrawKey::evaluation(query as u32));
        for (number, (candidates, _)) in questions.iter_mut().enumerate() {
            rules.ask(number, target, key, candidates);
        }
        rules.ask_sampled(target, key, sampler);
    }
    rules.compared()
}

/// The same baselines on all pairs of different vertices, measured as EvolveGCN measures: the mean
/// over steps of AP and AUC, and of the MRR within the rows of sources. Needs no memory for
/// negatives.
///
/// # Panics
/// As [`compare_links`].
pub fn compare_links_with_all(
    sequence: &SnapshotSequence,
    queries: &[usize],
    ties: TieRule,
) -> Vec<Comparison> {
    let mut baselines = link_baselines(sequence, queries.len());
    let mut measured = vec![(AllPairScores::new(ties), Vec::new()); baselines.len()];
    let mut candidates = LinkCandidates::all();
    let (mut rows, mut links) = (Candidates::default(), Pairs::default());
    replay_links(&mut baselines, sequence, queries.iter().copied(), |query, baselines| {
        let (target, key) = (sequence.at(query + 1), DrawKey::evaluation(query as u32));
        let chunks = candidates.load(target);
        candidates.links(&mut links);
        for (baseline, (scores, out)) in baselines.iter().zip(&mut measured) {
            out.resize(links.len(), 0.0);
            baseline.score(&links.src, &links.dst, out);
            scores.begin_step(out);
        }
        for chunk in 0..chunks {
            candidates.fill(chunk, key, &mut rows);
            baselines.par_iter().zip(&mut measured).for_each(|(baseline, (scores, out))| {
                out.resize(rows.pairs.len(), 0.0);
                baseline.score(&rows.pairs.src, &rows.pairs.dst, out);
                scores.add(&rows, out);
            });
        }
        measured.iter_mut().for_each(|(scores, _)| scores.add_step(scores.end_step()));
    });
    let reports = baselines.iter().zip(measured);
    reports
        .map(|(baseline, (scores, _))| Comparison {
            name: baseline.name(),
            measures: scores.report().to_vec(),
        })
        .collect()
}

/// EdgeBank's window is as long as the queries last, as its paper has it.
pub(super) fn link_baselines(
    sequence: &SnapshotSequence,
    queries: usize,
) -> Vec<Box<dyn LinkBaseline>> {
    let window = NonZeroUsize::new(queries).unwrap_or(NonZeroUsize::MIN);
    vec![
        Box::new(EdgeBank::unlimited()),
        Box::new(EdgeBank::windowed(window)),
        Box::new(Popularity::new(sequence.vertices())),
    ]
}
