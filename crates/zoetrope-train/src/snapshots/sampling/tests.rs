//! What holds for all samplers.

use proptest::prelude::*;
use zoetrope_graph::{LinkSet, SnapshotSequence, SnapshotView};

use super::*;

fn snapshot(vertices: u32, edges: &[(u32, u32)]) -> SnapshotSequence {
    let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    SnapshotSequence::new(vertices, vec![0, src.len() as u64], src, dst, None).unwrap()
}

fn graphs() -> impl Strategy<Value = SnapshotSequence> {
    (1u32..12).prop_flat_map(|vertices| {
        prop::collection::vec((0..vertices, 0..vertices), 0..80)
            .prop_map(move |edges| snapshot(vertices, &edges))
    })
}

fn has(view: SnapshotView<'_>, src: u32, dst: u32) -> bool {
    (0..view.len()).any(|edge| (view.src[edge], view.dst[edge]) == (src, dst))
}

/// Labels are right and no pair is a self-loop.
fn assert_labels(view: SnapshotView<'_>, pairs: &Pairs) {
    for ((&src, &dst), &label) in pairs.src.iter().zip(&pairs.dst).zip(&pairs.label) {
        assert_ne!(src, dst);
        assert_eq!(label == 1.0, has(view, src, dst), "{src} → {dst}");
    }
}

/// Every second of 40 vertices linked with its next and with a hub.
fn wheel() -> SnapshotSequence {
    let edges: Vec<_> = (1..40).flat_map(|at| [(at, 0), (at, at % 39 + 1)]).collect();
    snapshot(40, &edges)
}

proptest! {
    #[test]
    fn sampled_pairs_are_links_and_as_many_pairs_that_are_not(
        graph in graphs(),
        theta in 0.05f64..=1.0,
        negatives in 1usize..4,
        destination in prop::bool::ANY,
    ) {
        let ends = if destination { NegativeEnds::Destination } else { NegativeEnds::Both };
        let mut sampler = LinkSampler::new(LinkSampling { theta, negatives, ends, seed: 1 });
        let (mut pairs, mut links) = (Pairs::default(), LinkSet::default());
        sampler.fill(graph.at(0), DrawKey::training(3, 4), &mut pairs);
        assert_labels(graph.at(0), &pairs);
        links.load_by_source(graph.at(0));
        let positives = pairs.label.iter().filter(|&&label| label == 1.0).count();
        let expected = ((theta * links.len() as f64).round() as usize).max(1).min(links.len());
        prop_assert_eq!(positives, expected);
        if !destination && links.non_links() > 0 {
            prop_assert_eq!(pairs.len(), positives * (1 + negatives));
        }
        if !destination {
            let known = sampler.pairs_of(links.len() as u64, graph.vertices());
            prop_assert_eq!(pairs.len(), known);
        }
        let mut chosen: Vec<_> = (0..positives).map(|at| (pairs.src[at], pairs.dst[at])).collect();
        chosen.sort_unstable();
        chosen.dedup();
        prop_assert_eq!(chosen.len(), positives);
    }

    #[test]
    fn every_link_meets_distinct_vertices_that_its_source_does_not_reach(
        graph in graphs(),
        negatives in 1usize..9,
        chunk in 1usize..7,
    ) {
        let mut sampler = OneVersusMany::new(negatives, 5);
        let count = sampler.load(graph.at(0));
        let (mut whole, mut part) = (Candidates::default(), Candidates::default());
        let key = DrawKey::evaluation(2);
        sampler.fill(0..count, key, &mut whole);
        assert_labels(graph.at(0), &whole.pairs);
        prop_assert_eq!(whole.rows(), count);
        let mut links = LinkSet::default();
        links.load_by_source(graph.at(0));
        for row in 0..count {
            let range = whole.row(row);
            prop_assert_eq!(whole.pairs.label[range.start], 1.0);
            let src = whole.pairs.src[range.start];
            prop_assert_eq!(range.len() - 1, negatives.min(links.of(src).non_links()));
            let mut others = whole.pairs.dst[range].to_vec();
            others.sort_unstable();
            prop_assert!(others.windows(2).all(|pair| pair[0] < pair[1]));
        }
        for start in (0..count).step_by(chunk) {
            let end = (start + chunk).min(count);
            sampler.fill(start..end, key, &mut part);
            let range = whole.row(start).start..whole.row(end - 1).end;
            prop_assert_eq!(&part.pairs.dst, &whole.pairs.dst[range]);
        }
    }

    #[test]
    fn all_pairs_are_all_pairs(graph in graphs()) {
        let mut all = AllPairs::default();
        let count = all.load(graph.at(0));
        let mut candidates = Candidates::default();
        all.fill(0..graph.vertices(), &mut candidates);
        assert_labels(graph.at(0), &candidates.pairs);
        let others = graph.vertices() as usize - 1;
        prop_assert_eq!(candidates.rows(), others + 1);
        prop_assert!((0..=others).all(|row| candidates.row(row).len() == others));
        let found = candidates.pairs.label.iter().filter(|&&label| label == 1.0).count();
        prop_assert_eq!((found, all.links().len()), (count, count));
        prop_assert!(all.links().iter().all(|(src, dst)| has(graph.at(0), src, dst)));
    }
}

