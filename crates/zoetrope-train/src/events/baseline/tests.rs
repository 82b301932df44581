use proptest::prelude::*;
use zoetrope_config::EqualTimesRule;
use zoetrope_data::negatives::{MISSING, Negative};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, TimeScale, VertexNames};

use super::*;

type Row = (u32, u32, i64);

const VERTICES: u32 = 5;

fn store(rows: &[Row]) -> EventStore {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.2);
    let src = rows.iter().map(|row| row.0).collect();
    let dst = rows.iter().map(|row| row.1).collect();
    let time = rows.iter().map(|row| row.2).collect();
    let names = VertexNames::identity(VERTICES);
    EventStore::new(src, dst, time, EventColumns::default(), TimeScale::STEPS, names).unwrap()
}

/// The scores of all pairs, asked at an event.
fn scores(store: &EventStore, event: usize, equal: EqualTimesRule) -> Vec<[f32; 5]> {
    let mut past = Past::new(store, 3, equal);
    past.advance(event);
    let pairs = (0..VERTICES).flat_map(|src| (0..VERTICES).map(move |dst| (src, dst)));
    pairs.map(|(src, dst)| past.scores(src, dst, store.time()[event])).collect()
}

#[test]
fn scores_are_those_of_the_past_and_windows_forget() {
    let store = store(&[(0, 1, 0), (0, 2, 5), (3, 2, 6), (0, 1, 9), (0, 1, 9)]);
    let of = |event: usize, equal| {
        let mut past = Past::new(&store, 4, equal);
        past.advance(event);
        let time = store.time()[event];
        (past.scores(0, 1, time), past.scores(0, 2, time))
    };
    let (first, second) = of(3, EqualTimesRule::Future);
    assert_eq!(first, [1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(second, [1.0, 1.0, 2.0, 2.0, 1.0]);
    // Of two events at one time, the second knows the first if equal times are past.
    assert_eq!(of(4, EqualTimesRule::Future), (first, second));
    assert_eq!(of(4, EqualTimesRule::Past).0, [1.0, 1.0, 2.0, 1.0, 1.0]);
}

#[test]
fn missing_negatives_count_nowhere() {
    let store = store(&[(0, 1, 0), (0, 1, 1), (0, 2, 2)]);
    let options = LinkBaselineOptions {
        window: 10,
        equal_times: EqualTimesRule::Future,
        places: &[1],
        unseen: &[],
    };
    let judged = |negatives: &[Negative]| {
        let mut baselines = LinkBaselines::new(&store, options);
        baselines.judge(1..3, negatives, negatives);
        baselines.metrics()
    };
    let of = |dst| Negative { src: 0, dst };
    // The second negative of the last event would outrank it: EdgeBank knows the pair (0, 1).
    let found = judged(&[of(3), of(4), of(3), of(MISSING)]);
    assert_eq!(found["edgebank"]["mrr"], (1.0 + 1.0 / 1.5) / 2.0);
    let found = judged(&[of(3), of(4), of(3), of(1)]);
    assert_eq!(found["edgebank"]["mrr"], (1.0 + 1.0 / 2.5) / 2.0);
}

#[test]
fn the_last_label_of_a_vertex_is_not_that_of_its_own_time() {
    let stream = LabelStream {
        time: &[0, 1, 2, 2, 3],
        truth: &[1.0, 0.0, 1.0, 0.0, f32::NAN],
        key: &[7, 7, 8, 8, 8],
        equal_times: EqualTimesRule::Future,
    };
    // Training has one of each class: the lower one. Nothing is known of 8 at time 2.
    let found = compare_classes(stream, 0..2, 2..5, 2);
    assert_eq!(found["last_label"]["accuracy"], 0.5);
    assert_eq!(found["majority_class"]["accuracy"], 0.5);
    let known = LabelStream { equal_times: EqualTimesRule::Past, ..stream };
    assert_eq!(compare_classes(known, 0..2, 2..5, 2)["last_label"]["accuracy"], 0.0);
    assert_eq!(compare_values(stream, 0..2, 2..5)["historical_mean"]["mae"], 0.5);
}

proptest! {
    #[test]
    fn no_score_knows_what_comes_later(
        rows in prop::collection::vec((0..VERTICES, 0..VERTICES, 0i64..12), 2..40),
        other in prop::collection::vec((0..VERTICES, 0..VERTICES), 40),
        at in any::<prop::sample::Index>(),
        past in any::<bool>(),
    ) {
        let equal = if past { EqualTimesRule::Past } else { EqualTimesRule::Future };
        let now = store(&rows);
        let event = at.index(now.len());
        let known = |other: usize| match equal {
            EqualTimesRule::Future | EqualTimesRule::Batch => now.time()[other] < now.time()[event],
            EqualTimesRule::Past => other < event,
        };
        let changed: Vec<Row> = (0..now.len())
            .map(|row| if known(row) { (now.src()[row], now.dst()[row], now.time()[row]) } else { (other[row].0, other[row].1, now.time()[row]) })
            .collect();
        prop_assert_eq!(scores(&store(&changed), event, equal), scores(&now, event, equal));
        let kept: Vec<Row> = changed.iter().copied().take(event + 1).collect();
        prop_assert_eq!(scores(&store(&kept), event, equal), scores(&now, event, equal));
    }
}
