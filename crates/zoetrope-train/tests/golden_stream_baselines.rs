//! Baselines on a real stream of events against numpy and scikit-learn; values from
//! `golden/stream_baselines.py`.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;
use zoetrope_config::EqualTimesRule;
use zoetrope_data::negatives::{Negative, NegativeOptions, NegativeSampler};
use zoetrope_data::split::{Fractions, Part, Split};
use zoetrope_data::{Dataset, Quiet, ReadOptions};
use zoetrope_graph::EventStore;
use zoetrope_run::Metrics;
use zoetrope_testkit::shared_data;
use zoetrope_train::events::baseline::{
    LabelStream, LinkBaselineOptions, LinkBaselines, Past, compare_classes, compare_values,
};

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/stream_baselines.json")).unwrap()
}

fn events(path: &str) -> Option<EventStore> {
    let path = shared_data(path)?;
    let name = path.to_str().unwrap();
    match zoetrope_data::open(name, &ReadOptions::default(), &Quiet).unwrap().dataset {
        Dataset::Events(store) => Some(store),
        Dataset::Snapshots(_) => panic!("{name} holds snapshots"),
    }
}

#[track_caller]
fn assert_measures(found: &BTreeMap<String, Metrics>, expected: &Value) {
    assert_eq!(found.len(), expected.as_object().unwrap().len());
    for (baseline, expected) in expected.as_object().unwrap() {
        for (name, expected) in expected.as_object().unwrap() {
            let (got, expected) = (found[baseline][name], expected.as_f64().unwrap());
            // Both sum in double precision, in different orders.
            let near = (got - expected).abs() <= 1e-10 * expected.abs().max(1.0);
            assert!(near, "{baseline} {name}: {got}, not {expected}");
        }
    }
}

/// The vertices that no training event touches.
fn unseen(store: &EventStore, training: usize) -> Vec<bool> {
    let mut unseen = vec![true; store.vertices() as usize];
    for &vertex in store.src()[..training].iter().chain(&store.dst()[..training]) {
        unseen[vertex as usize] = false;
    }
    unseen
}

#[test]
fn link_baselines_equal_scikit_learn_on_uci_messages() {
    let case = golden();
    let Some(store) = events(case["path"].as_str().unwrap()) else { return };
    let number = |key: &str| case[key].as_u64().unwrap() as usize;
    assert_eq!(store.len(), number("events"));
    let (first, many) = (store.len() - number("judged"), number("many"));
    let unseen = unseen(&store, (0.7 * store.len() as f64) as usize);
    let options = LinkBaselineOptions {
        window: Past::duration(&store, first..store.len()),
        equal_times: EqualTimesRule::Future,
        places: &[1, 3, 10],
        unseen: &unseen,
    };
    let negative = |event: usize, place: usize| Negative {
        src: store.src()[event],
        dst: store.dst()[(event * 7919 + place * 104_729 + 13) % first],
    };
    let mut baselines = LinkBaselines::new(&store, options);
    for start in (first..store.len()).step_by(number("batch")) {
        let batch = start..(start + number("batch")).min(store.len());
        let few: Vec<Negative> = batch.clone().map(|event| negative(event, 0)).collect();
        let rows = batch.clone().flat_map(|event| (1..=many).map(move |place| (event, place)));
        let many: Vec<Negative> = rows.map(|(event, place)| negative(event, place)).collect();
        baselines.judge(batch, &few, &many);
    }
    assert_measures(&baselines.metrics(), &case["links"]["measured"]);
}

#[test]
fn baselines_of_classes_and_values_equal_scikit_learn_on_uci_messages() {
    let case = golden();
    let Some(store) = events(case["path"].as_str().unwrap()) else { return };
    let (mut of_source, mut of_pair) = (BTreeMap::new(), BTreeMap::new());
    let (mut classes, mut values) = (Vec::new(), Vec::new());
    let (mut vertices, mut pairs) = (Vec::new(), Vec::new());
    for (event, (&src, &dst)) in store.src().iter().zip(store.dst()).enumerate() {
        let (source, pair) =
            (of_source.entry(src).or_insert(0), of_pair.entry((src, dst)).or_insert(0));
        classes.push(if *source % 3 == 0 { 1.0 } else { 0.0 });
        values.push(((event * 37 % 101) as f64 / 8.0 + f64::from(*pair)) as f32);
        (*source, *pair) = (*source + 1, *pair + 1);
        vertices.push(u64::from(src));
        pairs.push(u64::from(src) << 32 | u64::from(dst));
    }
    let asked = store.len() - case["judged"].as_u64().unwrap() as usize..store.len();
    let training = 0..(0.7 * store.len() as f64) as usize;
    let equal_times = EqualTimesRule::Future;
    let stream = LabelStream { time: store.time(), truth: &classes, key: &vertices, equal_times };
    let found = compare_classes(stream, training.clone(), asked.clone(), 2);
    assert_measures(&found, &case["classes"]);
    let stream = LabelStream { truth: &values, key: &pairs, ..stream };
    assert_measures(&compare_values(stream, training, asked), &case["values"]);
}

#[test]
#[ignore = "a time, for a machine that does nothing else"]
fn the_test_split_of_wikipedia_with_100_candidates_takes_two_seconds_at_most() {
    let Some(store) = events("wikipedia/wikipedia.csv.gz") else { return };
    let split = Split::by_time(&store, Fractions::default());
    let few = NegativeOptions::default();
    let many = NegativeOptions { per_event: 100, ..few };
    let sampler = |options| NegativeSampler::new(&store, &split, Part::Test, options).unwrap();
    let (few, many) = (sampler(few), sampler(many));
    let draw = |sampler: &NegativeSampler<'_>, batch: std::ops::Range<usize>, width: usize| {
        let mut drawn = vec![Negative::default(); batch.len() * width];
        for (event, row) in batch.zip(drawn.chunks_mut(width)) {
            sampler.draw(0, event, row);
        }
        drawn
    };
    let unseen = unseen(&store, split.train.end);
    let test = split.test.clone();
    let options = LinkBaselineOptions {
        window: Past::duration(&store, test.clone()),
        equal_times: EqualTimesRule::Future,
        places: &[1, 3, 10],
        unseen: &unseen,
    };
    let batches: Vec<_> =
        test.clone().step_by(200).map(|start| start..(start + 200).min(test.end)).collect();
    let drawn: Vec<_> = batches
        .iter()
        .map(|batch| (draw(&few, batch.clone(), 1), draw(&many, batch.clone(), 100)))
        .collect();
    let begun = Instant::now();
    let mut baselines = LinkBaselines::new(&store, options);
    for (batch, (few, many)) in batches.iter().zip(&drawn) {
        baselines.judge(batch.clone(), few, many);
    }
    let metrics = baselines.metrics();
    let seconds = begun.elapsed().as_secs_f64();
    println!("{seconds:.3} s for {} events: {metrics:#?}", test.len());
    assert!(seconds < 2.0, "{seconds} s");
}
