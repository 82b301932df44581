//! M-product of vertex features: the mean over a sliding window of steps (ESDG §5.3).
//!
//! `Y_t = Σ_k M_tk X_k` with `M_tk = 1 / min(w, t)` for `max(1, t-w+1) ≤ k ≤ t` (steps from 1).
//!
//! How: time is cut into spans of `w` steps. Each window is the tail of one span plus the head of
//! the next, so with running sums of tails and heads a mean costs three additions whatever `w`
//! is. Nothing is ever subtracted: a NaN or an infinity spoils the windows it lies in and no
//! other. Sums are f64. Spans are computed in parallel, each by one thread.
//!
//! Floor: 4 bytes read and 4 written per value; each value is read twice here. Measured on
//! 10,000,000 values: 33 ms for windows of 5 and of 20, 2.4 GB/s of that
//! (conditions as in [`csr`](crate::csr)).

use rayon::prelude::*;

use crate::error::GraphError;
use crate::features::VertexFeatures;
use crate::smooth::expect_positive;

/// Values that are smoothed together: their running sums stay in the nearest cache.
const LANE: usize = 256;

/// Replaces the features of each step by the mean of those of the last `window` steps; fewer at
/// the start. Constant features stay as they are.
///
/// # Errors
/// [`GraphError::BadParameter`] if `window` is 0.
pub fn m_product_features(
    features: &VertexFeatures,
    window: usize,
) -> Result<VertexFeatures, GraphError> {
    expect_positive("window", window)?;
    let (steps, size) = (features.steps(), features.vertices() * features.width());
    let mut smooth = vec![0.0; features.values().len()];
    if !smooth.is_empty() {
        let window = window.min(steps);
        smooth.par_chunks_mut(window * size).enumerate().for_each(|(span, out)| {
            let input = &features.values()[span.saturating_sub(1) * window * size..];
            let (before, input) = input.split_at(if span == 0 { 0 } else { window * size });
            smooth_span(before, &input[..out.len()], out, size, window);
        });
    }
    VertexFeatures::new(steps, features.vertices(), features.width(), smooth)
}

/// Smooths one span; `before` is the whole span before it, or empty for the first.
fn smooth_span(before: &[f32], input: &[f32], out: &mut [f32], size: usize, window: usize) {
    let mut tails = vec![[0.0f64; LANE]; window];
    for lane in (0..size).step_by(LANE) {
        let width = LANE.min(size - lane);
        // `tails[s]` becomes the sum of steps `s + 1..` of the span before.
        if !before.is_empty() {
            for step in (0..window - 1).rev() {
                let values = &before[(step + 1) * size + lane..][..width];
                let (tail, later) = tails[step..].split_at_mut(1);
                for at in 0..width {
                    tail[0][at] = later[0][at] + f64::from(values[at]);
                }
            }
        }
        let mut head = [0.0f64; LANE];
        for (step, (input, out)) in input.chunks(size).zip(out.chunks_mut(size)).enumerate() {
            let count = if before.is_empty() { step + 1 } else { window } as f64;
            let (input, out) = (&input[lane..][..width], &mut out[lane..][..width]);
            for at in 0..width {
                head[at] += f64::from(input[at]);
                out[at] = ((tails[step][at] + head[at]) / count) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of_window(features: &VertexFeatures, step: usize, window: usize) -> Vec<f32> {
        let start = (step + 1).saturating_sub(window);
        let count = (step + 1 - start) as f64;
        let size = features.vertices() * features.width();
        (0..size)
            .map(|at| {
                let sum: f64 = (start..=step).map(|k| f64::from(features.at(k)[at])).sum();
                (sum / count) as f32
            })
            .collect()
    }

    #[test]
    fn every_window_gives_the_mean_of_its_steps() {
        let (steps, vertices, width) = (11, 100, 3);
        let values = (0..steps * vertices * width).map(|at| (at * 37 % 101) as f32).collect();
        let features = VertexFeatures::new(steps, vertices, width, values).unwrap();
        for window in [1, 2, 3, 5, 10, 11, 12, usize::MAX] {
            let smooth = m_product_features(&features, window).unwrap();
            for step in 0..steps {
                assert_eq!(smooth.at(step), mean_of_window(&features, step, window));
            }
        }
    }

    #[test]
    fn a_missing_value_spoils_only_its_windows() {
        let values = vec![1.0, f32::NAN, 3.0, 4.0, f32::INFINITY, 6.0, 7.0];
        let features = VertexFeatures::new(7, 1, 1, values).unwrap();
        let smooth = m_product_features(&features, 2).unwrap();
        assert!(smooth.values()[1].is_nan() && smooth.values()[2].is_nan());
        assert_eq!((smooth.values()[3], smooth.values()[6]), (3.5, 6.5));
    }

    #[test]
    fn constant_and_empty_features_stay() {
        let constant = VertexFeatures::new(1, 2, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(m_product_features(&constant, 5).unwrap(), constant);
        let empty = VertexFeatures::new(4, 0, 2, vec![]).unwrap();
        assert_eq!(m_product_features(&empty, 2).unwrap(), empty);
        assert!(m_product_features(&constant, 0).is_err());
    }
}
