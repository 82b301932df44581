use proptest::prelude::*;

use super::*;
use crate::events::{EventColumns, EventStore};
use crate::ids::VertexNames;
use crate::sampler::{Choice, Sampler};
use crate::temporal_index::{Direction, TemporalIndex};
use crate::time::TimeScale;

fn equal_times() -> impl Strategy<Value = EqualTimes> {
    prop_oneof![Just(EqualTimes::Future), Just(EqualTimes::Past)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Batch by batch: every event's ends are asked at its time, then the batch is inserted.
    #[test]
    fn a_stream_in_batches_gets_what_the_sampler_gives_before_each_batch(
        rows in proptest::collection::vec((0_u32..5, 0_u32..5, 0_i64..9), 0..90),
        neighbours in 0_usize..6, batch in 1_usize..20, equal_times in equal_times(),
    ) {
        let store = EventStore::new(
            rows.iter().map(|row| row.0).collect(),
            rows.iter().map(|row| row.1).collect(),
            rows.iter().map(|row| row.2).collect(),
            EventColumns::default(),
            TimeScale::STEPS,
            VertexNames::identity(5),
        ).unwrap();
        let index = TemporalIndex::new(&store, Direction::Both);
        let sampler = Sampler { choice: Choice::Recent, neighbours, equal_times, seed: 0 };
        let mut table = LastNeighbours::new(5, neighbours, equal_times);
        let (mut expected, mut found) = (Sampled::default(), Sampled::default());
        for round in 0..2 {
            for first in (0..store.len()).step_by(batch) {
                let events = first..store.len().min(first + batch);
                let mut moments = Vec::new();
                for event in events.clone() {
                    let (time, before) = (store.time()[event], first as EventId);
                    for vertex in [store.src()[event], store.dst()[event], 4] {
                        moments.push(Moment { vertex, time, before });
                    }
                }
                sampler.sample(&index, &moments, 0, &mut expected);
                table.sample(&moments, &mut found);
                prop_assert_eq!(&found, &expected, "round {}", round);
                for event in events.clone() {
                    let (src, dst) = (store.src()[event], store.dst()[event]);
                    table.insert(src, dst, store.time()[event], event as EventId);
                }
                for vertex in 0..5 {
                    let newest: Vec<_> = table.of(vertex).map(|entry| entry.event).collect();
                    let all = index.before_event(vertex, events.end as EventId).last(neighbours);
                    prop_assert_eq!(newest, all.events().collect::<Vec<_>>());
                }
            }
            table.clear();
            prop_assert_eq!(table.of(0).count(), 0);
        }
    }
}

#[test]
fn older_events_come_back_where_the_newest_time_is_asked() {
    let mut table = LastNeighbours::new(2, 2, EqualTimes::Future);
    for (event, time) in (0..).zip([1, 2, 3, 3, 3]) {
        table.insert(0, 1, time, event);
    }
    let events = |time| table.before(0, time).map(|entry| entry.event).collect::<Vec<_>>();
    assert_eq!(events(3), [0, 1]);
    assert_eq!(events(4), [3, 4]);
}

#[test]
#[should_panic(expected = "a question about the past of vertex 1")]
fn what_the_table_has_forgotten_cannot_be_asked() {
    let mut table = LastNeighbours::new(2, 2, EqualTimes::Past);
    table.insert(0, 1, 5, 0);
    let _ = table.before(1, 4).count();
}

#[test]
#[should_panic(expected = "events come in time order")]
fn an_event_out_of_order_is_refused() {
    let mut table = LastNeighbours::new(2, 2, EqualTimes::Future);
    table.insert(0, 1, 5, 0);
    table.insert(0, 1, 4, 1);
}
