use proptest::prelude::*;

use super::*;
use crate::Duration;
use crate::events::EventColumns;
use crate::ids::VertexNames;
use crate::random::Random;
use crate::time::{Time, TimeScale};
use crate::window::{Origin, Windowing};

/// Source, destination, time, weight, whether it removes.
type Row = (u32, u32, Time, f32, bool);

fn store_of(rows: &[Row], vertices: u32, weights: bool, kinds: bool) -> EventStore {
    let columns = EventColumns {
        weight: weights.then(|| rows.iter().map(|row| row.3).collect::<Vec<_>>().into()),
        kind: kinds.then(|| rows.iter().map(|row| u8::from(row.4)).collect::<Vec<_>>().into()),
        ..EventColumns::default()
    };
    EventStore::new(
        rows.iter().map(|row| row.0).collect(),
        rows.iter().map(|row| row.1).collect(),
        rows.iter().map(|row| row.2).collect(),
        columns,
        TimeScale::STEPS,
        VertexNames::identity(vertices),
    )
    .unwrap()
}

fn width(ticks: u64) -> Windowing {
    Windowing::Width { width: Duration::Ticks(ticks), origin: Origin::Aligned }
}

fn in_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn bits(sequence: &SnapshotSequence) -> Option<Vec<u32>> {
    sequence.weight().map(|weight| weight.iter().map(|value| value.to_bits()).collect())
}

fn any_options() -> impl Strategy<Value = DiscretiseOptions> {
    let merge = prop_oneof![
        Just(Merge::Sum),
        Just(Merge::Mean),
        Just(Merge::Last),
        Just(Merge::Count),
        Just(Merge::Keep)
    ];
    let lifetime = prop_oneof![Just(Lifetime::Window), Just(Lifetime::UntilRemoved)];
    (merge, lifetime, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(merge, lifetime, self_loops, undirected, weighted)| DiscretiseOptions {
            merge,
            lifetime,
            self_loops,
            undirected,
            weighted,
            ..DiscretiseOptions::default()
        },
    )
}

fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let weight = prop_oneof![-8.0_f32..8.0, Just(0.1), Just(1e8), Just(-1e8)];
    let row = (0_u32..6, 0_u32..6, -20_i64..20, weight, proptest::bool::weighted(0.3));
    proptest::collection::vec(row, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn the_fast_way_gives_what_the_plain_way_gives(
        rows in any_rows(),
        options in any_options(),
        weights: bool,
        kinds: bool,
        ticks in 1_u64..50,
        vertices in prop_oneof![Just(6_u32), Just(70_000), Just(u32::MAX)],
    ) {
        let store = store_of(&rows, vertices, weights, kinds);
        let windows = Windows::cut(&store, &width(ticks)).unwrap();
        let fast = discretise(&store, &windows, &options).unwrap();
        let plain = reference::discretise(&store, &windows, &options);
        prop_assert_eq!(fast, plain);
    }

    #[test]
    fn snapshots_of_a_shuffled_file_equal_those_of_the_sorted_one(
        (rows, shuffled) in any_rows().prop_flat_map(|rows| {
            (Just(rows.clone()), Just(rows).prop_shuffle())
        }),
        options in any_options(),
        weights: bool,
        kinds: bool,
        cut in prop_oneof![
            (1_u64..50).prop_map(width),
            (1_u64..20).prop_map(|n| Windowing::Events(n.try_into().unwrap())),
            (1_u64..20).prop_map(|n| Windowing::Parts(n.try_into().unwrap())),
        ],
    ) {
        let [sorted, shuffled] =
            [rows, shuffled].map(|rows| store_of(&rows, 6, weights, kinds));
        let snapshots = |store: &EventStore| {
            let windows = Windows::cut(store, &cut).unwrap();
            discretise(store, &windows, &options).unwrap()
        };
        let (a, b) = (snapshots(&sorted), snapshots(&shuffled));
        prop_assert_eq!(bits(&a), bits(&b));
        prop_assert_eq!(a, b);
    }
}

/// Rows with skewed destinations, repeats, removals and few distinct times.
fn many_rows(events: u64, vertices: u64, times: u64) -> Vec<Row> {
    let random = Random::new(3, 1);
    (0..events)
        .map(|event| {
            let [a, b, c, d] = random.block(event);
            let below = |draw: u32, bound: u64| (u64::from(draw) * bound) >> 32;
            let hub = below(a, vertices).min(below(b, vertices)) as u32;
            let time = (event * times / events) as Time;
            let weight = d as f32 / u32::MAX as f32 - 0.5;
            (below(c, vertices) as u32, hub, time, weight, d % 7 == 0)
        })
        .collect()
}

#[test]
fn one_two_and_eight_threads_give_the_same_bits_for_many_and_for_few_windows() {
    let rows = many_rows(150_000, 1_000, 40);
    let store = store_of(&rows, 1_000, true, true);
    for lifetime in [Lifetime::Window, Lifetime::UntilRemoved] {
        for merge in [Merge::Sum, Merge::Last, Merge::Keep] {
            let options = DiscretiseOptions {
                merge,
                lifetime,
                undirected: merge == Merge::Last,
                ..DiscretiseOptions::default()
            };
            for ticks in [10, 1_000] {
                let windows = Windows::cut(&store, &width(ticks)).unwrap();
                let run = |threads| {
                    in_threads(threads, || discretise(&store, &windows, &options).unwrap())
                };
                let plain = reference::discretise(&store, &windows, &options);
                for threads in [1, 2, 8] {
                    let fast = run(threads);
                    assert_eq!(bits(&fast), bits(&plain), "{merge:?} {lifetime:?} {threads}");
                    assert_eq!(fast, plain);
                }
            }
        }
    }
}

