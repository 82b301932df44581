//! Sampling allocates nothing once its buffers have grown, and any number of threads gives the same.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::sampler::{Choice, EqualTimes, Hops, Moment, Sampled, Sampler};
use zoetrope_graph::{Direction, EventId, EventStore, TemporalIndex, Time, TimeScale, VertexNames};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const VERTICES: u32 = 3_000;
const EVENTS: u64 = 60_000;

/// A stream with hubs, self-loops and many equal times.
fn stream() -> EventStore {
    let random = Random::new(3, 8);
    let vertex = |index| (random.unit(index).powi(3) * f64::from(VERTICES)) as u32;
    EventStore::new(
        (0..EVENTS).map(|event| vertex(2 * event)).collect(),
        (0..EVENTS).map(|event| vertex(2 * event + 1)).collect(),
        (0..EVENTS).map(|event| (event / 7) as Time).collect(),
        EventColumns::default(),
        TimeScale::STEPS,
        VertexNames::identity(VERTICES),
    )
    .expect("a stream")
}

/// Both ends of some events at their times.
fn ends(store: &EventStore, events: std::ops::Range<usize>, moments: &mut Vec<Moment>) {
    moments.clear();
    for event in events {
        for vertex in [store.src()[event], store.dst()[event]] {
            moments.push(Moment { vertex, time: store.time()[event], before: EventId::MAX });
        }
    }
}

fn sampler(choice: Choice) -> Sampler {
    Sampler { choice, neighbours: 10, equal_times: EqualTimes::Future, seed: 4 }
}

fn any_number_of_threads_samples_the_same(store: &EventStore, index: &TemporalIndex) {
    let mut moments = Vec::new();
    ends(store, 20_000..25_000, &mut moments);
    for choice in [Choice::Recent, Choice::Uniform] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("pool");
            let mut hops = Hops::default();
            pool.install(|| sampler(choice).sample_hops(index, &moments, 2, 1, &mut hops));
            hops.sampled().to_vec()
        };
        let single = on(1);
        assert!(single[1].len() > 100_000, "{}", single[1].len());
        assert!(single == on(2), "{choice:?} with 2 threads");
        assert!(single == on(8), "{choice:?} with 8 threads");
        // Nor does it matter how the moments are cut into batches.
        let (mut whole, mut part) = (Sampled::default(), Sampled::default());
        for batch in moments.chunks(777) {
            sampler(choice).sample(index, batch, 1, &mut part);
            whole.vertex.extend(&part.vertex);
            whole.event.extend(&part.event);
            whole.time.extend(&part.time);
        }
        assert!(whole.event == single[0].event && whole.vertex == single[0].vertex);
        assert!(whole.time == single[0].time);
    }
}

/// The requests that `work` makes the second time.
fn requests(mut work: impl FnMut()) -> usize {
    work();
    let before = ALLOCATOR.stats();
    work();
    let after = ALLOCATOR.stats();
    after.allocations + after.reallocations - before.allocations - before.reallocations
}

fn a_second_epoch_allocates_nothing(store: &EventStore, index: &TemporalIndex) {
    let (mut moments, mut hops) = (Vec::new(), Hops::default());
    for choice in [Choice::Recent, Choice::Uniform] {
        let epoch = || {
            // Short batches stay on one thread, long ones are cut.
            for batch in [100, 3_000] {
                for first in (0..30_000).step_by(batch) {
                    ends(store, first..first + batch, &mut moments);
                    sampler(choice).sample_hops(index, &moments, 2, 3, &mut hops);
                }
            }
        };
        assert_eq!(requests(epoch), 0, "{choice:?}");
    }
}

/// One test, because the counter of requests counts those of all threads.
#[test]
fn sampling_is_reproducible_and_allocates_nothing_in_the_steady_state() {
    let store = stream();
    let index = TemporalIndex::new(&store, Direction::Both);
    any_number_of_threads_samples_the_same(&store, &index);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| a_second_epoch_allocates_nothing(&store, &index));
    }
}
