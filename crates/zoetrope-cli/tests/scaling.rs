//! What a run scales by is fitted on its training part, saved with it, applied to other data, and
//! undone in what `predict` writes.

mod binary;

use std::fmt::Write as _;

use binary::Folder;
use serde_json::Value;
use zoetrope_data::Location;
use zoetrope_data::npy::NpyReader;

const SENSORS: usize = 6;
const STEPS: usize = 60;

/// A folder with the matrix of a ring and a table of values, as sensors give them.
fn traffic(folder: &Folder, name: &str, value: impl Fn(usize, usize) -> f64) {
    std::fs::create_dir(folder.path(name)).unwrap();
    let mut matrix = String::new();
    for row in 0..SENSORS {
        let cells =
            (0..SENSORS).map(|column| if (row + 1) % SENSORS == column { "1.0" } else { "0.0" });
        writeln!(matrix, "{}", cells.collect::<Vec<_>>().join(",")).unwrap();
    }
    let mut table = String::new();
    for step in 0..STEPS {
        let cells = (0..SENSORS).map(|sensor| format!("{:.3}", value(step, sensor)));
        writeln!(table, "{}", cells.collect::<Vec<_>>().join(",")).unwrap();
    }
    folder.write(&format!("{name}/adjacency.csv"), &matrix);
    folder.write(&format!("{name}/values.csv"), &table);
}

/// Vehicles in five minutes: hundreds, and a rhythm.
fn vehicles(step: usize, sensor: usize) -> f64 {
    300.0 + 40.0 * sensor as f64 + 90.0 * ((step * (sensor + 3)) as f64 / 5.0).sin()
}

const JOB: &[&str] = &["--hidden", "8", "--frame", "4", "--set", "data.lags=4", "--lr", "0.02"];

fn train(folder: &Folder, data: &str, out: &str, more: &[&str]) -> Value {
    let job = ["train", "--data", data, "--out", out, "--epochs", "8", "--json"];
    folder.json(&[&job, JOB, more].concat())
}

/// Predictions of a run on some data, row by row, and what the command says about them.
fn predict(folder: &Folder, more: &[&str]) -> (Vec<f32>, Value) {
    let said = folder.json(&[&["predict", "--out", "p.npy", "--force", "--json"], more].concat());
    let bytes = folder.bytes("p.npy");
    let array = NpyReader::new(&bytes[..], Location::file("p.npy")).unwrap();
    (array.read_f32().unwrap(), said)
}

#[test]
fn the_last_row_of_a_table_does_not_move_the_first_prediction() {
    let folder = Folder::new();
    traffic(&folder, "now", vehicles);
    traffic(&folder, "other", |step, sensor| {
        if step == STEPS - 1 { vehicles(step, sensor) + 1000.0 } else { vehicles(step, sensor) }
    });
    train(&folder, "now", "first", &[]);
    train(&folder, "other", "second", &[]);
    assert_eq!(
        folder.bytes("first/weights.safetensors"),
        folder.bytes("second/weights.safetensors")
    );
    assert_eq!(folder.bytes("first/scaling.json"), folder.bytes("second/scaling.json"));
    // Away from its folder nothing ties the file to the run: scaling is fitted on the given data.
    std::fs::copy(folder.path("first/weights.safetensors"), folder.path("bare.safetensors"))
        .unwrap();
    let weights = ["--weights", "bare.safetensors", "--model", "tgcn"];
    let of = |data| predict(&folder, &[&weights, JOB, &["--data", data]].concat());
    let ((now, said), (other, _)) = (of("now"), of("other"));
    assert_eq!(said["scaling"]["fitted_on"], "the training part");
    let early = now.len() - SENSORS;
    assert_eq!(now[..early], other[..early]);
}

