//! PyG-Temporal JSON against what PyG-Temporal's own loaders make of the same files.
//!
//! `golden/pygt_json.py` runs those loaders and writes `golden/pygt_json.json`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zoetrope_data::formats::pygt_json;
use zoetrope_data::{Dataset, Quiet, ReadOptions, SnapshotDataset};
use zoetrope_testkit::shared_data;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/pygt_json.json")).unwrap()
}

fn read(path: &Path) -> SnapshotDataset {
    let loaded = pygt_json::read(path, &ReadOptions::default(), &Quiet).unwrap();
    assert_eq!(loaded.notes.missing_values, 0);
    match loaded.dataset {
        Dataset::Snapshots(data) => data,
        Dataset::Events(_) => panic!("{} was read as events", path.display()),
    }
}

/// The file of a case, or the made-up document written to a file; `None` if data is absent.
fn file_of(case: &Value, folder: &Path) -> Option<PathBuf> {
    match case["path"].as_str() {
        Some(path) => shared_data(path),
        None => {
            let path = folder.join("document.json");
            std::fs::write(&path, case["document"].as_str().unwrap()).unwrap();
            Some(path)
        }
    }
}

fn close(got: f64, case: &Value, key: &str, scale: f64) {
    let expected = case[key].as_f64().unwrap();
    // Sums of up to 2 million 32-bit values: each is within half a unit in the last place.
    let tolerance = 1e-6 * expected.abs().max(scale);
    assert!((got - expected).abs() <= tolerance, "{key}: {got}, expected {expected}");
}

fn compare(case: &Value, data: &SnapshotDataset) {
    let features = data.features.as_ref().unwrap();
    let targets = data.targets.as_ref().unwrap();
    let shape = [features.steps(), features.vertices(), features.width()];
    assert_eq!(serde_json::json!(shape), case["features_shape"]);
    assert_eq!(serde_json::json!([targets.steps(), targets.vertices()]), case["targets_shape"]);
    let (x, y) = (features.values(), targets.values());
    let sum = |values: &[f32]| values.iter().map(|&value| f64::from(value)).sum::<f64>();
    let squares = |values: &[f32]| values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
    close(squares(x), case, "features_squares", 0.0);
    close(squares(y), case, "targets_squares", 0.0);
    close(sum(x), case, "features_sum", squares(x).sqrt());
    close(sum(y), case, "targets_sum", squares(y).sqrt());
    let weighted =
        x.iter().enumerate().map(|(at, &value)| f64::from(value) * ((at + 1) % 97) as f64);
    close(weighted.sum(), case, "features_weighted_sum", 48.0 * squares(x).sqrt());
    for probe in case["probes"].as_array().unwrap() {
        let at = |index: usize| probe[index].as_u64().unwrap() as usize;
        let value = |index: usize| probe[index].as_f64().unwrap() as f32;
        assert!(
            (x[at(0)] - value(1)).abs() <= 1e-6 * value(1).abs().max(1e-3),
            "feature {}",
            at(0)
        );
        assert!((y[at(2)] - value(3)).abs() <= 1e-6 * value(3).abs().max(1e-3), "target {}", at(2));
    }
    let ends = [data.sequence.at(0), data.sequence.at(data.sequence.steps() - 1)];
    assert_eq!(serde_json::json!(ends.map(|view| view.len())), case["edges"]);
    let keys = ends.iter().flat_map(|view| view.src.iter().zip(view.dst));
    let keys: u64 = keys.map(|(&src, &dst)| u64::from(src) * 31 + u64::from(dst) * 17).sum();
    assert_eq!(keys, case["edge_key_sum"].as_u64().unwrap());
    for (view, expected) in ends.iter().zip(case["weight_sum"].as_array().unwrap()) {
        let sum: f64 = (0..view.len()).map(|edge| f64::from(view.weight_of(edge))).sum();
        let expected = expected.as_f64().unwrap();
        assert!((sum - expected).abs() <= 1e-6 * expected, "weights {sum}, expected {expected}");
    }
}

#[test]
fn features_and_targets_are_those_of_the_reference_loaders() {
    let folder = tempfile::tempdir().unwrap();
    for case in golden()["cases"].as_array().unwrap() {
        let Some(path) = file_of(case, folder.path()) else { continue };
        let lags = case["lags"].as_u64().map(|lags| lags as usize);
        println!("{} with {lags:?} lags", path.display());
        compare(case, &read(&path).with_lags(lags).unwrap());
    }
}

#[test]
fn the_hand_layout_gives_coordinates_and_the_class_of_each_frame() {
    let golden = golden();
    let hand = &golden["hand"];
    let folder = tempfile::tempdir().unwrap();
    let data = read(&file_of(hand, folder.path()).unwrap());
    let samples = hand["samples"].as_u64().unwrap() as usize;
    let features = data.features.unwrap();
    let targets = data.targets.unwrap();
    assert_eq!(u64::from(targets.classes().unwrap()), hand["classes"].as_u64().unwrap());
    assert_eq!((features.vertices(), features.width(), features.steps()), (21, 3, 20));
    let made = (0..samples).flat_map(|frame| features.at(frame)).copied();
    let expected = hand["first_frames"].as_array().unwrap().iter();
    assert!(made.eq(expected.map(|value| value.as_f64().unwrap() as f32)));
    let classes: Vec<u64> = (0..samples).map(|frame| targets.values()[frame * 21] as u64).collect();
    assert_eq!(serde_json::json!(classes), hand["first_classes"]);
}

#[test]
fn the_shared_files_have_the_counts_of_their_table() {
    let table = [
        ("england-covid/england_covid.json.gz", 129, 82_529, 61, false),
        ("twitter-tennis-rg17/twitter_tennis_rg17.json.gz", 1_000, 40_839, 120, false),
        ("chickenpox/chickenpox.json", 20, 102, 521, true),
        ("pedalme/pedalme_london.json", 15, 225, 35, true),
        ("montevideo-bus/montevideo_bus.json.gz", 675, 690, 744, true),
    ];
    for (name, vertices, edges, steps, constant) in table {
        let Some(path) = shared_data(name) else { continue };
        let sequence = read(&path).sequence;
        assert_eq!(
            (sequence.vertices(), sequence.stored_edges(), sequence.steps()),
            (vertices, edges, steps),
            "{name}"
        );
        assert_eq!(sequence.is_constant(), constant, "{name}");
    }
}

#[test]
fn the_shared_files_survive_a_round_trip_through_every_snapshot_format() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "england-covid/england_covid.json.gz",
        "twitter-tennis-rg17/twitter_tennis_rg17.json.gz",
        "chickenpox/chickenpox.json",
        "pedalme/pedalme_london.json",
        "montevideo-bus/montevideo_bus.json.gz",
    ] {
        let Some(path) = shared_data(name) else { continue };
        let data = read(&path);
        let json = folder.path().join("copy.json.zst");
        pygt_json::write(&json, &data, &Quiet).unwrap();
        assert!(read(&json) == data, "{name} through JSON");
        let npz = folder.path().join("copy.npz");
        zoetrope_data::formats::npz::write(&npz, &data, &Quiet).unwrap();
        let loaded = zoetrope_data::formats::npz::read(&npz, &ReadOptions::default(), &Quiet);
        assert!(loaded.unwrap().dataset == Dataset::Snapshots(data), "{name} through npz");
    }
}
