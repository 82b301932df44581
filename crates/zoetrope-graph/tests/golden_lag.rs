//! Lagged and standardised values against PyG-Temporal's loader; values from `golden/lag.py`.

use serde_json::Value;
use zoetrope_graph::VertexFeatures;
use zoetrope_graph::lag::{STANDARD_EPSILON, StandardOver, lagged, standardise};

/// The loader works in f64 on f64 values; here values are rounded to f32 when they are read and
/// once at the end, and a deviation of a few percent of the mean magnifies the former.
const ABSOLUTE: f64 = 5e-6;

fn flatten(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flatten).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

#[test]
fn lagged_standardised_values_equal_those_of_pyg_temporal() {
    let golden: Value = serde_json::from_str(include_str!("golden/lag.json")).unwrap();
    for case in golden["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let steps = case["values"].as_array().unwrap().len();
        let vertices = case["values"][0].as_array().unwrap().len();
        let values = flatten(&case["values"]).into_iter().map(|value| value as f32).collect();
        let values = VertexFeatures::new(steps, vertices, 1, values).unwrap();
        let standard = standardise(values, StandardOver::Time, STANDARD_EPSILON);
        let lags = case["lags"].as_u64().unwrap() as usize;
        let (features, targets) = lagged(&standard, lags, 0).unwrap();

        for (got, expected) in
            [(features.values(), &case["features"]), (targets.values(), &case["targets"])]
        {
            let expected = flatten(expected);
            assert_eq!(got.len(), expected.len(), "{name}");
            for (at, (&got, expected)) in got.iter().zip(expected).enumerate() {
                let distance = (f64::from(got) - expected).abs();
                assert!(distance < ABSOLUTE, "{name}: value {at} is {got}, expected {expected}");
            }
        }
    }
}
