//! Tomorrow is like the average day: the mean of each vertex over the training steps.

use super::StepBaseline;

/// Predicts the mean target of each vertex over the training steps before the query.
///
/// Steps after training are told like all others and ignored, so the mean is that of the training
/// part and not a moving one. A vertex without a known value gets the mean of all known values,
/// and 0 if there is none at all.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoricalMean {
    training_steps: usize,
    seen: usize,
    sums: Vec<f64>,
    counts: Vec<u32>,
}

impl HistoricalMean {
    /// The first `training_steps` observed steps count.
    pub fn new(vertices: usize, training_steps: usize) -> Self {
        Self { training_steps, seen: 0, sums: vec![0.0; vertices], counts: vec![0; vertices] }
    }

    fn overall(&self) -> f64 {
        let count: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        self.sums.iter().sum::<f64>() / count.max(1) as f64
    }
}

impl StepBaseline for HistoricalMean {
    fn name(&self) -> &'static str {
        "historical_mean"
    }

    fn predict(&self, out: &mut [f32]) {
        assert_eq!(out.len(), self.sums.len(), "vertices");
        let overall = self.overall();
        for ((out, sum), &count) in out.iter_mut().zip(&self.sums).zip(&self.counts) {
            *out = match count {
                0 => overall,
                count => sum / f64::from(count),
            } as f32;
        }
    }

    fn observe(&mut self, truth: &[f32]) {
        assert_eq!(truth.len(), self.sums.len(), "vertices");
        self.seen += 1;
        if self.seen > self.training_steps {
            return;
        }
        for ((sum, count), &truth) in self.sums.iter_mut().zip(&mut self.counts).zip(truth) {
            if !truth.is_nan() {
                *sum += f64::from(truth);
                *count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(baseline: &HistoricalMean) -> [f32; 2] {
        let mut out = [0.0; 2];
        baseline.predict(&mut out);
        out
    }

    #[test]
    fn each_vertex_has_the_mean_of_its_known_training_values() {
        let mut baseline = HistoricalMean::new(2, 2);
        assert_eq!(prediction(&baseline), [0.0, 0.0]);
        baseline.observe(&[1.0, f32::NAN]);
        assert_eq!(prediction(&baseline), [1.0, 1.0]);
        baseline.observe(&[3.0, 8.0]);
        assert_eq!(prediction(&baseline), [2.0, 8.0]);
    }

    #[test]
    fn steps_after_training_do_not_move_the_mean() {
        let mut baseline = HistoricalMean::new(2, 1);
        baseline.observe(&[1.0, 2.0]);
        baseline.observe(&[100.0, 200.0]);
        assert_eq!(prediction(&baseline), [1.0, 2.0]);
    }
}
