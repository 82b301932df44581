//! Time encodings: `y[i, k] = cos(w[k]·Δt[i] + b[k])` for exact time differences.
//!
//! A difference of years in nanoseconds times a weight of 1 is a phase of 1e17, of which f32 knows
//! nothing: the phase is an f64, and only what is left of it after whole turns becomes an f32.
//! Weights and biases are divided by 2π beforehand, so that taking whole turns away is one
//! rounding and one subtraction, both exact. The quarter nearest to a zero of the function is then
//! a polynomial (`math_fit.py`).
//!
//! Largest error against the cosine of the f64 phase: 4e-7 for phases up to 1e9, of which 3e-7 are
//! the rounding of the phase itself (in both). Beyond 1e15 an f64 phase is not known to a turn:
//! results stay in [−1, 1] and mean nothing.
//!
//! Measured with the example `stream` (15 November 2026, one core of a busy two-core AMD EPYC virtual
//! machine with AVX-512, shortest of many runs): 0.33 ns a value forward and 0.67 ns backward, rows
//! of 100; the arithmetic alone would take about half of that.
//!
//! The backward pass makes the sines again instead of keeping them. Sums over rows are taken in blocks
//! of `ROWS` rows, joined in order.

use pulp::{Simd, WithSimd};

use super::blocks::{for_each_block, rows_per_block, sum_over_blocks};
use super::scratch::{self, Scratch};
use super::simd::current;

/// Rows whose gradients are added before blocks are joined.
const ROWS: usize = 64;
/// Adding and subtracting it leaves the nearest integer, of numbers below 2⁵¹.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// sin(2πu) = u·Q(u²) for |u| ≤ 1/4, error 3e-9.
#[allow(clippy::approx_constant, reason = "fitted, as the others are")]
const SINE: [f32; 5] = [6.283_185, -41.341_656, 81.601_006, -76.549_78, 39.536_705];

/// Weights and biases of an encoding, in turns instead of radians.
pub(crate) struct Turns {
    both: Scratch,
    width: usize,
}

impl Turns {
    /// An encoding of `width` values, those beyond the weights all 0: whole vectors are faster.
    ///
    /// # Panics
    ///
    /// When there is not one bias for each weight, or more weights than values.
    pub(crate) fn new(weight: &[f32], bias: &[f32], width: usize) -> Self {
        assert!(weight.len() == bias.len() && bias.len() <= width, "one bias per weight");
        let mut both = scratch::take(4 * width);
        let (weights, biases) = bytemuck::cast_slice_mut::<f32, f64>(&mut both).split_at_mut(width);
        weights.fill(0.0);
        // The cosine of a quarter of a turn is 0, here without any error.
        biases.fill(0.25);
        for (turns, radians) in [(weights, weight), (biases, bias)] {
            for (turns, radians) in turns.iter_mut().zip(radians) {
                *turns = f64::from(*radians) / std::f64::consts::TAU;
            }
        }
        Self { both, width }
    }

    #[inline(always)]
    fn parts(&self) -> (&[f64], &[f64]) {
        bytemuck::cast_slice::<f32, f64>(&self.both).split_at(self.width)
    }

    /// The encoding of one difference.
    #[inline(always)]
    pub(crate) fn cosines<S: Simd>(&self, _: S, delta: f64, cosines: &mut [f32]) {
        let (weight, bias) = self.parts();
        for ((w, b), cosine) in weight.iter().zip(bias).zip(cosines) {
            *cosine = sine::<S>(quarter(part_of_turn::<S>(*w, delta, *b)));
        }
    }

    /// The encoding of one difference, and the sines of the same phases.
    #[inline(always)]
    pub(crate) fn both<S: Simd>(&self, _: S, delta: f64, cosines: &mut [f32], sines: &mut [f32]) {
        let (weight, bias) = self.parts();
        let out = cosines.iter_mut().zip(sines);
        for ((w, b), (cosine, sine_of)) in weight.iter().zip(bias).zip(out) {
            let part = part_of_turn::<S>(*w, delta, *b);
            let u = quarter(part);
            *cosine = sine::<S>(u);
            *sine_of = sine::<S>(0.25 - u.abs()).copysign(part);
        }
    }

