//! Splits against NumPy, and the promise that training does not see the future.

use proptest::prelude::*;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{TimeScale, VertexNames};

use super::*;

fn store(events: &[(u32, u32, Time)], vertices: u32) -> EventStore {
    let column = |pick: fn(&(u32, u32, Time)) -> u32| events.iter().map(pick).collect();
    EventStore::new(
        column(|event| event.0),
        column(|event| event.1),
        events.iter().map(|event| event.2).collect(),
        EventColumns::default(),
        TimeScale::SECONDS,
        VertexNames::identity(vertices),
    )
    .unwrap()
}

fn at_times(times: Vec<Time>) -> EventStore {
    store(&times.into_iter().map(|time| (0, 1, time)).collect::<Vec<_>>(), 2)
}

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    wikipedia: Parts,
}

#[derive(Deserialize)]
struct Case {
    first: Time,
    gaps: Option<Vec<Time>>,
    every: Option<Time>,
    count: usize,
    fractions: [f64; 2],
    #[serde(flatten)]
    parts: Parts,
}

#[derive(Deserialize)]
struct Parts {
    boundaries: [f64; 2],
    train: usize,
    validation: usize,
    test: usize,
}

impl Case {
    fn times(&self) -> Vec<Time> {
        let mut times = vec![self.first];
        if let Some(every) = self.every {
            let index = 0..self.count as Time;
            times = index.map(|i| self.first + every * i + i * i % 7).collect();
        }
        for gap in self.gaps.iter().flatten() {
            times.push(times[times.len() - 1] + gap);
        }
        times
    }
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../tests/golden/split.json")).unwrap()
}

fn check(split: &Split, expected: &Parts) {
    let sizes = [&split.train, &split.validation, &split.test].map(|part| part.len());
    assert_eq!(sizes, [expected.train, expected.validation, expected.test]);
    let floors = expected.boundaries.map(|boundary| boundary.floor() as Time);
    assert_eq!(split.boundaries, Some(floors));
}

#[test]
fn splits_agree_with_numpy_quantiles() {
    let golden = golden();
    assert!(golden.cases.len() > 200);
    for case in &golden.cases {
        let [train_end, validation_end] = case.fractions;
        let fractions = Fractions::new(train_end, validation_end).unwrap();
        check(&Split::by_time(&at_times(case.times()), fractions), &case.parts);
    }
}

#[test]
fn wikipedia_splits_into_the_published_counts() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/wikipedia/wikipedia.csv.gz");
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(file)).unwrap();
    let time = |line: &str| line.split(',').nth(2).unwrap().parse::<f64>().unwrap() as Time;
    let store = at_times(text.lines().skip(1).map(time).collect());
    let split = Split::by_time(&store, Fractions::default());
    check(&split, &golden().wikipedia);
    assert_eq!(split.train.len(), 110_232, "the figure that peers report");
}

#[test]
fn snapshots_split_as_pyg_temporal_does() {
    let split = Split::by_snapshots(61, Fractions::new(0.8, 0.8).unwrap());
    assert_eq!((split.train, split.validation, split.test), (0..48, 48..48, 48..61));
    let split = Split::by_snapshots(100, Fractions::default());
    assert_eq!((split.train, split.validation, split.test), (0..70, 70..85, 85..100));
    let split = Split::by_snapshots(0, Fractions::default());
    assert_eq!((split.train, split.validation, split.test), (0..0, 0..0, 0..0));
}

#[test]
fn fractions_out_of_order_or_range_are_refused() {
    for (train, validation) in [(0.9, 0.8), (-0.1, 0.5), (0.5, 1.1), (f64::NAN, 0.5)] {
        assert!(Fractions::new(train, validation).is_err());
    }
}

#[test]
fn an_empty_stream_has_three_empty_parts() {
    let split = Split::by_time(&store(&[], 0), Fractions::default());
    assert_eq!((split.train.len(), split.test.len(), split.boundaries), (0, 0, None));
}

#[test]
fn held_out_vertices_are_counted_against_all_that_occur() {
    // 20 vertices in pairs, every pair once in each tenth of the time.
    let events: Vec<_> =
        (0..100).map(|event| (event % 10, 10 + event % 10, Time::from(event))).collect();
    let store = store(&events, 25);
    let split = Split::by_time(&store, Fractions::default());
    let inductive = InductiveSplit::new(&store, split, 0.1, 7).unwrap();
    assert_eq!(inductive.held_out.len(), 2, "a tenth of the 20 that occur, not of the 25");
    let mask = inductive.mask(&store, inductive.split.test.clone(), |n| n != Novelty::OldOld);
    assert!(mask.contains(&true) && mask.contains(&false));
}

fn streams() -> impl Strategy<Value = Vec<(u32, u32, Time)>> {
    prop::collection::vec((0u32..30, 0u32..30, -50i64..50), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn training_never_reaches_past_its_boundary(
        events in streams(), fractions in (0.0f64..=1.0, 0.0f64..=1.0)
    ) {
        let store = store(&events, 30);
        let (low, high) = (fractions.0.min(fractions.1), fractions.0.max(fractions.1));
        let split = Split::by_time(&store, Fractions::new(low, high).unwrap());
        let [left, right] = split.boundaries.unwrap();
        prop_assert_eq!(split.train.start, 0);
        prop_assert_eq!(split.train.end, split.validation.start);
        prop_assert_eq!(split.validation.end, split.test.start);
        prop_assert_eq!(split.test.end, store.len());
        prop_assert!(store.time()[split.train].iter().all(|&time| time <= left));
        prop_assert!(store.time()[split.validation].iter().all(|&t| left < t && t <= right));
        prop_assert!(store.time()[split.test].iter().all(|&time| right < time));
    }

    #[test]
    fn no_training_event_touches_a_vertex_held_out(
        events in streams(), fraction in 0.0f64..=1.0, seed: u64
    ) {
        let store = store(&events, 30);
        let split = Split::by_time(&store, Fractions::default());
        let whole = split.train.clone();
        let inductive = InductiveSplit::new(&store, split, fraction, seed).unwrap();
        for &vertex in &inductive.held_out {
            prop_assert!(inductive.unseen[vertex as usize]);
            let later = inductive.split.validation.start..store.len();
            let ends = |event: usize| [store.src()[event], store.dst()[event]];
            prop_assert!(later.into_iter().any(|event| ends(event).contains(&vertex)));
        }
        let touches = |event: usize| {
            inductive.novelty(store.src()[event], store.dst()[event]) != Novelty::OldOld
        };
        prop_assert!(inductive.train.iter().all(|&event| !touches(event)));
        prop_assert!(inductive.train.iter().all(|event| whole.contains(event)));
        // What was removed was removed for a reason.
        let hidden = |vertex| inductive.held_out.binary_search(&vertex).is_ok();
        let kept = whole.filter(|&event| {
            !hidden(store.src()[event]) && !hidden(store.dst()[event])
        });
        prop_assert_eq!(kept.collect::<Vec<_>>(), inductive.train);
    }
}
