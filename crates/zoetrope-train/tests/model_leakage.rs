//! No model knows what happens after its query, in any task.
//!
//! Each test runs a session on a data set and on the same data set with another future, and
//! requires the same bits; and that a change within what a query knows does change the answer, so
//! that the test can fail.

mod future;

use std::path::Path;

use future::with_another_future;
use zoetrope_config::{Config, ModelName, TaskName};
use zoetrope_data::{Dataset, Quiet, ReadOptions, SnapshotDataset};
use zoetrope_graph::{SnapshotSequence, Targets};
use zoetrope_run::Timeline;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{EpochEnd, Epochs};

const STEPS: usize = 15;
const TRAINING: usize = 9;

/// Communities. What is asked of a vertex is its class or a number; edges have signed weights if
/// their classes are asked for.
fn data(task: TaskName) -> SnapshotDataset {
    let name = format!("synthetic:sbm?vertices=30&steps={STEPS}&communities=3&inside=4&seed=4");
    let loaded = zoetrope_data::open(&name, &ReadOptions::default(), &Quiet).unwrap();
    let Dataset::Snapshots(mut data) = loaded.dataset else { panic!("{name} makes events") };
    if task == TaskName::NodeRegression {
        let features = data.features.as_ref().unwrap();
        let values = features.values().iter().step_by(features.width()).copied().collect();
        data.targets = Some(Targets::new(STEPS, 30, None, values).unwrap());
    }
    if task == TaskName::EdgeClassification {
        let graph = &data.sequence;
        let weight = (0..graph.stored_edges()).map(|edge| [1.0, -0.5, 2.0][edge % 3]).collect();
        let (src, dst) = (graph.src().to_vec(), graph.dst().to_vec());
        data.sequence =
            SnapshotSequence::new(30, graph.ranges().offsets(), src, dst, Some(weight)).unwrap();
    }
    data
}

fn session(folder: &Path, data: &SnapshotDataset, settings: &[&str]) -> Session {
    let path = folder.join("data.npz");
    zoetrope_data::save(&path, None, &Dataset::Snapshots(data.clone()), &Quiet).unwrap();
    // EvolveGCN of PyG-Temporal is as wide as the features.
    let square = settings.iter().any(|setting| setting.starts_with("model.name=evolvegcn"));
    let width = (!square).then_some(&"model.hidden=4");
    let always = ["data.split=60/20/20", "train.seed=3"];
    let builder = Config::builder().set(&format!("data.path={}", path.display()));
    let settings = always.iter().chain(width).chain(settings);
    let config = settings.fold(builder, |builder, setting| builder.set(setting)).build().unwrap();
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    assert_eq!(material.split.train, 0..TRAINING);
    Session::start(config, material, None, Timeline::new()).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn every_model(mut test: impl FnMut(&str)) {
    for model in ModelName::ALL.iter().filter(|model| !model.is_stream()) {
        test(model.name());
    }
}

#[test]
fn embeddings_do_not_know_later_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(TaskName::LinkPrediction);
    let query = 10;
    every_model(|model| {
        for frame in ["4", "all"] {
            let settings = [
                "task.name=link-prediction",
                &format!("model.name={model}"),
                &format!("train.frame={frame}"),
            ];
            // DySAT has a learned position for each step of a training frame and none beyond.
            if (model, frame) == ("dysat", "all") {
                continue;
            }
            let embedded = |from: usize| {
                let data = with_another_future(&data, from, from, 1);
                bits(&session(folder.path(), &data, &settings).embed(query).unwrap())
            };
            let expected = embedded(STEPS);
            assert!(expected.iter().any(|&bits| bits != 0), "{model}");
            assert_eq!(embedded(query + 1), expected, "{model}, frame {frame}");
            assert_ne!(embedded(query), expected, "{model}, frame {frame}");
        }
    });
}

#[test]
fn predictions_do_not_know_the_target_of_their_step_or_later() {
    let folder = tempfile::tempdir().unwrap();
    for task in [TaskName::NodeRegression, TaskName::NodeClassification] {
        let data = data(task);
        let query = 10;
        every_model(|model| {
            let settings = [
                &format!("task.name={}", task.name()),
                &format!("model.name={model}"),
                "train.frame=4",
            ];
            let predicted = |from: usize, targets_from: usize| {
                let data = with_another_future(&data, from, targets_from, 2);
                let mut session = session(folder.path(), &data, &settings);
                let (answers, _) = session.predict(None).unwrap();
                let known = answers.steps.iter().filter(|&&step| step <= query).count();
                bits(&answers.values[..known * answers.vertices * answers.per_vertex])
            };
            let expected = predicted(STEPS, STEPS);
            assert_eq!(predicted(query + 1, 0), expected, "{model}, {}", task.name());
            assert_ne!(predicted(query, STEPS), expected, "{model}, {}", task.name());
        });
    }
}

/// The weights after two epochs, and the losses.
fn trained(folder: &Path, data: &SnapshotDataset, settings: &[&str]) -> Vec<u32> {
    let mut session = session(folder, data, settings);
    let mut found = Vec::new();
    for _ in 0..2 {
        let EpochEnd::Finished(record) = session.epoch(&mut Unobserved).unwrap() else { panic!() };
        found.push((record.loss as f32).to_bits());
    }
    let parameters = session.network().parameters.iter();
    found.extend(parameters.flat_map(|(_, parameter)| bits(parameter.matrix.as_slice())));
    found
}

#[test]
fn training_does_not_know_the_parts_that_are_held_out() {
    let folder = tempfile::tempdir().unwrap();
    for &task in TaskName::ALL.iter().filter(|&&task| task != TaskName::EdgeRegression) {
        let data = data(task);
        every_model(|model| {
            let settings = [
                &format!("task.name={}", task.name()),
                &format!("model.name={model}"),
                "train.frame=4",
                "train.epochs=2",
            ];
            let from = |step: usize| {
                let data = with_another_future(&data, step, step, 3);
                trained(folder.path(), &data, &settings)
            };
            let expected = from(STEPS);
            assert_eq!(from(TRAINING), expected, "{model}, {}", task.name());
            assert_ne!(from(TRAINING - 1), expected, "{model}, {}", task.name());
        });
    }
}
