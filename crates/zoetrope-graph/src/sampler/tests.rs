use proptest::prelude::*;

use super::*;
use crate::events::{EventColumns, EventStore};
use crate::ids::VertexNames;
use crate::temporal_index::Direction;
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

/// Neighbour, event and time of all events that a moment may see, by a scan of the whole stream.
fn seen(store: &EventStore, equal_times: EqualTimes, moment: Moment) -> Vec<(u32, u64, Time)> {
    let mut found = Vec::new();
    for (event, &time) in store.time().iter().enumerate() {
        let past = time < moment.time || (time == moment.time && equal_times == EqualTimes::Past);
        let (src, dst, number) = (store.src()[event], store.dst()[event], event as u64);
        if past && number < moment.before {
            if src == moment.vertex {
                found.push((dst, number, time));
            } else if dst == moment.vertex {
                found.push((src, number, time));
            }
        }
    }
    found
}

fn lists(sampled: &Sampled) -> Vec<Vec<(u32, u64, Time)>> {
    let entry = |at: usize| (sampled.vertex[at], sampled.event[at], sampled.time[at]);
    (0..sampled.moments()).map(|moment| sampled.of(moment).map(entry).collect()).collect()
}

fn rows() -> impl Strategy<Value = Vec<(u32, u32, Time)>> {
    // Few vertices and few times: self-loops, repeats and equal times are common.
    proptest::collection::vec((0_u32..6, 0_u32..6, -4_i64..5), 0..80)
}

fn moments() -> impl Strategy<Value = Vec<Moment>> {
    let before = prop_oneof![Just(EventId::MAX), 0_u64..90];
    let moment = (0_u32..6, -6_i64..7, before);
    let moment = moment.prop_map(|(vertex, time, before)| Moment { vertex, time, before });
    proptest::collection::vec(moment, 0..40)
}