    /// The sines of the phases of one difference.
    #[inline(always)]
    fn sines<S: Simd>(&self, _: S, delta: f64, sines: &mut [f32]) {
        let (weight, bias) = self.parts();
        for ((w, b), sine_of) in weight.iter().zip(bias).zip(sines) {
            let part = part_of_turn::<S>(*w, delta, *b);
            *sine_of = sine::<S>(0.25 - quarter(part).abs()).copysign(part);
        }
    }
}

/// What is left of the phase after whole turns, from −1/2 to 1/2.
#[inline(always)]
fn part_of_turn<S: Simd>(w: f64, delta: f64, b: f64) -> f32 {
    // A single lane may lack these instructions, and would call functions instead.
    if S::F32_LANES == 1 {
        let turns = w * delta + b;
        return (turns - ((turns + ROUND) - ROUND)) as f32;
    }
    let turns = w.mul_add(delta, b);
    (turns - turns.round_ties_even()) as f32
}

/// u with cos(2π·part) = sin(2πu), from −1/4 to 1/4.
#[inline(always)]
fn quarter(part: f32) -> f32 {
    let u = 0.25 - part.abs();
    // Phases too large to be rounded end here; NaN stays NaN.
    if u < -0.25 { -0.25 } else { u }
}

#[inline(always)]
fn sine<S: Simd>(u: f32) -> f32 {
    let square = u * u;
    let mut sum = SINE[4];
    for i in (0..4).rev() {
        sum = if S::F32_LANES == 1 { sum * square + SINE[i] } else { sum.mul_add(square, SINE[i]) };
    }
    sum * u
}

/// Writes `y` [rows, T] for one difference a row.
///
/// # Panics
///
/// When a length does not fit.
pub fn time_encoding_forward(deltas: &[f64], weight: &[f32], bias: &[f32], y: &mut [f32]) {
    let width = weight.len();
    assert_eq!(y.len(), deltas.len() * width, "one row per difference");
    let turns = Turns::new(weight, bias, width);
    let (cpu, rows) = (current(), rows_per_block(4 * width));
    for_each_block(y, rows * width, |i, y| {
        cpu.run(Forward { turns: &turns, deltas: &deltas[i * rows..], y });
    });
}

struct Forward<'a> {
    turns: &'a Turns,
    deltas: &'a [f64],
    y: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (delta, y) in self.deltas.iter().zip(self.y.chunks_exact_mut(self.turns.width)) {
            self.turns.cosines(simd, *delta, y);
        }
    }
}

/// Adds the gradients of [`time_encoding_forward`].
///
/// # Panics
///
/// When a length does not fit.
pub fn time_encoding_backward(
    deltas: &[f64],
    weight: &[f32],
    bias: &[f32],
    dy: &[f32],
    d_weight: Option<&mut [f32]>,
    d_bias: Option<&mut [f32]>,
) {
    let width = weight.len();
    assert_eq!(dy.len(), deltas.len() * width, "one row per difference");
    let turns = Turns::new(weight, bias, width);
    let cpu = current();
    let mut total = scratch::zeroed(2 * width);
    sum_over_blocks(deltas.len().div_ceil(ROWS), &mut total, |i, part| {
        let from = i * ROWS;
        let to = deltas.len().min(from + ROWS);
        let (deltas, dy) = (&deltas[from..to], &dy[from * width..to * width]);
        cpu.run(Backward { turns: &turns, deltas, dy, part });
    });
    let (weights, biases) = total.split_at(width);
    subtract(d_weight, weights);
    subtract(d_bias, biases);
}

