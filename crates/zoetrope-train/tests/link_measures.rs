//! What a session reports for links, against the same worked out from its embeddings.

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_data::split::Part;
use zoetrope_nn::metrics::{BinaryScores, RowRanking, TieRule};
use zoetrope_run::Timeline;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Baselines, Evaluation};

fn session(settings: &[&str]) -> Session {
    let always = [
        "data.path=synthetic:sbm?vertices=50&steps=16&communities=3&seed=4",
        "task.name=link-prediction",
        "model.decoder=dot",
        "model.hidden=6",
        "train.frame=4",
    ];
    let settings = always.iter().chain(settings);
    let config = settings.fold(Config::builder(), |builder, setting| builder.set(setting));
    let config = config.build().unwrap();
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    Session::start(config, material, None, Timeline::new()).unwrap()
}

/// Scalar products of the embeddings of a source with those of all others, and which are links of
/// the next snapshot.
fn row(session: &Session, embeddings: &[f32], step: usize, src: usize) -> (Vec<f32>, Vec<f32>) {
    let vertices = session.material().vertices();
    let width = embeddings.len() / vertices;
    let of = |vertex: usize| &embeddings[vertex * width..(vertex + 1) * width];
    let target = session.material().sequence.at(step + 1);
    let linked = |dst: usize| {
        (0..target.len()).any(|at| (target.src[at], target.dst[at]) == (src as u32, dst as u32))
    };
    (0..vertices)
        .filter(|&dst| dst != src)
        .map(|dst| {
            let score = of(src).iter().zip(of(dst)).map(|(a, b)| a * b).sum::<f32>();
            (score, f32::from(u8::from(linked(dst))))
        })
        .unzip()
}

#[test]
fn all_pairs_are_measured_as_by_hand() {
    let mut session = session(&["task.all_pairs=true"]);
    let metrics = session.evaluate(Part::Test).unwrap();
    let (mut precision, mut mrr) = (0.0, 0.0);
    let steps = session.steps_of(Part::Test);
    for step in steps.clone() {
        let embeddings = session.embed(step).unwrap();
        let (mut pairs, mut rows) = (BinaryScores::default(), RowRanking::new(TieRule::Average));
        for src in 0..session.material().vertices() {
            let (scores, labels) = row(&session, &embeddings, step, src);
            pairs.add(&scores, &labels);
            rows.add(&scores, &labels);
        }
        precision += pairs.average_precision().unwrap() / steps.len() as f64;
        mrr += rows.mrr().unwrap() / steps.len() as f64;
    }
    // Scalar products may be summed in another order, which may swap two nearly equal scores.
    assert!((metrics["map"] - precision).abs() < 1e-3, "{} {precision}", metrics["map"]);
    assert!((metrics["row_mrr"] - mrr).abs() < 1e-3, "{} {mrr}", metrics["row_mrr"]);
}

#[test]
fn model_and_baselines_have_the_same_measures() {
    for (setting, all) in [("task.all_pairs=true", true), ("task.all_pairs=false", false)] {
        let mut session = session(&[setting, "task.hits=3"]);
        let metrics = session.evaluate(Part::Test).unwrap();
        let names: Vec<&String> = metrics.keys().collect();
        assert_eq!(names.iter().any(|name| *name == "map"), all);
        assert!(metrics.values().all(|value| (0.0..=1.0).contains(value)), "{metrics:?}");
        let baselines = session.baselines(Part::Test).unwrap();
        assert_eq!(baselines["edgebank"].keys().collect::<Vec<_>>(), names);
        assert_eq!(baselines.len(), 3);
    }
}