#[test]
fn a_large_window_of_one_edge_or_of_self_loops_only_is_merged() {
    let rows: Vec<Row> = (0..200_000).map(|at| (3, 3, at % 5, 0.5, false)).collect();
    let store = store_of(&rows, 10, true, false);
    let windows = Windows::cut(&store, &width(100)).unwrap();
    let sum = discretise(&store, &windows, &DiscretiseOptions::default()).unwrap();
    assert_eq!(sum.weight(), Some(&[100_000.0][..]));
    let options = DiscretiseOptions { self_loops: false, ..DiscretiseOptions::default() };
    assert_eq!(discretise(&store, &windows, &options).unwrap().stored_edges(), 0);
}

#[test]
fn an_edge_removed_and_added_again_lives() {
    let remove = |src, dst, time| (src, dst, time, 1.0, true);
    let add = |src, dst, time, weight| (src, dst, time, weight, false);
    let rows = [
        add(0, 1, 0, 2.0),
        add(1, 2, 0, 3.0),
        remove(0, 1, 10),
        add(0, 1, 20, 5.0),
        remove(1, 2, 21),
        add(1, 2, 21, 7.0),
        remove(2, 0, 30),
    ];
    let store = store_of(&rows, 3, true, true);
    let windows = Windows::cut(&store, &width(10)).unwrap();
    let options =
        DiscretiseOptions { lifetime: Lifetime::UntilRemoved, ..DiscretiseOptions::default() };
    let sequence = discretise(&store, &windows, &options).unwrap();
    let edges = |step: usize| {
        let view = sequence.at(step);
        (0..view.len()).map(|e| (view.src[e], view.dst[e], view.weight_of(e))).collect::<Vec<_>>()
    };
    assert_eq!(edges(0), [(0, 1, 2.0), (1, 2, 3.0)]);
    assert_eq!(edges(1), [(1, 2, 3.0)]);
    // Removed and added at one time: the removal acts first.
    assert_eq!(edges(2), [(0, 1, 5.0), (1, 2, 7.0)]);
    assert_eq!(edges(3), edges(2));
}

#[test]
fn living_edges_beyond_the_limit_are_an_error_not_an_exhausted_machine() {
    let rows: Vec<Row> = (0..100).map(|at| (at, 0, i64::from(at), 1.0, false)).collect();
    let store = store_of(&rows, 100, false, false);
    let windows = Windows::cut(&store, &width(1)).unwrap();
    let mut options = DiscretiseOptions {
        lifetime: Lifetime::UntilRemoved,
        max_edges: 5_050,
        ..DiscretiseOptions::default()
    };
    assert_eq!(discretise(&store, &windows, &options).unwrap().stored_edges(), 5_050);
    options.max_edges -= 1;
    let error = discretise(&store, &windows, &options);
    assert!(matches!(error, Err(GraphError::TooManyEdges { limit: 5_049 })));
}

#[test]
fn weights_that_are_all_one_by_construction_are_no_column() {
    let store = store_of(&[(0, 1, 0, 9.0, false), (0, 1, 0, 9.0, false)], 2, false, false);
    let windows = Windows::cut(&store, &width(1)).unwrap();
    let weight = |merge| {
        let options = DiscretiseOptions { merge, ..DiscretiseOptions::default() };
        discretise(&store, &windows, &options).unwrap().weight().map(<[f32]>::to_vec)
    };
    assert_eq!(weight(Merge::Sum), Some(vec![2.0]));
    assert_eq!(weight(Merge::Count), Some(vec![2.0]));
    assert_eq!(weight(Merge::Mean), None);
    assert_eq!(weight(Merge::Last), None);
    assert_eq!(weight(Merge::Keep), None);
}

#[test]
fn empty_streams_and_empty_windows_give_empty_snapshots() {
    let store = store_of(&[], 5, true, true);
    for lifetime in [Lifetime::Window, Lifetime::UntilRemoved] {
        let options = DiscretiseOptions { lifetime, ..DiscretiseOptions::default() };
        let none = Windows::cut(&store, &width(1)).unwrap();
        assert_eq!(discretise(&store, &none, &options).unwrap().steps(), 0);
        let given = Windows::cut(&store, &Windowing::Boundaries(vec![0, 1, 2])).unwrap();
        let sequence = discretise(&store, &given, &options).unwrap();
        assert_eq!((sequence.steps(), sequence.stored_edges()), (2, 0));
        assert!(sequence.boundaries().is_some_and(|times| *times == [0, 1, 2]));
    }
}

#[test]
fn windows_of_another_stream_are_refused() {
    let long = store_of(&[(0, 1, 0, 1.0, false), (0, 1, 1, 1.0, false)], 2, false, false);
    let short = store_of(&[(0, 1, 0, 1.0, false)], 2, false, false);
    let windows = Windows::cut(&long, &width(1)).unwrap();
    assert!(discretise(&short, &windows, &DiscretiseOptions::default()).is_err());
}
