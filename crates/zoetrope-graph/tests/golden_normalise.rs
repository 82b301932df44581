//! GCN normalisation against PyG's `gcn_norm`; values from `golden/gcn_norm.py`.

use serde_json::Value;
use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::normalise::{GcnOptions, gcn};

/// Both sides add in the same order in f32; what may differ is PyTorch's `pow(-0.5)` against a
/// division by a square root, each within one rounding, used twice.
const RELATIVE: f32 = 4.0 * f32::EPSILON;

fn vertices(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|vertex| vertex.as_u64().unwrap() as u32).collect()
}

#[test]
fn gcn_normalisation_equals_that_of_pyg_on_awkward_graphs() {
    let golden: Value = serde_json::from_str(include_str!("golden/gcn_norm.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() > 100);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let (src, dst) = (vertices(&case["src"]), vertices(&case["dst"]));
        let weight = case["weight"]
            .as_array()
            .map(|weights| weights.iter().map(|weight| weight.as_f64().unwrap() as f32).collect());
        let count = case["vertices"].as_u64().unwrap() as u32;
        let offsets = vec![0, src.len() as u64];
        let sequence = SnapshotSequence::new(count, offsets, src, dst, weight).unwrap();
        let options = GcnOptions {
            improved: case["improved"].as_bool().unwrap(),
            add_self_loops: case["add_self_loops"].as_bool().unwrap(),
        };
        let matrix = gcn(sequence.at(0), options).unwrap();

        let rows: Vec<u32> = matrix.iter().map(|(row, _, _)| row).collect();
        assert_eq!(rows, vertices(&case["expected_dst"]), "{name}");
        assert_eq!(matrix.column_indices(), vertices(&case["expected_src"]), "{name}");
        for (at, (got, expected)) in
            matrix.values().iter().zip(case["expected"].as_array().unwrap()).enumerate()
        {
            match expected.as_f64().map(|expected| expected as f32) {
                None => assert!(got.is_nan(), "{name}: value {at} is {got}, expected NaN"),
                Some(expected) => assert!(
                    (got - expected).abs() <= RELATIVE * expected.abs(),
                    "{name}: value {at} is {got}, expected {expected}"
                ),
            }
        }
    }
}
