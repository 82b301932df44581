//! Ranks that take different frames of an update learn what one rank learns from the same updates: only
//! gradients, losses and statistics of batch norms meet.

mod shared_run;

use shared_run::expect_near;
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_plan::Sharing;
use zoetrope_run::Timeline;
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Epochs, TrainingRun};

/// Eight frames in updates of three: the last update has fewer frames than the others, and than four ranks.
const UPDATES: &str = "train.frame=4 train.batch_size=3 train.epochs=7 train.lr=0.01";

/// Tasks with data that has them: 15 snapshots, of which 11 train.
const TASKS: [&str; 4] = [
    "task.name=node-regression data.path=synthetic:demo?vertices=18&steps=15",
    "task.name=link-prediction data.path=synthetic:demo?vertices=18&steps=16",
    "task.name=node-classification data.path=synthetic:sbm?vertices=60&steps=15&communities=3",
    "task.name=edge-classification data.path=synthetic:bipartite?events=600 data.window=2d task.classes=2",
];

/// What a run comes to: the mean losses of its epochs, and its weights.
#[derive(Debug, Clone, PartialEq)]
struct End {
    losses: Vec<f64>,
    weights: Vec<f32>,
    shares_frames: bool,
}

fn end_of(settings: &str, ranks: Option<Ranks>) -> Result<End, TrainError> {
    let size = ranks.as_ref().map_or(1, Ranks::size);
    let builder = settings.split_whitespace().fold(Config::builder(), |b, s| b.set(s));
    let mut config = builder.build()?;
    config.train.ranks = size;
    let material = SnapshotInput::open(&config, &Quiet)?;
    let mut session = Session::start_shared(config, material, None, Timeline::new(), ranks)?;
    while !(&session as &dyn TrainingRun).is_over() {
        session.epoch(&mut Unobserved)?;
    }
    let parameters = session.network().parameters.iter();
    Ok(End {
        losses: session.learner().epochs().iter().map(|epoch| epoch.loss).collect(),
        weights: parameters.flat_map(|(_, one)| one.matrix.as_slice().to_vec()).collect(),
        shares_frames: session.plan().sharing == Some(Sharing::Frames),
    })
}

fn expect_as_alone(settings: &str, sizes: &[usize]) {
    let alone = end_of(settings, None).unwrap();
    for &size in sizes {
        let shared = format!("{settings} plan.strategy=frames");
        let found =
            threads::run(size, Timeouts::default(), move |ranks| end_of(&shared, Some(ranks)));
        let found = found.unwrap_or_else(|error| panic!("{settings} {size} ranks: {error}"));
        let what = format!("{settings} {size} ranks");
        assert!(found[0].shares_frames, "{what}");
        assert!(found.iter().all(|end| *end == found[0]), "ranks differ: {what}");
        expect_near(&alone.losses, &found[0].losses, 1e-5, &what);
        let largest = alone.weights.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
        for (one, other) in alone.weights.iter().zip(&found[0].weights) {
            let apart = (one - other).abs() / largest;
            assert!(apart <= 1e-4, "{what}: a weight of {one} became {other}");
        }
    }
}

fn each_model(task: &str, more: &str, sizes: &[usize]) {
    for model in zoetrope_nn::model::NAMES {
        // EvolveGCN of PyG-Temporal is as wide as the features.
        let width = if model.starts_with("evolvegcn") { "" } else { "model.hidden=8" };
        expect_as_alone(&format!("model.name={model} {width} {UPDATES} {task} {more}"), sizes);
    }
}

#[test]
fn every_model_predicts_numbers_as_one_rank_does() {
    each_model(TASKS[0], "train.optimiser=sgd", &[2, 3, 4]);
}

#[test]
fn every_model_predicts_links_as_one_rank_does() {
    each_model(TASKS[1], "", &[2, 3]);
}

#[test]
fn every_model_classifies_vertices_as_one_rank_does() {
    each_model(TASKS[2], "", &[2]);
}

#[test]
fn every_model_classifies_edges_as_one_rank_does() {
    each_model(TASKS[3], "", &[2]);
}

#[test]
fn dropout_stretches_shuffled_frames_and_blocks_do_not_depend_on_ranks() {
    for settings in [
        "model.name=mpnn-lstm model.dropout=0.3",
        "model.name=tgcn train.truncate=2",
        "model.name=cd-gcn train.shuffle=true",
        "model.name=tm-gcn plan.blocks=2",
        "model.name=wd-gcn plan.blocks=2 plan.recompute=false train.loss=last",
    ] {
        expect_as_alone(&format!("{settings} model.hidden=8 {UPDATES} {}", TASKS[0]), &[2, 3]);
    }
}

#[test]
fn a_rank_without_a_frame_waits_for_the_others() {
    let lonely =
        format!("model.name=tgcn model.hidden=8 {UPDATES} {} train.batch_size=1", TASKS[0]);
    expect_as_alone(&lonely, &[3]);
}
