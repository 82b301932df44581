//! What negatives must and must not be, by strategy, and lists on file.

use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, TimeScale, VertexNames};

use super::positives::{Positives, SCANNED_EVENTS_MAX, pair_key};
use super::*;
use crate::options::Limits;
use crate::progress::Quiet;
use crate::split::{Fractions, Part, Split};

fn store(events: &[(u32, u32, i64)], vertices: u32) -> EventStore {
    EventStore::new(
        events.iter().map(|event| event.0).collect(),
        events.iter().map(|event| event.1).collect(),
        events.iter().map(|event| event.2).collect(),
        EventColumns::default(),
        TimeScale::SECONDS,
        VertexNames::identity(vertices),
    )
    .unwrap()
}

fn stream() -> EventStore {
    match crate::synthetic::generate(
        "synthetic:bipartite?users=200&items=60&events=6000&features=0&days=2",
        &Quiet,
    ) {
        Ok(loaded) => match loaded.dataset {
            crate::Dataset::Events(store) => store,
            crate::Dataset::Snapshots(_) => panic!("bipartite makes events"),
        },
        Err(error) => panic!("{error}"),
    }
}

fn options(strategy: Strategy, per_event: usize) -> NegativeOptions {
    NegativeOptions { strategy, per_event, seed: 11, avoid_positives: true }
}

fn pairs(store: &EventStore, events: std::ops::Range<usize>) -> Vec<(u32, u32)> {
    let mut pairs: Vec<_> = events.map(|e| (store.src()[e], store.dst()[e])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn list(store: &EventStore, options: NegativeOptions) -> (NegativeList, Split) {
    let split = Split::by_time(store, Fractions::default());
    (NegativeList::make(store, &split, options, &Quiet).unwrap(), split)
}

#[test]
fn every_strategy_draws_what_it_says() {
    let store = stream();
    for strategy in Strategy::ALL {
        let (list, split) = list(&store, options(strategy, 8));
        let trained = pairs(&store, split.train.clone());
        let seen = |edges: &[(u32, u32)], negative: &Negative| {
            edges.binary_search(&(negative.src, negative.dst)).is_ok()
        };
        assert_eq!(list.metadata.missing, 0);
        for part in [Part::Validation, Part::Test] {
            let evaluated = pairs(&store, split.part(part));
            for row in list.rows(part) {
                let event = split.validation.start + row;
                let negatives: Vec<Negative> = list.row(row).collect();
                match strategy {
                    Strategy::Random => assert!(negatives.iter().all(|n| n.dst >= 200)),
                    Strategy::All => assert!(negatives.iter().all(|n| n.dst < 260)),
                    Strategy::Historical => {
                        assert!(negatives.iter().all(|n| seen(&trained, n)));
                    }
                    Strategy::Inductive => {
                        assert!(negatives.iter().all(|n| seen(&evaluated, n)));
                        assert!(!negatives.iter().any(|n| seen(&trained, n)));
                    }
                    Strategy::Mixed => assert!(negatives[..4].iter().all(|n| n.dst >= 200)),
                }
                if !strategy.draws_sources() {
                    assert!(negatives.iter().all(|n| n.src == store.src()[event]));
                }
            }
        }
        assert_eq!(list.metadata.fallback > 0, strategy == Strategy::Mixed, "{strategy}");
    }
}

#[test]
fn mixed_negatives_start_with_the_sources_own_past() {
    // Vertex 0 met 10 to 14 in training and meets 15 afterwards; 20 exists elsewhere.
    let mut events: Vec<_> = (0..14).map(|t| (0, 10 + t as u32 % 5, t)).collect();
    events.extend([(0, 15, 14), (0, 15, 15), (0, 15, 16), (0, 15, 17), (1, 20, 18), (1, 20, 19)]);
    let store = store(&events, 30);
    let (list, _) = list(&store, options(Strategy::Mixed, 4));
    let first: Vec<u32> = list.row(0).map(|negative| negative.dst).collect();
    assert!(first[..2].iter().all(|dst| (10..15).contains(dst)), "{first:?}");
}

#[test]
fn a_pool_that_is_too_small_is_used_up_and_the_rest_is_marked() {
    let store = store(&[(0, 1, 0), (0, 2, 1), (0, 3, 2), (0, 1, 3)], 4);
    let (list, _) = list(&store, options(Strategy::Random, 5));
    let row: Vec<u32> = list.row(0).map(|negative| negative.dst).collect();
    let mut real = row[..2].to_vec();
    real.sort_unstable();
    assert_eq!((real, &row[2..]), (vec![2, 3], &[MISSING; 3][..]));
    assert_eq!(list.metadata.missing, 3);
}

#[test]
fn without_the_check_a_negative_may_be_what_happens() {
    let store = stream();
    let all = NegativeOptions { avoid_positives: false, ..options(Strategy::Random, 60) };
    let (list, split) = list(&store, all);
    let hits = |row: usize| list.row(row).any(|n| n.dst == list.dst[row]);
    let rows = split.validation.len() + split.test.len();
    assert!((0..rows).all(hits), "all destinations are drawn, the true one among them");
}

#[test]
fn training_negatives_change_with_the_epoch_and_with_nothing_else() {
    let store = stream();
    let split = Split::by_time(&store, Fractions::default());
    let sampler =
        NegativeSampler::new(&store, &split, Part::Train, options(Strategy::Random, 2)).unwrap();
    let draw = |epoch, event| {
        let mut row = [Negative::default(); 2];
        sampler.draw(epoch, event, &mut row);
        row
    };
    let epoch = |epoch| (0..100).map(|event| draw(epoch, event)).collect::<Vec<_>>();
    assert_eq!(epoch(0), epoch(0));
    assert_ne!(epoch(0), epoch(1));
    let inductive = options(Strategy::Inductive, 1);
    assert!(NegativeSampler::new(&store, &split, Part::Train, inductive).is_err());
}

#[test]
fn the_number_of_threads_does_not_change_a_list() {
    let store = stream();
    for strategy in Strategy::ALL {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| list(&store, options(strategy, 7)).0)
        };
        let single = with(1);
        assert!(single == with(2) && single == with(8), "{strategy}");
    }
}

