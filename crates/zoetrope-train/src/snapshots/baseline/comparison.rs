//! The measures of all baselines of a task.

use std::num::NonZeroUsize;
use std::ops::Range;

use rayon::prelude::*;
use zoetrope_data::scaling::OwnUnits;
use zoetrope_graph::{SnapshotSequence, Targets, VertexId};
use zoetrope_nn::metrics::{ClassScores, Classification, Metric, Regression, TieRule, Undefined};
use zoetrope_tensor::cpu::link_ranks::drawn_destinations;
use zoetrope_tensor::{LinkRank, LinkRanking};

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
    let mut baselines = link_baselines(sequence, queries);
    let empty = |scores: &LinkScores| {
        let mut empty = scores.clone();
        empty.clear();
        vec![empty; baselines.len()]
    };
    let mut measured: Vec<Vec<LinkScores>> =
        questions.iter().map(|(_, scores)| empty(scores)).collect();
    let mut right = vec![Classification::new(2); baselines.len()];
    let (mut rows, mut pairs) = (Candidates::default(), Pairs::default());
    let mut outs = vec![Vec::new(); baselines.len()];
    replay_links(&mut baselines, sequence, queries.iter().copied(), |query, baselines| {
        let (target, key) = (sequence.at(query + 1), DrawKey::evaluation(query as u32));
        for ((candidates, scores), measured) in questions.iter_mut().zip(&mut measured) {
            let chunks = candidates.load(target);
            if let Some(ranking) = candidates.ranking(key).filter(|_| scores.are_ranks()) {
                add_ranks(baselines, ranking, measured);
                continue;
            }
            for chunk in 0..chunks {
                candidates.fill(chunk, key, &mut rows);
                let each = baselines.par_iter().zip(&mut *measured).zip(&mut outs);
                each.for_each(|((baseline, scores), out)| {
                    out.resize(rows.pairs.len(), 0.0);
                    baseline.score(&rows.pairs.src, &rows.pairs.dst, out);
                    scores.add(&rows, out);
                });
            }
        }
        sampler.fill(target, key, &mut pairs);
        let each = baselines.par_iter().zip(&mut right).zip(&mut outs);
        each.for_each(|((baseline, counts), out)| {
            if let Some(threshold) = baseline.threshold() {
                out.resize(pairs.len(), 0.0);
                baseline.score(&pairs.src, &pairs.dst, out);
                counts.add_binary(out, threshold, &pairs.label);
            }
        });
    });
    let compared = |(measured, right): (&mut Vec<LinkScores>, &Vec<Classification>)| {
        let all = baselines.par_iter().zip(measured).zip(right);
        all.map(|((baseline, scores), counts)| {
            let accuracy = baseline.threshold().map(|_| (Metric::Accuracy, counts.accuracy()));
            let measures = scores.report().into_iter().chain(accuracy).collect();
            Comparison { name: baseline.name(), measures }
        })
        .collect()
    };
    measured.iter_mut().map(|measured| compared((measured, &right))).collect()
}

/// Links of a task that ranks them.
const RANKED_TOGETHER: usize = 512;

/// Ranks the links of a snapshot by each baseline, with one draw for all of them. A baseline scores a source
/// with all vertices in a row that few edges change: what is drawn is looked up there.
fn add_ranks(
    baselines: &[Box<dyn LinkBaseline>],
    ranking: LinkRanking<'_>,
    measured: &mut [LinkScores],
) {
    let count = ranking.links.len();
    let blocks: Vec<Range<usize>> = (0..count)
        .step_by(RANKED_TOGETHER)
        .map(|first| first..(first + RANKED_TOGETHER).min(count))
        .collect();
    let vertices = ranking.links.vertices() as usize;
    let rows = || (baselines.iter().map(|_| ScoreRow::new(vertices)).collect::<Vec<_>>(), None);
    let ranked: Vec<Vec<Vec<LinkRank>>> = blocks
        .into_par_iter()
        .map_init(rows, |(rows, at), block| {
            let mut ranks = vec![Vec::with_capacity(block.len()); baselines.len()];
            drawn_destinations(ranking, block, |_, [source, destination], drawn| {
                let is_other = *at != Some(source);
                for ((baseline, row), ranks) in baselines.iter().zip(&mut *rows).zip(&mut ranks) {
                    if is_other {
                        row.turn(baseline.as_ref(), *at, source, ranking);
                    }
                    ranks.push(row.rank(destination, drawn));
                }
                *at = Some(source);
            });
            ranks
        })
        .collect();
    for of_block in ranked {
        measured.iter_mut().zip(of_block).for_each(|(scores, ranks)| scores.add_ranks(&ranks));
    }
}

/// The scores of a baseline from one source.
struct ScoreRow {
    scores: Vec<f32>,
    /// Whether all vertices that the source is not linked with score 0: what is drawn need not be looked at.
    is_flat: bool,
    /// Scores of what was drawn; only memory.
    drawn: Vec<f32>,
}

impl ScoreRow {
    fn new(vertices: usize) -> Self {
        Self { scores: vec![0.0; vertices], is_flat: true, drawn: Vec::new() }
    }

    fn turn(
        &mut self,
        baseline: &dyn LinkBaseline,
        before: Option<VertexId>,
        source: VertexId,
        ranking: LinkRanking<'_>,
    ) {
        let others = baseline.turn(&mut self.scores, before, source);
        let links = ranking.links.of(source);
        self.is_flat =
            others == links.links().filter(|&to| self.scores[to as usize] != 0.0).count();
    }

    #[inline(always)]
    fn rank(&mut self, destination: VertexId, drawn: &[VertexId]) -> LinkRank {
        let own = self.scores[destination as usize];
        if self.is_flat && !drawn.is_empty() {
            let of = |is: bool| if is { drawn.len() as u32 } else { 0 };
            return LinkRank { higher: of(0.0 > own), equal: of(own == 0.0) };
        }
        self.drawn.clear();
        self.drawn.extend(drawn.iter().map(|&vertex| self.scores[vertex as usize]));
        LinkRank::of(own, &self.drawn)
    }
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
    let mut baselines = link_baselines(sequence, queries);
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
fn link_baselines(sequence: &SnapshotSequence, queries: &[usize]) -> Vec<Box<dyn LinkBaseline>> {
    let window = NonZeroUsize::new(queries.len()).unwrap_or(NonZeroUsize::MIN);
    vec![
        Box::new(EdgeBank::unlimited()),
        Box::new(EdgeBank::windowed(window)),
        Box::new(Popularity::new(sequence.vertices())),
    ]
}