/// Joins the sums of sin·Δt·dy and sin·dy to the gradients.
pub(crate) fn subtract(gradient: Option<&mut [f32]>, sums: &[f32]) {
    let Some(gradient) = gradient else { return };
    assert_eq!(gradient.len(), sums.len(), "one gradient per weight and bias");
    for (d, sum) in gradient.iter_mut().zip(sums) {
        *d -= sum;
    }
}

struct Backward<'a> {
    turns: &'a Turns,
    deltas: &'a [f64],
    dy: &'a [f32],
    part: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.turns.width;
        let (weights, biases) = self.part.split_at_mut(width);
        let mut sines = scratch::take(width);
        for (delta, dy) in self.deltas.iter().zip(self.dy.chunks_exact(width)) {
            self.turns.sines(simd, *delta, &mut sines);
            let delta = *delta as f32;
            for (((w, b), sine), dy) in
                weights.iter_mut().zip(biases.iter_mut()).zip(sines.iter()).zip(dy)
            {
                let slope = sine * dy;
                *b += slope;
                *w += slope * delta;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{
        added, assert_close, everywhere, exact, numbers, slopes, weighted,
    };

    fn reference(deltas: &[f64], weight: &[f64], bias: &[f64]) -> Vec<f64> {
        let row = |delta: &f64| {
            let delta = *delta;
            weight.iter().zip(bias).map(move |(w, b)| (w * delta + b).cos()).collect::<Vec<_>>()
        };
        deltas.iter().flat_map(row).collect()
    }

    #[test]
    fn phases_up_to_a_thousand_million_are_right_to_a_millionth() {
        let mut deltas: Vec<f64> = vec![0.0, 1.0, -1.0, 0.25, 1e9, -1e9];
        deltas.extend(numbers(1, 4000, 1.0).iter().enumerate().map(|(at, x)| {
            let size = 10f64.powi(at as i32 % 10);
            (f64::from(*x) * size * 64.0).round() / 64.0
        }));
        for width in [1, 2, 7, 100] {
            let mut weight = numbers(2, width, 1.0);
            weight[0] = 1.0;
            let bias = numbers(3, width, 4.0);
            let expected = reference(&deltas, &exact(&weight), &exact(&bias));
            let run = || {
                let mut y = vec![f32::NAN; deltas.len() * width];
                time_encoding_forward(&deltas, &weight, &bias, &mut y);
                y
            };
            everywhere(run, |level, y| assert_close(level, y, &expected, 1e-6));
        }
    }

    #[test]
    fn whatever_the_phase_results_stay_within_one() {
        let deltas = [1e15, 9e18, -1.7e19, 1e200, f64::NAN];
        let run = || {
            let mut y = vec![0.0; 10];
            time_encoding_forward(&deltas, &[1.0, 0.3], &[0.5, 0.0], &mut y);
            y
        };
        everywhere(run, |_, y| {
            assert!(y[..8].iter().all(|y| y.abs() <= 1.000_000_1), "{y:?}");
            assert!(y[8].is_nan() && y[9].is_nan());
        });
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        for (rows, width) in [(1, 1), (5, 3), (200, 17)] {
            let deltas: Vec<f64> = exact(&numbers(1, rows, 3.0));
            let (weight, bias) = (numbers(2, width, 1.0), numbers(3, width, 2.0));
            let dy = numbers(4, rows * width, 1.0);
            let (w, b) = (exact(&weight), exact(&bias));
            let mut expected =
                slopes(|w: &[f64]| weighted(&reference(&deltas, w, &b), &dy), &weight);
            expected.extend(slopes(|b: &[f64]| weighted(&reference(&deltas, &w, b), &dy), &bias));
            let run = || {
                let mut d = vec![1.0; 2 * width];
                let (d_weight, d_bias) = d.split_at_mut(width);
                let (d_weight, d_bias) = (Some(d_weight), Some(d_bias));
                time_encoding_backward(&deltas, &weight, &bias, &dy, d_weight, d_bias);
                d
            };
            everywhere(run, |level, d| assert_close(level, d, &added(&expected), 2e-5));
        }
    }
}