#[test]
fn destinations_are_drawn_evenly() {
    let store = stream();
    let (list, split) = list(&store, options(Strategy::Random, 20));
    let pool = pairs(&store, 0..store.len()).len().min(60);
    let mut counts = vec![0u32; 260];
    list.negatives.iter().for_each(|&dst| counts[dst as usize] += 1);
    let expected = (split.validation.len() + split.test.len()) as f64 * 20.0 / pool as f64;
    // About 600 of each; popular items lose up to a few per cent because they are often the
    // true destination, hence a tenth and five deviations.
    for &count in counts[200..].iter().filter(|&&count| count > 0) {
        let slack = 0.1 * expected + 5.0 * expected.sqrt();
        assert!((f64::from(count) - expected).abs() < slack, "{count} of {expected}");
    }
}

#[test]
fn a_list_survives_the_file_and_knows_its_data() {
    let store = stream();
    let folder = tempfile::tempdir().unwrap();
    for strategy in [Strategy::Random, Strategy::Historical] {
        let path = folder.path().join(format!("{strategy}.npz"));
        let (list, split) = list(&store, options(strategy, 3));
        list.write(&path, &Quiet).unwrap();
        let read = NegativeList::read(&path, &Limits::default(), &Quiet).unwrap();
        assert_eq!(read, list);
        read.check(&store, &split).unwrap();
        let other = Split::by_time(&store, Fractions::new(0.5, 0.6).unwrap());
        assert!(read.check(&store, &other).unwrap_err().to_string().contains("events"));
    }
}

