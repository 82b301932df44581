//! Everything is what most things are: the most frequent class.

use super::StepBaseline;

/// Predicts, for every vertex or edge, the class that was most frequent in the training steps
/// before the query; of equally frequent ones the lowest.
///
/// The number of values may differ from step to step, as that of edges does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MajorityClass {
    training_steps: usize,
    seen: usize,
    counts: Vec<u64>,
}

impl MajorityClass {
    /// Counts classes `0..classes` in the first `training_steps` observed steps.
    pub fn new(classes: u32, training_steps: usize) -> Self {
        Self { training_steps, seen: 0, counts: vec![0; classes as usize] }
    }

    /// The most frequent class so far; class 0 if nothing was observed.
    pub fn class(&self) -> u32 {
        let most = self.counts.iter().max().copied().unwrap_or(0);
        self.counts.iter().position(|&count| count == most).unwrap_or(0) as u32
    }
}

impl StepBaseline for MajorityClass {
    fn name(&self) -> &'static str {
        "majority_class"
    }

    fn predict(&self, out: &mut [f32]) {
        out.fill(self.class() as f32);
    }

    /// # Panics
    /// If a class is not below the number of classes.
    fn observe(&mut self, truth: &[f32]) {
        self.seen += 1;
        if self.seen > self.training_steps {
            return;
        }
        for &class in truth.iter().filter(|class| !class.is_nan()) {
            assert!(class >= 0.0 && class.fract() == 0.0, "{class} is not the number of a class");
            self.counts[class as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_class_of_training_wins_and_the_lowest_of_equals() {
        let mut baseline = MajorityClass::new(3, 2);
        assert_eq!(baseline.class(), 0);
        baseline.observe(&[2.0, 1.0, f32::NAN]);
        assert_eq!(baseline.class(), 1);
        baseline.observe(&[2.0]);
        baseline.observe(&[0.0; 9]);
        let mut out = [0.0; 2];
        baseline.predict(&mut out);
        assert_eq!(out, [2.0, 2.0]);
    }
}