#[test]
fn a_run_scales_new_data_by_its_own_numbers_and_predicts_in_the_units_of_the_data() {
    let folder = Folder::new();
    traffic(&folder, "now", vehicles);
    let summary = train(&folder, "now", "run", &[]);
    assert_eq!(summary["scaling"]["series"]["by"], "all vertices");
    // 56 samples of 4 lags, 39 of which train: steps 0 to 42 of the series.
    assert_eq!(summary["scaling"]["series"]["fitted_steps"], 43);
    let saved: Value = serde_json::from_slice(&folder.bytes("run/scaling.json")).unwrap();
    let channel = &saved["series"]["scaling"]["values"]["channel"];
    let (mean, deviation) =
        (channel["mean"][0].as_f64().unwrap(), channel["deviation"][0].as_f64().unwrap());
    let known: Vec<f64> = (0..43)
        .flat_map(|step| (0..SENSORS).map(move |sensor| vehicles(step, sensor)))
        .map(|value| (value * 1000.0).round() / 1000.0)
        .collect();
    let expected = known.iter().sum::<f64>() / known.len() as f64;
    assert!((mean - expected).abs() < 1e-3, "{mean}, not {expected}");

    let (own, said) = predict(&folder, &["--run", "run"]);
    let (scaled, said_scaled) = predict(&folder, &["--run", "run", "--units", "scaled"]);
    assert_eq!(said["units"], "own");
    assert_eq!(said_scaled["units"], "scaled");
    assert_eq!(said["scaling"]["fitted_on"], "the run's data");
    assert!(own.iter().all(|value| (100.0..900.0).contains(value)), "{own:?}");
    for (own, scaled) in own.iter().zip(&scaled) {
        let expected = f64::from(*scaled) * deviation + mean;
        assert!((f64::from(*own) - expected).abs() < 1e-3 * expected.abs(), "{own} {expected}");
    }

    // The same series on another level: its own mean would hide the difference.
    traffic(&folder, "higher", |step, sensor| vehicles(step, sensor) + 500.0);
    let (higher, said) = predict(&folder, &["--run", "run", "--data", "higher"]);
    assert_eq!(said["scaling"]["fitted_on"], "the run's data");
    assert_ne!(higher, own);
    let eval = |data| folder.json(&["eval", "--run", "run", "--data", data, "--json"]);
    let (now, high) = (eval("now"), eval("higher"));
    assert_eq!(now["metrics"]["own_mae"], summary["test"]["own_mae"]);
    let error = |found: &Value, name: &str| found["metrics"][name].as_f64().unwrap();
    assert!(error(&high, "mae") > 2.0 * error(&now, "mae"), "{high} {now}");
    let ratio = error(&now, "own_mae") / error(&now, "mae");
    assert!((ratio / deviation - 1.0).abs() < 1e-4, "{ratio} {deviation}");
    for baseline in ["persistence", "historical_mean"] {
        let found = &now["baselines"][baseline];
        let ratio = found["own_mae"].as_f64().unwrap() / found["mae"].as_f64().unwrap();
        assert!((ratio / deviation - 1.0).abs() < 1e-4, "{baseline} {ratio}");
    }
    let report = folder.run(&["eval", "--run", "run", "--quiet"]).stdout_text();
    assert!(report.contains("own_mae") && report.contains("the data's own units"), "{report}");
}

#[test]
fn the_reference_scale_is_over_all_steps_and_its_predictions_stay_on_it() {
    let folder = Folder::new();
    traffic(&folder, "now", vehicles);
    let summary = train(&folder, "now", "run", &["--set", "data.scaling=pygt"]);
    assert_eq!(summary["scaling"]["series"]["fitted_steps"], STEPS);
    let (scaled, said) = predict(&folder, &["--run", "run"]);
    assert_eq!(said["units"], "scaled");
    assert!(scaled.iter().all(|value| value.abs() < 10.0));
    let (own, said) = predict(&folder, &["--run", "run", "--units", "own"]);
    assert_eq!(said["units"], "own");
    assert!(own.iter().all(|&value| value > 100.0));
}

#[test]
fn sensors_that_report_nothing_are_counted_and_not_learned_from() {
    let folder = Folder::new();
    let gaps = |step: usize, sensor: usize| {
        if (step + sensor).is_multiple_of(7) { 0.0 } else { vehicles(step, sensor) }
    };
    traffic(&folder, "gaps", gaps);
    let summary = train(&folder, "gaps", "run", &["--set", "data.missing=0"]);
    let zeros = (0..STEPS).flat_map(|step| (0..SENSORS).map(move |sensor| gaps(step, sensor)));
    let zeros = zeros.filter(|value| *value == 0.0).count();
    assert_eq!(summary["scaling"]["series"]["missing"], zeros);
    // A zero that counts as a value is an error of hundreds before it and after it.
    let plain = train(&folder, "gaps", "plain", &[]);
    let error = |found: &Value| found["own_rmse"].as_f64().unwrap();
    assert!(error(&summary["test"]) < error(&plain["test"]), "{summary} {plain}");
    let persistence = |found: &Value| error(&found["baselines"]["persistence"]);
    assert!(2.0 * persistence(&summary) < persistence(&plain), "{summary} {plain}");
    let text = folder.run(&["eval", "--run", "run", "--quiet"]).stdout_text();
    assert!(text.contains(&format!("{zeros} of {} values missing", STEPS * SENSORS)), "{text}");
}

/// Transactions: the amount has a heavy tail, miles are in the thousands, one value is missing.
fn transactions(rows: usize, scale: f64) -> String {
    let mut text = "src,dst,t,weight,miles,flag\n".to_owned();
    for row in 0..rows {
        let amount = if row % 40 == 3 { 20_000.0 } else { 5.0 + (row % 9) as f64 };
        let miles = match row {
            17 => String::new(),
            row => format!("{}", scale * (1000.0 + (row * 37 % 100) as f64 * 20.0)),
        };
        let (src, dst) = (row * 7 % 20, 20 + row * 11 % 15);
        writeln!(text, "{src},{dst},{},{amount},{miles},{}", 10 * row, row % 2).unwrap();
    }
    text
}

