//! Nothing that happens after a query changes its answer.
//!
//! Each test answers a query on the data and on the same data with another future, and requires
//! the same bits; and that another past does change the answer, so that the test can fail.

mod future;

use std::num::NonZeroUsize;

use future::with_another_future;
use zoetrope_data::{Dataset, Quiet, ReadOptions, SnapshotDataset};
use zoetrope_graph::VertexId;
use zoetrope_train::snapshots::baseline::{
    EdgeBank, HistoricalMean, LinkBaseline, MajorityClass, Persistence, Popularity, StepBaseline,
    replay_links, replay_targets,
};
use zoetrope_train::snapshots::sampling::{
    AllPairs, Candidates, DrawKey, EdgeClassRule, LinkSampler, LinkSampling, NegativeEnds,
    OneVersusMany, Pairs,
};

const SEEDS: [u64; 3] = [1, 2, 3];

fn generated(name: &str) -> SnapshotDataset {
    let loaded = zoetrope_data::open(name, &ReadOptions::default(), &Quiet).unwrap();
    match loaded.dataset {
        Dataset::Snapshots(data) => data.with_lags(None).unwrap(),
        Dataset::Events(_) => panic!("{name} makes events"),
    }
}

fn communities() -> SnapshotDataset {
    generated("synthetic:sbm?vertices=60&steps=12&communities=3&seed=4")
}

/// Predictions at one step.
fn predicted(baseline: &mut dyn StepBaseline, data: &SnapshotDataset, step: usize) -> Vec<u32> {
    let mut bits = Vec::new();
    replay_targets(baseline, data.targets.as_ref().unwrap(), [step], |_, predicted, _| {
        bits.extend(predicted.iter().map(|value| value.to_bits()));
    });
    bits
}

#[test]
fn predictions_for_vertices_do_not_know_the_target_of_their_step_or_later() {
    let data = communities();
    let makers: [fn() -> Box<dyn StepBaseline>; 3] = [
        || Box::new(Persistence::new(60)),
        || Box::new(HistoricalMean::new(60, 8)),
        || Box::new(MajorityClass::new(3, 8)),
    ];
    for make in makers {
        let name = make().name();
        for step in [1, 5, 8, 11] {
            let expected = predicted(make().as_mut(), &data, step);
            for seed in SEEDS {
                let other = with_another_future(&data, step + 1, step, seed);
                assert_eq!(predicted(make().as_mut(), &other, step), expected, "{name} at {step}");
            }
        }
        let past = SEEDS
            .map(|seed| predicted(make().as_mut(), &with_another_future(&data, 0, 0, seed), 8));
        assert!(past.iter().any(|past| *past != predicted(make().as_mut(), &data, 8)), "{name}");
    }
}

/// Scores of all pairs at one query.
fn scored(baseline: impl LinkBaseline + 'static, data: &SnapshotDataset, query: usize) -> Vec<u32> {
    let vertices = data.sequence.vertices();
    let (src, dst): (Vec<VertexId>, Vec<VertexId>) =
        (0..vertices).flat_map(|src| (0..vertices).map(move |dst| (src, dst))).unzip();
    let mut scores = vec![0.0; src.len()];
    replay_links(&mut [Box::new(baseline)], &data.sequence, [query], |_, baselines| {
        baselines[0].score(&src, &dst, &mut scores);
    });
    scores.iter().map(|score| score.to_bits()).collect()
}

#[test]
fn scores_of_links_do_not_know_the_snapshot_after_the_query() {
    let data = communities();
    let score = |data: &SnapshotDataset, query| {
        [
            scored(EdgeBank::unlimited(), data, query),
            scored(EdgeBank::windowed(NonZeroUsize::new(2).unwrap()), data, query),
            scored(Popularity::new(60), data, query),
        ]
    };
    for query in [0, 4, 10] {
        let expected = score(&data, query);
        for seed in SEEDS {
            assert_eq!(score(&with_another_future(&data, query + 1, 0, seed), query), expected);
            let other_past = score(&with_another_future(&data, 0, 0, seed), query);
            assert!(other_past.iter().zip(&expected).all(|(other, same)| other != same));
        }
    }
}

/// All pairs that are asked for the snapshot after a query.
fn asked(data: &SnapshotDataset, query: usize) -> (Vec<Pairs>, Vec<Candidates>) {
    let target = data.sequence.at(query + 1);
    let step = query as u32;
    let sampled = |ends| {
        let mut pairs = Pairs::default();
        let mut sampler = LinkSampler::new(LinkSampling { theta: 0.4, ends, ..Default::default() });
        sampler.fill(target, DrawKey::training(2, step), &mut pairs);
        pairs
    };
    let (mut ranked, mut all) = (Candidates::default(), Candidates::default());
    let mut sampler = OneVersusMany::new(7, 0);
    let links = sampler.load(target);
    sampler.fill(0..links, DrawKey::evaluation(step), &mut ranked);
    let mut pairs = AllPairs::default();
    pairs.load(target);
    pairs.fill(0..data.sequence.vertices(), &mut all);
    (vec![sampled(NegativeEnds::Both), sampled(NegativeEnds::Destination)], vec![ranked, all])
}

#[test]
fn pairs_for_a_query_do_not_know_what_comes_after_their_snapshot() {
    let data = communities();
    for query in [0, 4, 9] {
        let expected = asked(&data, query);
        for seed in SEEDS {
            assert_eq!(asked(&with_another_future(&data, query + 2, 0, seed), query), expected);
            assert_ne!(asked(&with_another_future(&data, query + 1, 0, seed), query), expected);
        }
    }
}

#[test]
fn classes_of_edges_come_from_their_own_snapshot_alone() {
    let mut data = communities();
    let weight: Vec<f32> = (0..data.sequence.stored_edges())
        .map(|edge| if edge % 3 == 0 { -1.0 } else { 1.0 })
        .collect();
    data.sequence = zoetrope_graph::SnapshotSequence::new(
        data.sequence.vertices(),
        data.sequence.ranges().offsets(),
        data.sequence.src().to_vec(),
        data.sequence.dst().to_vec(),
        Some(weight),
    )
    .unwrap();
    let classes = |data: &SnapshotDataset| {
        let mut pairs = Pairs::default();
        EdgeClassRule::WeightSign.fill(data.sequence.at(5), &mut pairs);
        pairs
    };
    let expected = classes(&data);
    assert_eq!(classes(&with_another_future(&data, 6, 0, 1)), expected);
    assert_ne!(classes(&with_another_future(&data, 5, 0, 1)), expected);
}
