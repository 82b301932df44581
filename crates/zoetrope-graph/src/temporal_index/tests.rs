use proptest::prelude::*;

use super::*;
use crate::events::EventColumns;
use crate::ids::VertexNames;
use crate::random::Random;
use crate::time::TimeScale;

fn store_of(rows: &[(u32, u32, Time)], vertices: u32) -> EventStore {
    EventStore::new(
        rows.iter().map(|row| row.0).collect(),
        rows.iter().map(|row| row.1).collect(),
        rows.iter().map(|row| row.2).collect(),
        EventColumns::default(),
        TimeScale::STEPS,
        VertexNames::identity(vertices),
    )
    .unwrap()
}

/// Neighbour, event and time of each event of a vertex, by a scan of the whole stream.
fn scan(store: &EventStore, direction: Direction, vertex: u32) -> Vec<(u32, u64, Time)> {
    let mut found = Vec::new();
    for event in 0..store.len() {
        let (src, dst) = (store.src()[event], store.dst()[event]);
        let other = match direction {
            Direction::Out => (src == vertex).then_some(dst),
            Direction::In => (dst == vertex).then_some(src),
            Direction::Both if src == vertex => Some(dst),
            Direction::Both => (dst == vertex).then_some(src),
        };
        found.extend(other.map(|other| (other, event as u64, store.time()[event])));
    }
    found
}

fn entries(view: TemporalView<'_>) -> Vec<(u32, u64, Time)> {
    (0..view.len()).map(|at| (view.neighbours[at], view.event(at), view.times[at])).collect()
}

const DIRECTIONS: [Direction; 3] = [Direction::Out, Direction::In, Direction::Both];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_query_agrees_with_a_scan_of_the_stream(
        rows in proptest::collection::vec((0_u32..8, 0_u32..8, -9_i64..9), 0..80),
        time in -10_i64..10,
        event in 0_u64..90,
        count in 0_usize..5,
        wide: bool,
    ) {
        let store = store_of(&rows, 8);
        for direction in DIRECTIONS {
            let index = TemporalIndex::of_width(&store, direction, wide);
            for vertex in 0..8 {
                let all = scan(&store, direction, vertex);
                let kept = |keep: &dyn Fn(&(u32, u64, Time)) -> bool| {
                    all.iter().copied().filter(keep).collect::<Vec<_>>()
                };
                prop_assert_eq!(entries(index.of(vertex)), all.clone());
                let before = kept(&|entry| entry.2 < time);
                prop_assert_eq!(entries(index.before(vertex, time)), before.clone());
                prop_assert_eq!(entries(index.until(vertex, time)), kept(&|entry| entry.2 <= time));
                let earlier = kept(&|entry| entry.1 < event);
                prop_assert_eq!(entries(index.before_event(vertex, event)), earlier);
                let last = &before[before.len().saturating_sub(count)..];
                prop_assert_eq!(entries(index.before(vertex, time).last(count)), last);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_that_are_not_kept_are_left_out_and_the_others_keep_their_numbers(
        rows in proptest::collection::vec((0_u32..8, 0_u32..8, -9_i64..9), 0..80),
        kept in proptest::collection::vec(any::<bool>(), 80),
    ) {
        let store = store_of(&rows, 8);
        for direction in DIRECTIONS {
            let index = TemporalIndex::of_events(&store, direction, |event| kept[event as usize]);
            prop_assert_eq!(index.vertices(), 8);
            for vertex in 0..8 {
                let mut all = scan(&store, direction, vertex);
                all.retain(|entry| kept[entry.1 as usize]);
                prop_assert_eq!(entries(index.of(vertex)), all);
            }
        }
    }
}

#[test]
fn a_self_loop_stands_once_at_its_vertex() {
    let store = store_of(&[(1, 1, 5), (1, 0, 6)], 2);
    let index = TemporalIndex::new(&store, Direction::Both);
    assert_eq!(entries(index.of(1)), [(1, 0, 5), (0, 1, 6)]);
    assert_eq!(entries(index.of(0)), [(1, 1, 6)]);
    assert_eq!(index.len(), 3);
    assert_eq!(index.degrees(), [1, 2]);
}

#[test]
fn one_two_and_eight_threads_build_the_same_index() {
    let random = Random::new(5, 2);
    for vertices in [1_u32, 513, 100_000] {
        let rows: Vec<(u32, u32, Time)> = (0..200_000_u64)
            .map(|event| {
                let [a, b, c, _] = random.block(event);
                (a % vertices, (b % vertices).min(c % vertices), i64::from(a >> 20))
            })
            .collect();
        let store = store_of(&rows, vertices);
        let build = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| TemporalIndex::new(&store, Direction::Both))
        };
        let one = build(1);
        assert_eq!(one, build(2));
        assert_eq!(one, build(8));
        for vertex in [0, vertices / 2, vertices - 1] {
            assert_eq!(entries(one.of(vertex)), scan(&store, Direction::Both, vertex));
        }
    }
}

#[test]
fn the_ends_of_the_time_axis_and_empty_streams_are_indexed() {
    let empty = store_of(&[], 3);
    assert!(TemporalIndex::new(&empty, Direction::Both).before(2, Time::MAX).is_empty());
    assert_eq!(TemporalIndex::new(&store_of(&[], 0), Direction::In).vertices(), 0);
    let store = store_of(&[(0, 1, Time::MIN), (0, 1, Time::MAX)], 2);
    let index = TemporalIndex::new(&store, Direction::Out);
    assert_eq!(index.before(0, Time::MIN).len(), 0);
    assert_eq!(index.until(0, Time::MIN).len(), 1);
    assert_eq!(index.before(0, Time::MAX).len(), 1);
    assert_eq!(index.until(0, Time::MAX).len(), 2);
    assert_eq!(index.of(0).events().collect::<Vec<_>>(), [0, 1]);
}
