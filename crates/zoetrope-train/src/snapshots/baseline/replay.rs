//! The order in which baselines are asked and told: query a step, then reveal it.

use rayon::prelude::*;
use zoetrope_graph::{SnapshotSequence, Targets};

use super::{LinkBaseline, StepBaseline};

/// Asks a baseline for the targets of `steps` (ascending) and hands each prediction, with the
/// truth, to `visit(step, predicted, truth)`. Before a query the baseline is told every earlier
/// step that it does not know yet, whether that was asked for or not.
///
/// Targets that do not change (one step) are told before every query but that of step 0.
///
/// # Panics
/// If `steps` do not ascend, or one is not among the targets.
pub fn replay_targets(
    baseline: &mut dyn StepBaseline,
    targets: &Targets,
    steps: impl IntoIterator<Item = usize>,
    mut visit: impl FnMut(usize, &[f32], &[f32]),
) {
    let truth = |step: usize| {
        let stored = if targets.steps() == 1 { 0 } else { step };
        &targets.values()[stored * targets.vertices()..(stored + 1) * targets.vertices()]
    };
    let mut predicted = vec![0.0; targets.vertices()];
    let mut told = 0;
    let mut previous = None;
    for step in steps {
        assert!(previous.is_none_or(|previous| previous < step), "step {step} comes too late");
        previous = Some(step);
        while told < step {
            baseline.observe(truth(told));
            told += 1;
        }
        baseline.predict(&mut predicted);
        visit(step, &predicted, truth(step));
    }
}

/// Tells link baselines the snapshots up to each of `queries` (ascending), then hands them to
/// `visit(query, baselines)` to score pairs of the snapshot after: at query `t` they know
/// snapshots `0..=t`, as a model does that is asked for the edges of `t + 1`.
///
/// # Panics
/// If `queries` do not ascend, or one is not a snapshot.
pub fn replay_links(
    baselines: &mut [Box<dyn LinkBaseline>],
    sequence: &SnapshotSequence,
    queries: impl IntoIterator<Item = usize>,
    mut visit: impl FnMut(usize, &[Box<dyn LinkBaseline>]),
) {
    let mut told = 0;
    let mut previous = None;
    for query in queries {
        assert!(previous.is_none_or(|previous| previous < query), "query {query} comes too late");
        previous = Some(query);
        let news = told..query + 1;
        baselines.par_iter_mut().for_each(|baseline| {
            news.clone().for_each(|step| baseline.observe(sequence.at(step)));
        });
        told = news.end;
        visit(query, baselines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshots::baseline::{EdgeBank, Persistence};

    #[test]
    fn steps_that_are_not_asked_for_are_told_all_the_same() {
        let targets = Targets::new(4, 1, None, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut seen = Vec::new();
        replay_targets(&mut Persistence::new(1), &targets, [0, 3], |step, predicted, truth| {
            seen.push((step, predicted[0], truth[0]));
        });
        assert_eq!(seen, [(0, 0.0, 1.0), (3, 3.0, 4.0)]);
    }

    #[test]
    fn constant_targets_are_known_after_the_first_step() {
        let targets = Targets::new(1, 2, Some(3), vec![1.0, 2.0]).unwrap();
        let mut seen = Vec::new();
        replay_targets(&mut Persistence::new(2), &targets, 0..3, |_, predicted, truth| {
            assert_eq!(truth, [1.0, 2.0]);
            seen.push(predicted.to_vec());
        });
        assert_eq!(seen, [[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]]);
    }

    #[test]
    fn a_query_knows_its_own_snapshot_and_not_the_next() {
        let graph = SnapshotSequence::new(3, vec![0, 1, 2], vec![0, 1], vec![1, 2], None).unwrap();
        let mut known = Vec::new();
        replay_links(&mut [Box::new(EdgeBank::unlimited())], &graph, 0..2, |_, banks| {
            let mut scores = [0.0; 2];
            banks[0].score(&[0, 1], &[1, 2], &mut scores);
            known.push(scores);
        });
        assert_eq!(known, [[1.0, 0.0], [1.0, 1.0]]);
    }
}
