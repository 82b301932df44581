//! What must hold for every generator.

use super::*;
use crate::dataset::SnapshotDataset;
use crate::progress::Quiet;

/// The snapshots that a name makes.
pub(super) fn snapshots_of(name: &str) -> SnapshotDataset {
    match generate(name, &Quiet).unwrap().dataset {
        Dataset::Snapshots(data) => data,
        Dataset::Events(_) => panic!("{name} makes events"),
    }
}

/// The events that a name makes.
pub(super) fn events_of(name: &str) -> zoetrope_graph::EventStore {
    match generate(name, &Quiet).unwrap().dataset {
        Dataset::Events(store) => store,
        Dataset::Snapshots(_) => panic!("{name} makes snapshots"),
    }
}

/// Small enough for tests, large enough that parallel pieces are many.
const SMALL: [&str; 7] = [
    "synthetic:aml?accounts=800&events=40k&patterns=20",
    "synthetic:sbm?vertices=300&steps=6",
    "synthetic:non-uniform?vertices=2000&steps=20&edges=20000&edge-deviation=200&lifetime=9",
    "synthetic:bipartite?users=500&items=90&events=40k&features=3&labels=0.1",
    "synthetic:demo?vertices=60&steps=30",
    "synthetic:power-law?vertices=3000&steps=4&edges=12000&features=2&targets=neighbours",
    "synthetic:uniform?vertices=3000&steps=5&density=4",
];

#[test]
fn every_generator_has_a_small_case_here() {
    for generator in catalogue() {
        let start = format!("synthetic:{}?", generator.name);
        assert!(SMALL.iter().any(|name| name.starts_with(&start)), "{start}");
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    for name in SMALL {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generate(name, &Quiet).unwrap())
        };
        let single = with(1);
        assert!(single == with(2) && single == with(8), "{name}");
    }
}

#[test]
fn the_seed_changes_the_result_and_is_all_that_does() {
    for name in SMALL {
        let with = |seed: u32| generate(&format!("{name}&seed={seed}"), &Quiet).unwrap().dataset;
        assert!(with(1) == with(1), "{name}");
        assert!(with(1) != with(2), "{name}");
    }
}
