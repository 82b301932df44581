//! No model knows a measured value that comes after its query, neither as a lag nor through the
//! scale of the series.
//!
//! Each test runs a session on a measured series and on the same series with another future, and
//! requires the same bits; and that the scale of PyG-Temporal's loaders, which is fitted on all
//! steps, does change the answer, so that the test can fail.

mod future;

use std::path::Path;

use future::with_another_series;
use zoetrope_config::Config;
use zoetrope_data::dataset::{Signal, Standardise};
use zoetrope_data::{Dataset, Format, Quiet, SnapshotDataset};
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, VertexFeatures, VertexNames};
use zoetrope_run::Timeline;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{EpochEnd, Epochs};

const STEPS: usize = 30;
const VERTICES: usize = 8;
const LAGS: usize = 3;
/// 27 samples, of which the first 60 % train.
const TRAINING: usize = 16;
const RULES: [&str; 5] = ["auto", "train", "raw", "by-vertex", "overall"];

/// How the series is kept: PyG-Temporal's files, a folder of a matrix and a table, and our own.
const FILES: [(&str, Format); 3] =
    [("series.json", Format::PygtJson), ("traffic", Format::Traffic), ("series.npz", Format::Npz)];

/// A ring of sensors; each has its own level, one of them never changes while training.
fn data() -> SnapshotDataset {
    let random = Random::new(5, 1);
    let value = |at: usize| match at % VERTICES {
        2 if at / VERTICES < TRAINING + LAGS => 7.0,
        vertex => 20.0 * vertex as f32 + 5.0 * random.normal(at as u64) as f32,
    };
    let values = (0..STEPS * VERTICES).map(value).collect();
    let values = VertexFeatures::new(STEPS, VERTICES, 1, values).unwrap();
    let (src, dst) = (0..VERTICES as u32).map(|at| (at, (at + 1) % VERTICES as u32)).unzip();
    let weight = Some(vec![1.0; VERTICES]);
    SnapshotDataset {
        sequence: SnapshotSequence::constant(VERTICES as u32, STEPS, src, dst, weight).unwrap(),
        names: VertexNames::identity(VERTICES as u32),
        features: None,
        targets: None,
        signal: Some(Signal {
            standardise: Standardise::ByVertex { epsilon: 1e-10 },
            ..Signal::new(values, LAGS)
        }),
    }
}

fn session(data: &SnapshotDataset, (name, format): (&str, Format), settings: &[&str]) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    zoetrope_data::save(&path, Some(format), &Dataset::Snapshots(data.clone()), &Quiet).unwrap();
    opened(&path, settings)
}

fn opened(path: &Path, settings: &[&str]) -> Session {
    let path = format!("data.path={}", path.display());
    let always = [&path, "data.split=60/20/20", "data.lags=3", "model.hidden=4", "train.frame=4"];
    let settings = always.iter().chain(settings);
    let builder = settings.fold(Config::builder(), |builder, setting| builder.set(setting));
    let config = builder.build().unwrap();
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    assert_eq!(material.split.train, 0..TRAINING);
    Session::start(config, material, None, Timeline::new()).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Predictions of the snapshots whose lags lie before a step of the series.
fn predicted(session: &mut Session, before: usize) -> Vec<u32> {
    let (answers, _) = session.predict(None).unwrap();
    let known = answers.steps.iter().filter(|&&sample| sample + LAGS <= before).count();
    assert!(known > 0 && answers.values.iter().all(|value| value.is_finite()));
    bits(&answers.values[..known * answers.vertices])
}

#[test]
fn predictions_do_not_know_values_that_are_measured_later() {
    let data = data();
    for file in FILES {
        for rule in RULES {
            let scaling = format!("data.scaling={rule}");
            for from in [TRAINING + LAGS, STEPS - 1] {
                let other = with_another_series(&data, from, 1);
                let [now, other] = [&data, &other]
                    .map(|data| predicted(&mut session(data, file, &[&scaling]), from));
                assert_eq!(now, other, "{rule} in {} from step {from}", file.0);
            }
        }
        let other = with_another_series(&data, STEPS - 1, 1);
        let [now, other] = [&data, &other]
            .map(|data| predicted(&mut session(data, file, &["data.scaling=pygt"]), STEPS - 1));
        assert_ne!(now, other, "{}", file.0);
    }
}

/// The losses of two epochs, the weights after them, and the scale.
fn trained(data: &SnapshotDataset, settings: &[&str]) -> (Vec<u32>, String) {
    let mut session = session(data, FILES[0], settings);
    let mut found = Vec::new();
    for _ in 0..2 {
        let EpochEnd::Finished(record) = session.epoch(&mut Unobserved).unwrap() else { panic!() };
        found.push((record.loss as f32).to_bits());
    }
    let parameters = session.network().parameters.iter();
    found.extend(parameters.flat_map(|(_, parameter)| bits(parameter.matrix.as_slice())));
    let fitted = serde_json::to_string(&session.material().scaled.fitted).unwrap();
    (found, fitted)
}

#[test]
fn training_does_not_know_values_of_the_parts_that_are_held_out() {
    let data = data();
    for rule in RULES {
        for missing in ["[]", "7"] {
            let settings = [&format!("data.scaling={rule}"), &format!("data.missing={missing}")];
            let settings = settings.map(String::as_str);
            let from = |step: usize| trained(&with_another_series(&data, step, 3), &settings);
            let expected = trained(&data, &settings);
            // The last training sample has the target of the step before.
            assert_eq!(from(TRAINING + LAGS), expected, "{rule}");
            assert_ne!(from(TRAINING + LAGS - 1), expected, "{rule}");
        }
    }
    let pygt = ["data.scaling=pygt"];
    let other = trained(&with_another_series(&data, STEPS - 1, 3), &pygt);
    assert_ne!(other, trained(&data, &pygt));
}

#[test]
fn missing_values_are_no_targets_and_are_filled_from_the_past_alone() {
    let mut data = data();
    let signal = data.signal.as_mut().unwrap();
    // Sensor 1 reports nothing from step 5 to 8 and in the last step.
    for step in [5, 6, 7, 8, STEPS - 1] {
        signal.values.values_mut()[step * VERTICES + 1] = 0.0;
    }
    let last_known = signal.values.values()[4 * VERTICES + 1];
    let settings = ["data.scaling=raw", "data.missing=0"];
    let found = session(&data, FILES[1], &settings);
    let material = found.material();
    assert_eq!(material.scaled.missing_values, (5, (STEPS * VERTICES) as u64));
    let summary = material.scaled.summary().unwrap();
    assert_eq!(summary.series.as_ref().unwrap().missing, 5);
    assert!(summary.line().contains("5 of 240 values missing"), "{}", summary.line());
    // Sample 4 has the steps 4, 5 and 6 as features, and step 7 as its target.
    assert_eq!(material.features.row(4 * VERTICES + 1), [last_known; 3]);
    let present = material.goal.as_ref().unwrap().present().unwrap();
    let absent: Vec<usize> =
        (0..material.steps() * VERTICES).filter(|&row| present.as_slice()[row] == 0.0).collect();
    let expected: Vec<usize> = [2, 3, 4, 5, 26].map(|sample| sample * VERTICES + 1).to_vec();
    assert_eq!(absent, expected);
    // Zeros are values unless the user says otherwise.
    let found = session(&data, FILES[1], &settings[..1]);
    assert_eq!(found.material().scaled.missing_values.0, 0);
}
