//! Measures against scikit-learn's, TGB's and EvolveGCN's; values from `golden/metrics.py`.

use serde_json::Value;
use zoetrope_nn::metrics::{
    BinaryScores, Classification, PositiveThresholds, Ranking, Regression, RowRanking, TieRule,
};

/// Both sides sum in f64, in different orders.
const RELATIVE: f64 = 1e-12;

fn golden(family: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("golden/metrics.json")).unwrap();
    all[family].as_array().unwrap().clone()
}

fn floats(values: &Value) -> Vec<f32> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect()
}

fn classes(values: &Value) -> Vec<u32> {
    values.as_array().unwrap().iter().map(|value| value.as_u64().unwrap() as u32).collect()
}

#[track_caller]
fn assert_close<E: std::fmt::Debug>(got: Result<f64, E>, expected: &Value, what: &Value) {
    let (got, expected) = (got.unwrap(), expected.as_f64().unwrap());
    let distance = (got - expected).abs();
    assert!(distance <= RELATIVE * expected.abs().max(1e-3), "{what}: {got}, not {expected}");
}

#[test]
fn errors_equal_those_of_scikit_learn() {
    for case in golden("regression") {
        let mut errors = Regression::default();
        errors.add(&floats(&case["predicted"]), &floats(&case["truth"]));
        for (metric, value) in errors.report() {
            assert_close(value, &case[metric.to_string()], &case["name"]);
        }
    }
}

#[test]
fn accuracy_and_f1_equal_those_of_scikit_learn() {
    for case in golden("classification") {
        let mut counts = Classification::new(case["classes"].as_u64().unwrap() as u32);
        counts.add(&classes(&case["predicted"]), &classes(&case["truth"]));
        let (f1, name) = (&case["f1"], &case["name"]);
        assert_close(counts.accuracy(), &case["accuracy"], name);
        assert_close(counts.f1_macro(), &f1["macro"], name);
        assert_close(counts.f1_micro(), &f1["micro"], name);
        assert_close(counts.f1_weighted(), &f1["weighted"], name);
        if case["classes"] == 2 {
            assert_close(counts.f1_of(1), &f1["binary"], name);
        }
    }
}

#[test]
fn average_precision_and_area_equal_those_of_scikit_learn() {
    for case in golden("scores") {
        let (scores, labels) = (floats(&case["scores"]), floats(&case["labels"]));
        let mut all = BinaryScores::default();
        all.add(&scores, &labels);
        let side = |wanted: f32| -> Vec<f32> {
            let pairs = scores.iter().zip(&labels);
            pairs.filter(|(_, label)| **label == wanted).map(|(&score, _)| score).collect()
        };
        let mut counted = PositiveThresholds::default();
        counted.begin(&side(1.0));
        counted.add_negatives(&side(0.0));
        for (metric, value) in all.report().into_iter().chain(counted.report()) {
            assert_close(value, &case[metric.to_string()], &case["name"]);
        }
    }
}

#[test]
fn ranks_equal_those_of_tgb_and_of_the_other_rules() {
    let rules = [
        ("optimistic", TieRule::Optimistic),
        ("pessimistic", TieRule::Pessimistic),
        ("average", TieRule::Average),
    ];
    for case in golden("ranking") {
        for (name, ties) in rules {
            let mut ranks = Ranking::new(ties, &[3]);
            ranks.add_rows(&floats(&case["positives"]), &floats(&case["negatives"]));
            for (metric, value) in ranks.report() {
                assert_close(value, &case["rules"][name][metric.to_string()], &case["name"]);
            }
        }
    }
}

#[test]
fn ranks_within_the_row_of_a_source_equal_those_of_evolvegcn() {
    for case in golden("rows") {
        let width = case["candidates"].as_u64().unwrap() as usize;
        let (scores, labels) = (floats(&case["scores"]), floats(&case["labels"]));
        let mut ranks = RowRanking::new(TieRule::Average);
        for (scores, labels) in scores.chunks(width).zip(labels.chunks(width)) {
            ranks.add(scores, labels);
        }
        assert_close(ranks.mrr(), &case["mrr"], &case["name"]);
    }
}
