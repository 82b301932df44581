//! Every operator of the tape against central differences.
//!
//! The number whose gradient is taken is the result times a fixed weighting, summed in f64. With a
//! step of 2⁻⁷ the truncation error is about 1e-5 of the third derivative, and the rounding of
//! results to f32 (6e-8 of a value of about 1, divided by two steps) about 1e-5 per value that
//! changes, of which there are up to some hundred. Hence a tolerance of 2e-3 of the largest
//! difference of a matrix (or of 1); a wrong term of a formula is off by far more.

use zoetrope_tensor::conformance::{Case, small_cases};
use zoetrope_tensor::{Tape, Var};

const STEP: f32 = 1.0 / 128.0;
const TOLERANCE: f64 = 2e-3;

/// A tape with the inputs of a case, to be run again and again.
struct Probe<'a> {
    case: &'a Case,
    tape: Tape,
    vars: Vec<Var>,
    weighting: Vec<f32>,
}

impl Probe<'_> {
    fn loss(&mut self, values: &[Vec<f32>]) -> f64 {
        self.tape.reset();
        self.case.place(&mut self.tape, values, &mut self.vars);
        let out = self.case.run(&mut self.tape, &self.vars);
        let terms = self.tape.value(out).iter().zip(&self.weighting);
        terms.map(|(&y, &w)| f64::from(y) * f64::from(w)).sum()
    }

    fn slope(&mut self, values: &mut [Vec<f32>], input: usize, at: usize) -> f64 {
        let middle = values[input][at];
        let (above, below) = (middle + STEP, middle - STEP);
        values[input][at] = above;
        let high = self.loss(values);
        values[input][at] = below;
        let low = self.loss(values);
        values[input][at] = middle;
        (high - low) / (f64::from(above) - f64::from(below))
    }
}

fn check(case: &Case, wrong: &mut Vec<String>) {
    let (result, gradients) = case.results();
    let mut values = case.values();
    let weighting = case.weighting(result.len());
    let mut probe = Probe { case, tape: Tape::new(), vars: Vec::new(), weighting };
    for (input, gradient) in gradients.iter().enumerate() {
        let count = gradient.len();
        let slopes: Vec<f64> = (0..count).map(|at| probe.slope(&mut values, input, at)).collect();
        let scale = slopes.iter().fold(1.0f64, |scale, slope| scale.max(slope.abs()));
        let is_wrong = |&at: &usize| {
            let apart = (slopes[at] - f64::from(gradient[at])).abs();
            apart.is_nan() || apart > TOLERANCE * scale
        };
        if let Some(at) = (0..count).find(is_wrong) {
            let (name, got, slope) = (&case.name, gradient[at], slopes[at]);
            wrong.push(format!("{name}: gradient {at} of input {input} is {got}, not {slope}"));
        }
    }
}

#[test]
fn every_operator_agrees_with_central_differences() {
    let mut wrong = Vec::new();
    small_cases().iter().for_each(|case| check(case, &mut wrong));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dropout_keeps_the_share_it_should_and_scales_it() {
    let key = zoetrope_tensor::DropoutKey { seed: 4, stream: 1, step: 2 };
    let mut tape = Tape::new();
    let x = tape.ones(100, 100);
    let y = tape.dropout(x, 0.2, key).unwrap();
    let kept = tape.value(y).iter().filter(|&&value| value == 1.25).count();
    let dropped = tape.value(y).iter().filter(|&&value| value == 0.0).count();
    assert_eq!(kept + dropped, 10_000);
    // Five standard deviations of a binomial distribution.
    assert!((7_800..=8_200).contains(&kept), "{kept} of 10000 kept");
    assert_eq!(tape.dropout(x, 0.0, key).unwrap(), x);
}

#[test]
fn the_mean_of_nothing_is_0() {
    let mut tape = Tape::new();
    let x = tape.variable(0, 3, &[]).unwrap();
    let mean = tape.mean(x);
    assert_eq!(tape.scalar(mean), 0.0);
    tape.backward(mean).unwrap();
    assert_eq!(tape.gradient(x), Some(&[][..]));
}