#[test]
fn damaged_lists_are_refused_with_the_array_at_fault() {
    let store = stream();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.npz");
    let (good, _) = list(&store, options(Strategy::Random, 3));
    type Spoil = fn(&mut NegativeList);
    let cases: [(&str, Spoil); 6] = [
        ("negatives", |list| list.negatives[4] = 260),
        ("src", |list| list.src[0] = 999),
        ("time", |list| list.time[1] = -5),
        ("metadata", |list| list.metadata.test_events += 1),
        ("schema 2", |list| list.metadata.schema = 2),
        ("negative_sources", |list| list.metadata.strategy = Strategy::Historical),
    ];
    for (named, spoil) in cases {
        let mut list = good.clone();
        spoil(&mut list);
        list.write(&path, &Quiet).unwrap();
        let text = NegativeList::read(&path, &Limits::default(), &Quiet).unwrap_err().to_string();
        assert!(text.contains(named) && text.contains("list.npz"), "{named}: {text}");
    }
}

#[test]
fn no_damaged_byte_makes_reading_a_list_panic() {
    let store = store(&[(0, 1, 0), (0, 2, 1), (0, 3, 2), (0, 1, 3)], 4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.npz");
    list(&store, options(Strategy::Random, 2)).0.write(&path, &Quiet).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        let _ = NegativeList::read(&path, &Limits::default(), &Quiet);
        std::fs::write(&path, &bytes[..at]).unwrap();
        assert!(NegativeList::read(&path, &Limits::default(), &Quiet).is_err());
    }
}

#[test]
fn names_of_strategies_read_back_and_others_are_refused() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.name().parse::<Strategy>().unwrap(), strategy);
    }
    assert!("rnd".parse::<Strategy>().unwrap_err().to_string().contains("historical"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn negatives_differ_from_each_other_and_from_all_that_happens_then(
        events in prop::collection::vec((0u32..12, 0u32..12, 0i64..20), 1..120),
        strategy in prop::sample::select(&Strategy::ALL[..]),
        per_event in 1usize..14,
        seed: u64,
    ) {
        let store = store(&events, 12);
        let (list, split) = list(&store, NegativeOptions { seed, ..options(strategy, per_event) });
        for row in 0..list.src.len() {
            let now: Vec<(u32, u32)> = (split.validation.start..store.len())
                .filter(|&event| store.time()[event] == list.time[row])
                .map(|event| (store.src()[event], store.dst()[event]))
                .collect();
            let negatives: Vec<_> =
                list.row(row).filter(|n| n.dst != MISSING).map(|n| (n.src, n.dst)).collect();
            prop_assert!(negatives.iter().all(|negative| !now.contains(negative)));
            let mut distinct = negatives.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), negatives.len());
        }
    }
}

#[test]
fn edges_of_a_time_are_found_whether_few_or_many() {
    // The times 0, 1, … have so many events; the first is not asked about.
    let sizes = [1, SCANNED_EVENTS_MAX, SCANNED_EVENTS_MAX + 1, 3, 2 * SCANNED_EVENTS_MAX];
    let times = (0i64..).zip(sizes).flat_map(|(time, count)| vec![time; count]);
    let events: Vec<(u32, u32, i64)> =
        (0u32..).zip(times).map(|(event, time)| (event * 7 % 50, event * 3 % 11, time)).collect();
    let store = store(&events, 50);
    let positives = Positives::new(&store, 1..store.len());
    for time in 1..sizes.len() as i64 {
        let (start, end) = (
            store.time().partition_point(|&other| other < time),
            store.time().partition_point(|&other| other <= time),
        );
        for key in (0..50).flat_map(|src| (0..11).map(move |dst| pair_key(src, dst))) {
            let happens = (start..end).any(|at| pair_key(store.src()[at], store.dst()[at]) == key);
            assert!(
                (start..end).all(|at| positives.beside(at).contains(key) == happens),
                "{key:x}"
            );
        }
    }
}