fn equal_times() -> impl Strategy<Value = EqualTimes> {
    prop_oneof![Just(EqualTimes::Future), Just(EqualTimes::Past)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_newest_events_are_those_of_a_scan(
        rows in rows(), moments in moments(), equal_times in equal_times(),
        neighbours in 0_usize..7, wide: bool,
    ) {
        let store = store_of(&rows, 6);
        let index = TemporalIndex::of_width(&store, Direction::Both, wide);
        let sampler = Sampler { choice: Choice::Recent, neighbours, equal_times, seed: 0 };
        let mut sampled = Sampled::default();
        sampler.sample(&index, &moments, 0, &mut sampled);
        let found = lists(&sampled);
        prop_assert_eq!(found.len(), moments.len());
        for (found, &moment) in found.iter().zip(&moments) {
            let all = seen(&store, equal_times, moment);
            prop_assert_eq!(&found[..], &all[all.len().saturating_sub(neighbours)..]);
        }
    }

    #[test]
    fn drawn_events_are_distinct_seen_and_as_many_as_there_can_be(
        rows in rows(), moments in moments(), equal_times in equal_times(),
        neighbours in 0_usize..7, wide: bool, seed: u64, step: u32,
    ) {
        let store = store_of(&rows, 6);
        let index = TemporalIndex::of_width(&store, Direction::Both, wide);
        let sampler = Sampler { choice: Choice::Uniform, neighbours, equal_times, seed };
        let mut sampled = Sampled::default();
        sampler.sample(&index, &moments, step, &mut sampled);
        for (found, &moment) in lists(&sampled).iter().zip(&moments) {
            let all = seen(&store, equal_times, moment);
            prop_assert_eq!(found.len(), all.len().min(neighbours));
            prop_assert!(found.iter().all(|entry| all.contains(entry)));
            prop_assert!(found.is_sorted_by(|a, b| a.1 < b.1 && a.2 <= b.2));
            // Asked alone, a moment gets what it gets among others.
            let mut alone = Sampled::default();
            sampler.sample(&index, &[moment], step, &mut alone);
            prop_assert_eq!(&lists(&alone)[0], found);
        }
    }

    #[test]
    fn a_further_hop_asks_each_neighbour_at_the_time_of_its_event(
        rows in rows(), moments in moments(), equal_times in equal_times(),
        neighbours in 0_usize..4, uniform: bool, hops in 1_usize..4,
    ) {
        let store = store_of(&rows, 6);
        let index = TemporalIndex::new(&store, Direction::Both);
        let choice = if uniform { Choice::Uniform } else { Choice::Recent };
        let sampler = Sampler { choice, neighbours, equal_times, seed: 9 };
        // Buffers that have seen a larger question leave no trace.
        let mut found = Hops::default();
        sampler.sample_hops(&index, &[moments.clone(), moments.clone()].concat(), 3, 0, &mut found);
        sampler.sample_hops(&index, &moments, hops, 5, &mut found);
        prop_assert_eq!(found.sampled().len(), hops);
        let mut asked = moments;
        for hop in 0..hops {
            if hop > 0 {
                prop_assert_eq!(found.moments(hop), &asked[..]);
            }
            let mut once = Sampled::default();
            sampler.sample(&index, &asked, 5, &mut once);
            prop_assert_eq!(&found.sampled()[hop], &once);
            let mut next = Vec::new();
            for (list, moment) in lists(&once).iter().zip(&asked) {
                next.extend(list.iter().map(|&(vertex, _, time)| {
                    Moment { vertex, time, before: moment.before }
                }));
            }
            asked = next;
        }
    }
}

/// Unix time in nanoseconds: neighbouring doubles lie 256 ns apart, floats two minutes.
const NANOSECONDS: Time = 1_700_000_000_000_000_000;

#[test]
fn nanoseconds_that_floats_would_merge_are_told_apart() {
    let time = |nanoseconds: Time| NANOSECONDS + nanoseconds;
    assert_eq!(time(0) as f64, time(3) as f64);
    assert_eq!(time(0) as f32, time(1_000_000_000) as f32);
    // Given out of order, so that sorting must tell them apart as well.
    let rows = [(0, 3, time(3)), (0, 1, time(1)), (0, 4, time(1_000_000_000)), (0, 2, time(2))];
    let index = TemporalIndex::new(&store_of(&rows, 5), Direction::Both);
    for choice in [Choice::Recent, Choice::Uniform] {
        for (equal_times, expected) in [
            (EqualTimes::Future, [&[][..], &[1], &[1, 2], &[1, 2, 3]]),
            (EqualTimes::Past, [&[1][..], &[1, 2], &[1, 2, 3], &[1, 2, 3]]),
        ] {
            let sampler = Sampler { choice, neighbours: 3, equal_times, seed: 1 };
            let moments =
                [1, 2, 3, 4].map(|at| Moment { vertex: 0, time: time(at), before: EventId::MAX });
            let mut sampled = Sampled::default();
            sampler.sample(&index, &moments, 0, &mut sampled);
            for (moment, expected) in expected.iter().enumerate() {
                assert_eq!(&sampled.vertex[sampled.of(moment)], *expected, "{equal_times:?}");
            }
        }
    }
}

#[test]
fn the_ends_of_the_time_axis_can_be_asked() {
    let rows = [(0, 1, Time::MIN), (0, 1, 0), (1, 0, Time::MAX)];
    let index = TemporalIndex::new(&store_of(&rows, 2), Direction::Both);
    let moments = [Time::MIN, Time::MAX].map(|time| Moment { vertex: 0, time, before: 9 });
    for (equal_times, counts) in [(EqualTimes::Future, [0, 2]), (EqualTimes::Past, [1, 3])] {
        let sampler = Sampler { choice: Choice::Recent, neighbours: 8, equal_times, seed: 0 };
        let mut sampled = Sampled::default();
        sampler.sample(&index, &moments, 0, &mut sampled);
        assert_eq!([sampled.of(0).len(), sampled.of(1).len()], counts);
    }
}
