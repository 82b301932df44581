//! A device against the processor, case by case.

use super::attention_paths::attention_paths;
use super::large::large;
use super::sequences::sequences;
use super::shapes::shapes;
use super::sparse_products::sparse_products;
use super::stacked::stacked;
use super::{Case, small_cases};
use crate::Device;

/// How far results may lie apart, relative to the largest value of the matrix, or to 1 if that
/// is smaller: that of the golden values.
pub const TOLERANCE: f32 = 1e-5;

/// One case on two devices.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The case.
    pub name: String,
    /// The largest relative difference of the result and all gradients; infinite if one of them
    /// is not a number or has another length.
    pub difference: f32,
    /// Which matrix that was.
    pub matrix: String,
    /// How far they may lie apart.
    pub tolerance: f32,
}

impl Comparison {
    /// Whether the device agrees with the processor.
    pub fn agrees(&self) -> bool {
        self.difference <= self.tolerance
    }
}

/// Every case: small and odd shapes, and shapes that need several blocks of a GPU.
pub fn all_cases() -> Vec<Case> {
    let mut cases = small_cases();
    cases.extend(large());
    cases.extend(sequences());
    cases.extend(shapes());
    cases.extend(sparse_products());
    cases.extend(stacked());
    cases.extend(attention_paths());
    cases
}

/// Runs a case on the processor and on a device.
pub fn compare(case: &Case, device: &Device) -> Comparison {
    let (expected, expected_gradients) = case.results();
    let (got, gradients) = case.results_on(device.clone());
    let mut worst = (apart(&got, &expected), "result".to_owned());
    for (at, (got, expected)) in gradients.iter().zip(&expected_gradients).enumerate() {
        let difference = apart(got, expected);
        if difference > worst.0 {
            worst = (difference, format!("gradient of input {at}"));
        }
    }
    let tolerance = tolerance(case);
    Comparison { name: case.name.clone(), difference: worst.0, matrix: worst.1, tolerance }
}

/// Rounding of sums in another order grows with the root of their terms: rows of up to
/// [`SUMMED_COLUMNS`] values keep to [`TOLERANCE`], wider ones are given more.
fn tolerance(case: &Case) -> f32 {
    let widest = case.inputs.iter().map(|input| input.cols).max().unwrap_or(0);
    TOLERANCE * (widest as f32 / SUMMED_COLUMNS).sqrt().max(1.0)
}

/// The widest rows whose sums keep to [`TOLERANCE`] itself.
const SUMMED_COLUMNS: f32 = 1024.0;

fn apart(got: &[f32], expected: &[f32]) -> f32 {
    if got.len() != expected.len() {
        return f32::INFINITY;
    }
    let scale = expected.iter().fold(1.0f32, |scale, value| scale.max(value.abs()));
    let one = |(got, expected): (&f32, &f32)| match (got - expected).abs() {
        difference if difference.is_nan() && !(got.is_nan() && expected.is_nan()) => f32::INFINITY,
        difference => difference / scale,
    };
    got.iter().zip(expected).map(one).fold(0.0, f32::max)
}
