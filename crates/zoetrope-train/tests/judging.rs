//! Where answers are judged changes no metric: on several ranks, of which each judges some snapshots, and on a
//! GPU, which keeps the embeddings.

mod gpu;

use std::collections::BTreeMap;

use gpu::has_gpu;
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_data::split::Part;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_run::{Metrics, Timeline};
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Baselines, EpochEnd, Epochs, Evaluation, TrainingRun};

/// Parts of five snapshots and more, which two, three and four ranks do not share evenly.
const ALWAYS: &str = "data.split=0.5/0.25/0.25 train.frame=4 model.hidden=6 train.epochs=1";
const LINKS: &str = "data.path=synthetic:sbm?vertices=50&steps=22&communities=3&seed=4 \
    task.name=link-prediction task.candidates=20";
const ALL_LINKS: &str = "task.all_pairs=true";
const EDGES: &str = "data.path=synthetic:aml?accounts=64&days=26&events=2600&patterns=4 data.window=1d \
    task.name=edge-classification";
const NODES: &str = "data.path=synthetic:power-law?vertices=60&steps=22&edges=200&features=3&targets=neighbours \
    task.name=node-regression";

/// A session of settings that stand in texts, separated by spaces.
fn session(settings: &[&str], ranks: Option<Ranks>) -> Session {
    let all = [&[ALWAYS], settings].concat();
    let all = all.iter().flat_map(|text| text.split_whitespace());
    let config = all.fold(Config::builder(), |builder, setting| builder.set(setting));
    let config = config.build().unwrap();
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    Session::start_shared(config, material, None, Timeline::new(), ranks).unwrap()
}

/// The metrics of what was not learned from, of weights as they are drawn.
fn metrics(settings: &[&str], ranks: Option<Ranks>) -> Metrics {
    let mut session = session(settings, ranks);
    let [mut all, test] =
        [Part::Validation, Part::Test].map(|part| session.evaluate(part).unwrap());
    all.extend(test.into_iter().map(|(name, value)| (format!("test_{name}"), value)));
    all
}

fn by_threads(size: usize, settings: &'static [&'static str]) -> Vec<Metrics> {
    let judged = threads::run(size, Timeouts::default(), move |ranks| {
        Ok::<_, TrainError>(metrics(settings, Some(ranks)))
    });
    judged.unwrap()
}

/// Metrics by their bits.
fn bits(metrics: &Metrics) -> Vec<(&String, u64)> {
    metrics.iter().map(|(name, value)| (name, value.to_bits())).collect()
}

#[test]
fn ranks_that_judge_in_turn_have_the_metrics_of_one_rank() {
    const CASES: [&[&str]; 6] = [
        &["model.name=cd-gcn", LINKS, ALL_LINKS, "plan.strategy=snapshot"],
        &["model.name=cd-gcn", LINKS, ALL_LINKS, "plan.strategy=hypergraph"],
        &["model.name=tm-gcn", EDGES, "plan.strategy=snapshot"],
        &["model.name=cd-gcn", NODES, "plan.strategy=snapshot"],
        &["model.name=mpnn-lstm train.batch_size=4", LINKS, "plan.strategy=frames"],
        &[
            "model.name=tgcn train.batch_size=4 model.decoder=dot",
            LINKS,
            ALL_LINKS,
            "plan.strategy=frames",
        ],
    ];
    for case in CASES {
        let (own, strategy) = case.split_at(case.len() - 1);
        let alone = metrics(own, None);
        assert!(alone.len() >= 6 && alone.values().any(|value| *value > 0.0), "{alone:?}");
        for size in [2, 3, 4] {
            for found in by_threads(size, case) {
                if strategy[0] != "plan.strategy=hypergraph" {
                    assert_eq!(bits(&found), bits(&alone), "{case:?} by {size}");
                    continue;
                }
                // Rows that come from others are summed in another order, which may swap two scores that
                // are nearly equal: among 100 links that moves a mean of ranks by less than a hundredth.
                for (name, value) in &alone {
                    assert!((found[name] - value).abs() < 1e-2, "{name} of {case:?} by {size}");
                }
            }
        }
    }
}

/// The metrics of the validation part after an epoch.
fn after_an_epoch(settings: &[&str]) -> Metrics {
    let mut session = session(&[&[LINKS], settings].concat(), None);
    match session.epoch(&mut Unobserved).unwrap() {
        EpochEnd::Finished(record) => record.val,
        EpochEnd::Interrupted => panic!("nobody asked for an end"),
    }
}

#[test]
fn links_are_ranked_after_an_epoch_only_if_ranks_choose_the_best_one() {
    let named = |metrics: &Metrics, name: &str| metrics.keys().any(|key| key.starts_with(name));
    let usual = after_an_epoch(&[]);
    assert!(named(&usual, "ap") && named(&usual, "accuracy"), "{usual:?}");
    assert!(!named(&usual, "mrr") && !named(&usual, "hits"), "{usual:?}");
    for (watched, name) in [("task.metric=mrr", "mrr"), ("task.metric=hits", "hits@10")] {
        assert!(after_an_epoch(&[watched])[name] > 0.0, "{watched}");
    }
}

#[test]
fn rules_that_are_judged_beside_the_model_reach_what_they_reach_alone() {
    // A dot product cannot rank links while it draws; the parts that come first are judged with fewer snapshots
    // than the rules are asked about.
    for model in ["", "model.decoder=dot", "task.candidates=60", "task.all_pairs=true"] {
        for part in [Part::Train, Part::Validation, Part::Test] {
            let mut apart = session(&[LINKS, model], None);
            let expected = (apart.evaluate(part).unwrap(), apart.baselines(part).unwrap());
            let mut beside = session(&[LINKS, model], None);
            beside.begin_baselines(part);
            let found = (beside.evaluate(part).unwrap(), beside.baselines(part).unwrap());
            assert!(expected.1.len() == 3 && expected.1["popularity"]["mrr"] > 0.0, "{expected:?}");
            assert_eq!(bits(&found.0), bits(&expected.0), "{model} on {part:?}");
            let rules = |found: &BTreeMap<String, Metrics>| {
                found.iter().map(|(rule, of)| format!("{rule} {:?}", bits(of))).collect::<Vec<_>>()
            };
            assert_eq!(rules(&found.1), rules(&expected.1), "{model} on {part:?}");
        }
    }
}

#[test]
fn a_gpu_judges_what_it_has_computed_and_sends_scores_alone() {
    if !has_gpu() {
        return;
    }
    let wide = "model.hidden=256";
    for task in [LINKS, EDGES, NODES] {
        let expected = metrics(&[task, wide], None);
        let mut on_gpu = session(&[task, wide, "train.device=cuda"], None);
        let before = on_gpu.device().copied_bytes()[1];
        let mut found = on_gpu.evaluate(Part::Validation).unwrap();
        let down = on_gpu.device().copied_bytes()[1] - before;
        let judged = on_gpu.steps_of(Part::Validation).len();
        let embeddings = (judged * on_gpu.material().vertices() * 256 * 4) as u64;
        assert!(down < embeddings / 2, "{down} bytes came down, embeddings have {embeddings}");
        let test = on_gpu.evaluate(Part::Test).unwrap();
        found.extend(test.into_iter().map(|(name, value)| (format!("test_{name}"), value)));
        // Two scores that are nearly equal may change places on another device.
        for (name, value) in &expected {
            let apart = (found[name] - value).abs();
            assert!(apart < 1e-2 * value.abs().max(1.0), "{name}: {value} became {}", found[name]);
        }
    }
}
