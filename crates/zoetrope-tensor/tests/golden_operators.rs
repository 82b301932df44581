//! Every operator of the tape against PyTorch and PyTorch Geometric, results and gradients.
//!
//! The golden values were computed in f64 (`golden/operators.py`). A value may differ by 1e-5 of
//! the largest value of its matrix, or of 1 if that is smaller: the longest sums here have some
//! hundred terms, each rounded to 6e-8, and the functions are good to a few units of that.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use safetensors::SafeTensors;
use zoetrope_tensor::conformance::small_cases;

const TOLERANCE: f32 = 1e-5;

fn golden_bytes() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/operators.safetensors");
    std::fs::read(path).expect("the golden values beside the tests")
}

fn golden(file: &SafeTensors<'_>, key: &str) -> Vec<f32> {
    let view = file.tensor(key).unwrap_or_else(|error| panic!("{key}: {error}"));
    let bytes = view.data().chunks_exact(4);
    bytes.map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

/// What is wrong with a matrix, if anything.
fn difference(what: &str, got: &[f32], expected: &[f32]) -> Option<String> {
    if got.len() != expected.len() {
        return Some(format!("{what}: {} values instead of {}", got.len(), expected.len()));
    }
    let scale = expected.iter().fold(1.0f32, |scale, value| scale.max(value.abs()));
    let wrong = |&at: &usize| {
        let apart = (got[at] - expected[at]).abs();
        apart.is_nan() || apart > TOLERANCE * scale
    };
    let at = (0..got.len()).find(wrong)?;
    Some(format!("{what}: value {at} is {} instead of {}", got[at], expected[at]))
}

#[test]
fn results_and_gradients_equal_those_of_pytorch() {
    let bytes = golden_bytes();
    let file = SafeTensors::deserialize(&bytes).expect("a file of golden values");
    let mut wrong = Vec::new();
    for case in small_cases().iter().filter(|case| !case.name.starts_with("dropout")) {
        let (result, gradients) = case.results();
        let expected = golden(&file, &format!("{}=out", case.name));
        wrong.extend(difference(&format!("{} result", case.name), &result, &expected));
        for (at, gradient) in gradients.iter().enumerate() {
            if case.inputs[at].wants_gradient() {
                let expected = golden(&file, &format!("{}={at}", case.name));
                let what = format!("{} gradient of input {at}", case.name);
                wrong.extend(difference(&what, gradient, &expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_golden_values_for_every_case_and_no_others() {
    let bytes = golden_bytes();
    let file = SafeTensors::deserialize(&bytes).expect("a file of golden values");
    let stem = |key: &str| key.split('=').next().unwrap_or_default().to_owned();
    let known: BTreeSet<String> = file.names().into_iter().map(stem).collect();
    let cases = small_cases();
    let names = cases.iter().map(|case| case.name.clone());
    // PyTorch draws other masks; dropout has tests of its own in `gradients.rs`.
    let expected: BTreeSet<String> = names.filter(|name| !name.starts_with("dropout")).collect();
    assert_eq!(known, expected);
}

/// The level is chosen once a process, so each one gets a process of its own.
#[test]
fn every_instruction_set_gives_the_golden_values() {
    let program = std::env::current_exe().expect("the path of this test");
    for level in ["scalar", "neon", "avx2", "avx512"] {
        let output = Command::new(&program)
            .args(["--exact", "results_and_gradients_equal_those_of_pytorch"])
            // A level that the processor lacks is lowered to one that it has.
            .env("ZOETROPE_SIMD", level)
            .output()
            .expect("this test can start itself");
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && report.contains("1 passed"), "{level}: {report}");
    }
}
