//! Comparisons on cases small enough to work out by hand.

use zoetrope_graph::{SnapshotSequence, Targets};
use zoetrope_nn::metrics::{Metric, TieRule, Undefined};

use super::*;
use crate::snapshots::sampling::{
    EdgeClassRule, LinkCandidates, LinkSampler, LinkSampling, LinkScores,
};

fn measure(found: &[Comparison], name: &str, metric: Metric) -> Result<f64, Undefined> {
    let comparison = found.iter().find(|comparison| comparison.name == name).unwrap();
    comparison.measures.iter().find(|(known, _)| *known == metric).unwrap().1
}

#[test]
fn values_are_compared_on_the_asked_steps_only() {
    let targets = Targets::new(4, 1, None, vec![0.0, 2.0, 4.0, 10.0]).unwrap();
    let found = compare_values(&targets, None, 2, &[3], None);
    assert_eq!(measure(&found, "persistence", Metric::Mae), Ok(6.0));
    assert_eq!(measure(&found, "historical_mean", Metric::Mae), Ok(9.0));
    let first = compare_values(&targets, Some(vec![1.0]), 2, &[0], None);
    assert_eq!(measure(&first, "persistence", Metric::Mse), Ok(1.0));
    let none = compare_values(&targets, None, 2, &[], None);
    assert_eq!(measure(&none, "persistence", Metric::Mse), Err(Undefined::NoObservations));
}

#[test]
fn classes_that_change_have_a_last_known_class_to_compare_with() {
    let changing = Targets::new(3, 2, Some(2), vec![1.0, 1.0, 0.0, 1.0, 0.0, 1.0]).unwrap();
    let found = compare_classes(&changing, 2, 2, &[2]);
    assert_eq!(measure(&found, "majority_class", Metric::Accuracy), Ok(0.5));
    assert_eq!(measure(&found, "persistence", Metric::Accuracy), Ok(1.0));
    let constant = Targets::new(1, 2, Some(2), vec![1.0, 0.0]).unwrap();
    let found = compare_classes(&constant, 2, 1, &[2]);
    assert_eq!(found.len(), 1, "the class of a vertex that keeps it would be given away");
    assert_eq!(measure(&found, "majority_class", Metric::Accuracy), Ok(0.5));
}

#[test]
fn the_majority_of_edges_is_that_of_the_training_snapshots() {
    let (src, dst) = (vec![0, 1, 0, 1, 0], vec![1, 0, 1, 0, 1]);
    let weight = Some(vec![-1.0, -2.0, 3.0, 4.0, -5.0]);
    let graph = SnapshotSequence::new(2, vec![0, 2, 4, 5], src, dst, weight).unwrap();
    let accuracy = |training, steps: &[usize]| {
        let found = compare_edge_classes(&graph, EdgeClassRule::WeightSign, 2, training, steps);
        measure(&found, "majority_class", Metric::Accuracy).unwrap()
    };
    assert_eq!(accuracy(1, &[1, 2]), 1.0 / 3.0);
    assert_eq!(accuracy(1, &[2]), 1.0);
}

#[test]
fn links_that_come_back_are_known_to_the_edge_bank() {
    let (src, dst) = (vec![0, 2, 0, 3], vec![1, 3, 1, 0]);
    let graph = SnapshotSequence::new(4, vec![0, 2, 4], src, dst, None).unwrap();
    let (mut candidates, scores) =
        (LinkCandidates::sampled(10, 0), LinkScores::new(TieRule::Average, &[1]));
    let mut sampler = LinkSampler::new(LinkSampling { theta: 1.0, ..LinkSampling::default() });
    let found = compare_links(&graph, &[0], &mut [(&mut candidates, &scores)], &mut sampler);
    let found = &found[0];
    // 0 → 1 was there before and is first; 3 → 0 is new and shares its score with two negatives.
    assert_eq!(measure(found, "edgebank", Metric::Mrr), Ok(0.75));
    assert_eq!(measure(found, "edgebank", Metric::HitsAt(1)), Ok(0.5));
    assert_eq!(measure(found, "edgebank_window", Metric::Mrr), Ok(0.75));
    assert!(found[2].measures.iter().all(|(metric, _)| *metric != Metric::Accuracy));

    let all = compare_links_with_all(&graph, &[0], TieRule::Average);
    // Of the 12 pairs 0 → 1 and 2 → 3 are remembered: precision 1/2, then 2/12.
    assert_eq!(measure(&all, "edgebank", Metric::MeanAp), Ok((0.5 + 2.0 / 12.0) / 2.0));
    assert_eq!(measure(&all, "edgebank", Metric::RowMrr), Ok(0.75));
}

/// A hub, and sources with a few links that change from snapshot to snapshot.
#[test]
fn ranks_alone_are_those_of_listed_pairs() {
    let (vertices, steps) = (40u32, 6u32);
    let (mut offsets, mut all) = (vec![0], Vec::new());
    for step in 0..steps {
        let mut edges: Vec<(u32, u32)> = (1..30).map(|to| (to, 0)).collect();
        edges.extend((1..vertices).map(|from| ((from * (step + 3)) % vertices, from)));
        edges.sort_unstable();
        edges.dedup();
        all.extend(edges);
        offsets.push(all.len() as u64);
    }
    let (dst, src) = all.into_iter().unzip();
    let graph = SnapshotSequence::new(vertices, offsets, src, dst, None).unwrap();
    let (mut listed, mut drawn) = (LinkCandidates::sampled(12, 3), LinkCandidates::sampled(12, 3));
    let whole = LinkScores::new(TieRule::Average, &[1, 3]);
    let ranks = LinkScores::ranks_only(TieRule::Average, &[1, 3]);
    let mut sampler = LinkSampler::new(LinkSampling::default());
    let mut questions = [(&mut listed, &whole), (&mut drawn, &ranks)];
    let found = compare_links(&graph, &[1, 3, 4], &mut questions, &mut sampler);
    for name in ["edgebank", "edgebank_window", "popularity"] {
        for metric in [Metric::Mrr, Metric::HitsAt(1), Metric::HitsAt(3)] {
            let [listed, drawn] = [0, 1].map(|at| measure(&found[at], name, metric));
            assert_eq!(listed, drawn, "{metric} of {name}");
        }
        assert!(measure(&found[0], name, Metric::Mrr).unwrap() < 1.0, "{name}");
    }
}
