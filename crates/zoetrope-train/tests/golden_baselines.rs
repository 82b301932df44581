//! Baselines on real data sets against PyG-Temporal's loaders and scikit-learn; values from
//! `golden/baselines.py`.

use serde_json::Value;
use zoetrope_data::split::{Fractions, Split};
use zoetrope_data::{Dataset, Quiet, ReadOptions, SnapshotDataset};
use zoetrope_graph::{DiscretiseOptions, Origin, Windowing, Windows, discretise};
use zoetrope_nn::metrics::TieRule;
use zoetrope_testkit::shared_data;
use zoetrope_train::snapshots::baseline::{
    Comparison, compare_links, compare_links_with_all, compare_values, last_lag_column,
};
use zoetrope_train::snapshots::sampling::{LinkCandidates, LinkSampler, LinkSampling, LinkScores};

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/baselines.json")).unwrap()
}

fn opened(path: &str) -> Option<Dataset> {
    let path = shared_data(path)?;
    let name = path.to_str().unwrap();
    Some(zoetrope_data::open(name, &ReadOptions::default(), &Quiet).unwrap().dataset)
}

fn snapshots(path: &str) -> Option<SnapshotDataset> {
    match opened(path)? {
        Dataset::Snapshots(data) => Some(data),
        Dataset::Events(_) => panic!("{path} holds events"),
    }
}

#[track_caller]
fn assert_measures(found: &Comparison, expected: &Value, relative: f64) {
    for (name, expected) in expected.as_object().unwrap() {
        let measure = found.measures.iter().find(|(metric, _)| metric.to_string() == *name);
        let (got, expected) = (measure.unwrap().1.unwrap(), expected.as_f64().unwrap());
        let distance = (got - expected).abs();
        assert!(distance <= relative * expected, "{} {name}: {got}, not {expected}", found.name);
    }
}

#[test]
fn errors_of_persistence_and_mean_equal_those_on_the_loaders_samples() {
    for case in golden()["values"].as_array().unwrap() {
        let Some(data) = snapshots(case["path"].as_str().unwrap()) else { continue };
        let targets = data.with_lags(None).unwrap().targets.unwrap();
        let half_open = Fractions::new(0.8, 0.8).unwrap();
        let split = Split::by_snapshots(targets.steps(), half_open);
        let steps: Vec<usize> = split.test.collect();
        let found = compare_values(&targets, None, split.train.len(), &steps, None);
        for comparison in &found {
            // Values are rounded to f32 after standardisation, the loaders keep f64.
            assert_measures(comparison, &case[comparison.name], 1e-5);
        }
        assert_eq!(found.len(), 2);
    }
}

#[test]
fn the_previous_target_is_the_newest_lag() {
    for case in golden()["values"].as_array().unwrap() {
        let Some(data) = snapshots(case["path"].as_str().unwrap()) else { continue };
        let signal = data.signal.as_ref().unwrap();
        let column = last_lag_column(signal, signal.lags);
        assert_eq!(column.is_some(), case["last_lag"].as_bool().unwrap(), "{}", case["path"]);
        let Some(column) = column else { continue };
        let made = data.with_lags(None).unwrap();
        let (features, targets) = (made.features.unwrap(), made.targets.unwrap());
        for step in 1..targets.steps() {
            let newest = features.at(step).iter().skip(column).step_by(features.width());
            let previous = &targets.values()[(step - 1) * targets.vertices()..];
            assert!(newest.zip(previous).all(|(newest, previous)| newest == previous), "{step}");
        }
    }
}

#[test]
fn link_baselines_equal_scikit_learn_on_all_pairs_of_uci_messages() {
    let case = &golden()["links"];
    let Some(Dataset::Events(store)) = opened(case["path"].as_str().unwrap()) else { return };
    let windowing = Windowing::Width { width: "7d".parse().unwrap(), origin: Origin::FirstEvent };
    let windows = Windows::cut(&store, &windowing).unwrap();
    let sequence = discretise(&store, &windows, &DiscretiseOptions::default()).unwrap();
    assert_eq!(sequence.steps() as u64, case["snapshots"].as_u64().unwrap());
    let tested = case["tested"].as_u64().unwrap() as usize;
    let queries: Vec<usize> = (sequence.steps() - 1 - tested..sequence.steps() - 1).collect();
    let (mut all, scores) = (LinkCandidates::all(), LinkScores::new(TieRule::Average, &[10]));
    let mut sampler = LinkSampler::new(LinkSampling::default());
    let found = compare_links(&sequence, &queries, &mut [(&mut all, &scores)], &mut sampler);
    let found = &found[0];
    for comparison in found {
        assert_measures(comparison, &case["measured"][comparison.name], 1e-10);
    }
    assert_eq!(found.len(), 3);

    let by_step = compare_links_with_all(&sequence, &queries, TieRule::Average);
    for comparison in &by_step {
        assert_measures(comparison, &case["measured_by_step"][comparison.name], 1e-10);
    }
    assert_eq!(by_step.len(), 3);
}