#[test]
fn features_of_events_are_scaled_on_the_training_events_and_gaps_are_filled() {
    let folder = Folder::new();
    folder.write("events.csv", &transactions(400, 1.0));
    let job = |data: &'static str, out: &'static str, more: &[&'static str]| {
        let job = ["train", "--data", data, "--model", "tgn", "--hidden", "8", "--epochs", "1"];
        let rest = ["--task", "link-prediction", "--batch-size", "50", "--out", out, "--json"];
        folder.json(&[&job[..], &rest, more].concat())
    };
    let summary = job("events.csv", "run", &[]);
    assert_eq!(summary["data"]["features"], 3);
    let counts = &summary["scaling"]["event_features"];
    assert_eq!(counts, &serde_json::json!({"none": 1, "standard": 1, "log": 1, "indicators": 0}));
    assert_eq!(summary["scaling"]["missing_features"], 1);
    let saved: Value = serde_json::from_slice(&folder.bytes("run/scaling.json")).unwrap();
    let columns = saved["event_features"]["columns"].as_array().unwrap();
    let of = |name: &str| columns.iter().find(|column| column["name"] == name).unwrap();
    for (name, scale) in [("weight", "log"), ("miles", "standard"), ("flag", "none")] {
        assert_eq!(of(name)["scale"], scale, "{name}");
    }
    // What comes after the training part does not move the numbers.
    let (now, other) = (transactions(400, 1.0), transactions(400, 1000.0));
    let lines: Vec<&str> = now.lines().take(301).chain(other.lines().skip(301)).collect();
    folder.write("later.csv", &lines.join("\n"));
    job("later.csv", "later", &[]);
    assert_eq!(folder.bytes("later/scaling.json"), folder.bytes("run/scaling.json"));
    let masked = job("events.csv", "masked", &["--set", "data.missing_features=mask"]);
    assert_eq!(masked["data"]["features"], 4);
    // A run's numbers are used for other data, never fitted again.
    let eval = folder.json(&["eval", "--run", "run", "--data", "later.csv", "--json"]);
    assert_eq!(eval["scaling"]["fitted_on"], "the run's data");
    // The weight is no feature if it is the answer, and can be left out.
    let dropped = job("events.csv", "dropped", &["--set", "data.drop_features=weight"]);
    assert_eq!(dropped["data"]["features"], 2);
}

/// A file of PyG-Temporal's layout of edges and a series `X`.
fn edges_and_series(value: impl Fn(usize, usize) -> f64) -> String {
    let rows: Vec<Vec<f64>> =
        (0..60).map(|step| (0..5).map(|vertex| value(step, vertex)).collect()).collect();
    serde_json::json!({
        "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]],
        "weights": [1.0, 1.0, 1.0, 1.0, 1.0],
        "X": rows,
    })
    .to_string()
}

#[test]
fn a_series_that_is_not_standardised_in_its_file_is_scaled_and_said_to_be() {
    let folder = Folder::new();
    let wave = |step: usize, vertex: usize| (step as f64 * 0.4 + vertex as f64).sin();
    folder.write("wave.json", &edges_and_series(wave));
    folder.write(
        "people.json",
        &edges_and_series(|step, vertex| 1000.0 * (1 + vertex) as f64 + 300.0 * wave(step, vertex)),
    );
    let plain = train(&folder, "wave.json", "plain", &[]);
    assert!(!plain["warnings"].to_string().contains("scaled by vertex"), "{}", plain["warnings"]);
    let scaled = train(&folder, "people.json", "scaled", &[]);
    assert!(scaled["warnings"].to_string().contains("data.scaling=raw"), "{}", scaled["warnings"]);
    let error = |summary: &Value| summary["test"]["mse"].as_f64().unwrap();
    assert!(error(&scaled) < 10.0, "{}", scaled["test"]);
    // What was asked for is done without a word.
    let raw = train(&folder, "people.json", "raw", &["--set", "data.scaling=raw"]);
    assert_eq!(raw["warnings"], Value::Null);
    assert!(error(&raw) > 1000.0, "{}", raw["test"]);
    // The run's numbers scale new data, also if that looks standardised.
    let judged = ["eval", "--run", "scaled", "--data", "wave.json", "--json", "--quiet"];
    let judged = folder.json(&judged);
    let again = folder.json(&["eval", "--run", "scaled", "--json", "--quiet"]);
    assert_eq!(again["metrics"]["mse"], scaled["test"]["mse"]);
    assert!(error(&serde_json::json!({ "test": judged["metrics"] })) > 1.0, "{judged}");
}