#[test]
fn draws_change_with_seed_epoch_and_step_and_with_nothing_else() {
    let graph = wheel();
    let drawn = |seed, key| {
        let mut sampler = LinkSampler::new(LinkSampling { theta: 0.5, seed, ..Default::default() });
        let mut pairs = Pairs::default();
        sampler.fill(graph.at(0), DrawKey::training(9, 9), &mut pairs);
        sampler.fill(graph.at(0), key, &mut pairs);
        pairs
    };
    let same = drawn(0, DrawKey::training(0, 0));
    assert_eq!(drawn(0, DrawKey::training(0, 0)), same);
    for (seed, key) in [
        (1, DrawKey::training(0, 0)),
        (0, DrawKey::training(1, 0)),
        (0, DrawKey::training(0, 1)),
        (0, DrawKey::evaluation(0)),
    ] {
        assert_ne!(drawn(seed, key), same, "{seed} {key:?}");
    }
}

#[test]
fn threads_do_not_change_the_pairs() {
    let edges: Vec<_> = (0..6000u32).map(|at| (at * 7 % 500, at * 13 % 499)).collect();
    let graph = snapshot(500, &edges);
    let drawn = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let sampling = LinkSampling { theta: 1.0, negatives: 3, ..Default::default() };
            let mut pairs = Pairs::default();
            LinkSampler::new(sampling).fill(graph.at(0), DrawKey::training(1, 2), &mut pairs);
            pairs
        })
    };
    let alone = drawn(1);
    assert!(alone.len() > 8000);
    assert!([2, 8].into_iter().all(|threads| drawn(threads) == alone));
}

#[test]
fn the_second_epoch_allocates_nothing() {
    let graph = wheel();
    let mut sampler = LinkSampler::new(LinkSampling { theta: 0.7, ..Default::default() });
    let mut pairs = Pairs::default();
    sampler.fill(graph.at(0), DrawKey::training(0, 0), &mut pairs);
    let capacity = pairs.capacity();
    for epoch in 1..50 {
        sampler.fill(graph.at(0), DrawKey::training(epoch, 0), &mut pairs);
    }
    assert_eq!(pairs.capacity(), capacity);
}

#[test]
fn negatives_are_uniform_over_the_pairs_that_are_not_links() {
    let graph = snapshot(3, &[(0, 1), (1, 0), (2, 1)]);
    let mut sampler = LinkSampler::new(LinkSampling { theta: 1.0, ..Default::default() });
    let (mut pairs, mut counts) = (Pairs::default(), [0u32; 9]);
    for epoch in 0..10_000 {
        sampler.fill(graph.at(0), DrawKey::training(epoch, 0), &mut pairs);
        for at in 3..6 {
            counts[(pairs.src[at] * 3 + pairs.dst[at]) as usize] += 1;
        }
    }
    // 10,000 expected for each of 0→2, 1→2 and 2→0, deviation 82: five deviations.
    assert!([2, 5, 6].iter().all(|&at| counts[at].abs_diff(10_000) < 410), "{counts:?}");
}

#[test]
fn a_graph_that_links_everything_has_positives_only() {
    let graph = snapshot(2, &[(0, 1), (1, 0), (1, 1)]);
    let mut pairs = Pairs::default();
    for ends in [NegativeEnds::Both, NegativeEnds::Destination] {
        let mut sampler = LinkSampler::new(LinkSampling { theta: 1.0, ends, ..Default::default() });
        sampler.fill(graph.at(0), DrawKey::training(0, 0), &mut pairs);
        assert_eq!(pairs.label, [1.0, 1.0]);
    }
}
