use zoetrope_config::{Config, TaskName};
use zoetrope_data::negatives::MISSING;

use super::*;
use zoetrope_data::split::{Fractions, Split};

#[test]
fn pooled_measures_do_not_depend_on_batches_and_batch_means_do() {
    let positives = [0.9f32, 0.4, 0.8, 0.3];
    let negatives = [0.5f32, 0.6, 0.7, 0.1];
    let judged = |size: usize| {
        let mut judge = LinkJudge::new(&[1]);
        for (positives, negatives) in positives.chunks(size).zip(negatives.chunks(size)) {
            judge.add_batch(ScoredBatch { positives, negatives, ..ScoredBatch::default() });
        }
        judge.metrics()
    };
    let (whole, halves) = (judged(4), judged(2));
    // Of 16 couples, those that a positive wins: 4 + 1 + 4 + 1.
    assert_eq!((whole["auc"], whole["auc_batch_mean"]), (0.625, 0.625));
    assert_eq!((halves["auc"], halves["ap"]), (whole["auc"], whole["ap"]));
    // Of 4 couples each: 2 and 3.
    assert_eq!(halves["auc_batch_mean"], (0.5 + 0.75) / 2.0);
    assert!(!whole.contains_key("mrr") && !whole.contains_key("inductive_ap"));
}

#[test]
fn inductive_and_transductive_events_are_told_apart() {
    let mut judge = LinkJudge::new(&[1, 1, 3]);
    let scored = ScoredBatch {
        positives: &[0.9, 0.1],
        negatives: &[0.5, 0.5],
        negative_dst: &[],
        inductive: &[true, false],
    };
    judge.add_batch(scored);
    judge.add_ranks(scored);
    let metrics = judge.metrics();
    assert_eq!((metrics["inductive_auc"], metrics["transductive_auc"]), (1.0, 0.0));
    assert_eq!((metrics["inductive_mrr"], metrics["transductive_mrr"]), (1.0, 0.5));
    assert_eq!((metrics["hits@1"], metrics["hits@3"], metrics["mrr"]), (0.5, 1.0, 0.75));
    assert_eq!(judge.counts()["inductive_events"], 1);
    judge.begin();
    assert!(judge.metrics().is_empty());
}

#[test]
fn missing_negatives_are_left_out_and_equal_scores_share_their_mean_rank() {
    let mut judge = LinkJudge::new(&[1]);
    judge.add_ranks(ScoredBatch {
        positives: &[0.5, 0.5],
        negatives: &[0.5, 0.5, 0.9, f32::NAN],
        negative_dst: &[1, 2, 3, MISSING],
        inductive: &[],
    });
    assert_eq!(judge.metrics()["mrr"], 0.5);
    assert_eq!(judge.counts()["missing_negatives"], 1);
    judge.begin();
    // An event that has no negative at all would always be first.
    judge.add_ranks(ScoredBatch {
        positives: &[0.5],
        negatives: &[0.1],
        negative_dst: &[MISSING],
        inductive: &[],
    });
    assert!(judge.metrics()["mrr"].is_nan());
    assert_eq!(judge.counts()["events_without_negatives"], 1);
}

#[test]
fn what_is_not_defined_is_not_a_number() {
    let mut judge = LinkJudge::new(&[]);
    let batch = ScoredBatch {
        positives: &[f32::NAN],
        negatives: &[0.0],
        negative_dst: &[],
        inductive: &[false],
    };
    judge.add_batch(batch);
    judge.add_ranks(batch);
    let metrics = judge.metrics();
    for name in ["ap", "auc", "ap_batch_mean", "auc_batch_mean", "inductive_ap", "mrr"] {
        assert!(metrics[name].is_nan(), "{name}");
    }
}

#[test]
fn two_classes_may_have_one_score_or_two() {
    let truth = [0.0, 1.0, 1.0, f32::NAN];
    let (mut one, mut two) = (ClassJudge::new(2), ClassJudge::new(2));
    one.add(&[-1.0, 2.0, -3.0, 0.0], &truth);
    two.add(&[1.0, 0.0, 0.0, 2.0, 1.0, -2.0, 0.0, 0.0], &truth);
    assert_eq!(one.metrics(), two.metrics());
    assert_eq!((one.metrics()["auc"], one.metrics()["accuracy"]), (0.5, 2.0 / 3.0));
    let mut three = ClassJudge::new(3);
    three.add(&[0.0, 1.0, 0.0], &[1.0]);
    assert!(!three.metrics().contains_key("auc"));
    assert_eq!(three.metrics()["accuracy"], 1.0);
    let mut values = ValueJudge::default();
    values.add(&[1.0, 2.0], &[3.0, f32::NAN]);
    assert_eq!((values.metrics()["mse"], values.metrics()["mae"]), (4.0, 2.0));
}

#[test]
fn the_declaration_names_what_a_figure_depends_on() {
    let set = |settings: &[&str]| {
        let layers = settings.iter().fold(Config::builder(), |layers, text| layers.set(text));
        layers.build().unwrap()
    };
    let split = Split::by_snapshots(100, Fractions::default());
    let seen = ["amount".to_owned()];
    let declared = |config: &Config, task| {
        let protocol = StreamProtocol {
            config,
            task,
            split: &split,
            training_events: 70,
            held_out: 0,
            unseen: 3,
            batch_size: 200,
            fixed: None,
            own_features: &seen,
            class_weights: serde_json::Value::Null,
        };
        protocol.declare()
    };
    let config = set(&["model.name=tgn", "task.neighbours=batch-stale", "task.pool=all"]);
    let links = declared(&config, TaskName::LinkPrediction);
    assert_eq!(links["neighbours"]["rule"], "batch-stale");
    assert_eq!(links["neighbours"]["equal_times"], "future");
    assert_eq!(links["memory"]["equal_times"], "future");
    let knows = |rule: &str| {
        let config = set(&["model.name=jodie", &format!("task.equal_times={rule}")]);
        declared(&config, TaskName::LinkPrediction)["memory"]["knows"].to_string()
    };
    assert!(knows("future").contains("strictly before"), "{}", knows("future"));
    assert!(knows("batch").contains("earlier batches"), "{}", knows("batch"));
    assert!(knows("past").contains("earlier batches"), "{}", knows("past"));
    assert_eq!(links["task"]["ap_and_auc"]["negatives"]["pool"]["name"], "all");
    assert_eq!(links["task"]["mrr_and_hits"]["negatives"]["per_event"], 100);
    assert_eq!(links["task"]["ap_and_auc"]["ap_batch_mean, auc_batch_mean"]["batch_size"], 200);
    assert_eq!(links["split"]["test"], serde_json::json!([85, 100]));
    let edges = declared(&config, TaskName::EdgeClassification);
    assert_eq!(edges["task"]["own_features"]["columns"], serde_json::json!(["amount"]));
    assert!(links["task"]["own_features"].is_null());
    let without = declared(&set(&["model.name=tgat"]), TaskName::NodeClassification);
    assert!(without["memory"].is_null());
    assert!(
        declared(&set(&["model.name=jodie"]), TaskName::LinkPrediction)["neighbours"].is_null()
    );
}
