//! Right and wrong classes.
//!
//! Per class `c` with true positives TP, false positives FP and false negatives FN:
//! F1 `= 2·TP / (2·TP + FP + FN)`. As in scikit-learn, the averages are over the classes that
//! occur in the predictions or in the true classes, and a class that occurs in neither has no F1.
//!
//! Three counts per class are kept, not the matrix of all pairs of classes: memory grows with the
//! number of classes, not with its square.

use super::metric::Metric;
use super::undefined::{Undefined, check};

/// Predicted against true classes, accumulated over chunks.
///
/// ```
/// # use zoetrope_nn::metrics::Classification;
/// let mut counts = Classification::new(3);
/// counts.add(&[0, 1, 1, 2], &[0, 1, 2, 2]);
/// assert_eq!(counts.accuracy(), Ok(0.75));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    right: Vec<u64>,
    predicted: Vec<u64>,
    actual: Vec<u64>,
    missing: u64,
    not_finite: u64,
}

impl Classification {
    /// Counts classes `0..classes`.
    pub fn new(classes: u32) -> Self {
        let zeros = || vec![0; classes as usize];
        Self { right: zeros(), predicted: zeros(), actual: zeros(), missing: 0, not_finite: 0 }
    }

    /// Adds predicted and true classes.
    ///
    /// # Panics
    /// If there are not as many of one as of the other, or a class is not below the number of
    /// classes.
    pub fn add(&mut self, predicted: &[u32], truth: &[u32]) {
        assert_eq!(predicted.len(), truth.len(), "predictions and true classes");
        for (&predicted, &truth) in predicted.iter().zip(truth) {
            self.add_one(predicted as usize, truth as usize);
        }
    }

    /// Adds predicted and true classes that are kept as numbers; NaN if there is no true class.
    ///
    /// # Panics
    /// If there are not as many of one as of the other, or a number is not a class below the
    /// number of classes.
    pub fn add_numbers(&mut self, predicted: &[f32], truth: &[f32]) {
        assert_eq!(predicted.len(), truth.len(), "predictions and true classes");
        for (&predicted, &truth) in predicted.iter().zip(truth) {
            if truth.is_nan() {
                self.missing += 1
            } else {
                self.add_one(class_of(predicted), class_of(truth))
            }
        }
    }

    /// Adds rows of scores, one per class; the class with the largest score is predicted, the
    /// lowest-numbered of those that share it. True classes are whole numbers, NaN if a row
    /// has none.
    ///
    /// # Panics
    /// If `scores` does not have a row for each true class, or a class is not below the number
    /// of classes.
    pub fn add_rows(&mut self, scores: &[f32], truth: &[f32]) {
        let classes = self.right.len();
        assert_eq!(scores.len(), truth.len() * classes, "rows of scores");
        for (row, &truth) in scores.chunks_exact(classes.max(1)).zip(truth) {
            if truth.is_nan() {
                self.missing += 1;
                continue;
            }
            match largest(row) {
                Some(predicted) => self.add_one(predicted, class_of(truth)),
                None => self.not_finite += 1,
            }
        }
    }

    /// Adds scores of two classes: class 1 is predicted if the score is above `threshold`.
    ///
    /// # Panics
    /// If there are not as many scores as true classes, there are not two classes, or a true
    /// class is neither 0 nor 1 nor NaN.
    pub fn add_binary(&mut self, scores: &[f32], threshold: f32, truth: &[f32]) {
        assert_eq!(scores.len(), truth.len(), "scores and true classes");
        assert_eq!(self.right.len(), 2, "classes");
        for (&score, &truth) in scores.iter().zip(truth) {
            match (truth.is_nan(), score.is_nan()) {
                (true, _) => self.missing += 1,
                (_, true) => self.not_finite += 1,
                _ => self.add_one(usize::from(score > threshold), class_of(truth)),
            }
        }
    }

    fn add_one(&mut self, predicted: usize, truth: usize) {
        self.predicted[predicted] += 1;
        self.actual[truth] += 1;
        self.right[truth] += u64::from(predicted == truth);
    }

    /// Adds what another accumulator has seen.
    ///
    /// # Panics
    /// If the number of classes differs.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.right.len(), other.right.len(), "classes");
        for (ours, theirs) in [
            (&mut self.right, &other.right),
            (&mut self.predicted, &other.predicted),
            (&mut self.actual, &other.actual),
        ] {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs);
        }
        self.missing += other.missing;
        self.not_finite += other.not_finite;
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        for counts in [&mut self.right, &mut self.predicted, &mut self.actual] {
            counts.fill(0);
        }
        (self.missing, self.not_finite) = (0, 0);
    }

    /// How many observations count.
    pub fn observations(&self) -> u64 {
        self.actual.iter().sum()
    }

    /// How many were left out because they have no true class.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Share of right classes.
    ///
    /// # Errors
    /// If nothing was observed or a score is not a number.
    pub fn accuracy(&self) -> Result<f64, Undefined> {
        check(self.observations(), self.not_finite)?;
        Ok(self.right.iter().sum::<u64>() as f64 / self.observations() as f64)
    }

    /// F1 of one class; that of class 1 is the F1 of a binary task.
    ///
    /// # Errors
    /// As [`accuracy`](Self::accuracy), and [`Undefined::AbsentClass`] if the class does not
    /// occur (scikit-learn warns and says 0).
    pub fn f1_of(&self, class: u32) -> Result<f64, Undefined> {
        check(self.observations(), self.not_finite)?;
        let class_index = class as usize;
        if class_index < self.right.len() && self.occurs(class_index) {
            Ok(self.f1_at(class_index))
        } else {
            Err(Undefined::AbsentClass { class })
        }
    }

    /// Mean F1 of the classes that occur.
    ///
    /// # Errors
    /// As [`accuracy`](Self::accuracy).
    pub fn f1_macro(&self) -> Result<f64, Undefined> {
        self.f1_mean(|_| 1)
    }

    /// F1 of all decisions counted together; with one class per row it equals the accuracy.
    ///
    /// # Errors
    /// As [`accuracy`](Self::accuracy).
    pub fn f1_micro(&self) -> Result<f64, Undefined> {
        self.accuracy()
    }

    /// Mean F1 of the classes, weighted by how often each is true.
    ///
    /// # Errors
    /// As [`accuracy`](Self::accuracy).
    pub fn f1_weighted(&self) -> Result<f64, Undefined> {
        self.f1_mean(|class| self.actual[class])
    }

    /// All measures with their names; F1 of class 1 only if there are two classes.
    pub fn report(&self) -> Vec<(Metric, Result<f64, Undefined>)> {
        let binary = (self.right.len() == 2).then(|| (Metric::F1, self.f1_of(1)));
        [(Metric::Accuracy, self.accuracy())]
            .into_iter()
            .chain(binary)
            .chain([
                (Metric::F1Macro, self.f1_macro()),
                (Metric::F1Micro, self.f1_micro()),
                (Metric::F1Weighted, self.f1_weighted()),
            ])
            .collect()
    }

    fn occurs(&self, class: usize) -> bool {
        self.predicted[class] + self.actual[class] > 0
    }

    fn f1_at(&self, class: usize) -> f64 {
        2.0 * self.right[class] as f64 / (self.predicted[class] + self.actual[class]) as f64
    }

    fn f1_mean(&self, weight: impl Fn(usize) -> u64) -> Result<f64, Undefined> {
        check(self.observations(), self.not_finite)?;
        let occurring = (0..self.right.len()).filter(|&class| self.occurs(class));
        let (sum, weights) = occurring.fold((0.0, 0), |(sum, weights), class| {
            (sum + weight(class) as f64 * self.f1_at(class), weights + weight(class))
        });
        Ok(sum / weights as f64)
    }
}

/// A class as a place.
fn class_of(class: f32) -> usize {
    assert!(class >= 0.0 && class.fract() == 0.0, "{class} is not the number of a class");
    class as usize
}

/// The place of the largest score, the first of equals; `None` if a score is NaN.
fn largest(row: &[f32]) -> Option<usize> {
    let mut best = 0;
    for (place, &score) in row.iter().enumerate() {
        if score.is_nan() {
            return None;
        }
        if score > row[best] {
            best = place;
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_scores_wins_and_rows_without_a_class_are_left_out() {
        let mut counts = Classification::new(2);
        counts.add_rows(&[1.0, 1.0, 0.0, 2.0, 3.0, 0.0], &[0.0, 1.0, f32::NAN]);
        assert_eq!((counts.accuracy(), counts.missing()), (Ok(1.0), 1));
    }

    #[test]
    fn classes_may_come_as_numbers() {
        let mut counts = Classification::new(3);
        counts.add_numbers(&[2.0, 1.0, 0.0], &[2.0, f32::NAN, 1.0]);
        assert_eq!((counts.accuracy(), counts.missing()), (Ok(0.5), 1));
    }

    #[test]
    fn a_score_that_is_no_number_is_reported() {
        let mut counts = Classification::new(2);
        counts.add_rows(&[f32::NAN, 1.0], &[1.0]);
        assert_eq!(counts.f1_macro(), Err(Undefined::NotFinite { count: 1 }));
        counts.clear();
        counts.add_binary(&[f32::NAN, 3.0], 0.0, &[1.0, 1.0]);
        assert_eq!(counts.accuracy(), Err(Undefined::NotFinite { count: 1 }));
    }

    #[test]
    fn a_class_that_does_not_occur_has_no_f1_and_does_not_lower_the_mean() {
        let mut counts = Classification::new(5);
        assert_eq!(counts.accuracy(), Err(Undefined::NoObservations));
        counts.add(&[0, 1], &[0, 1]);
        assert_eq!(counts.f1_of(4), Err(Undefined::AbsentClass { class: 4 }));
        assert_eq!(counts.f1_of(9), Err(Undefined::AbsentClass { class: 9 }));
        assert_eq!(counts.f1_macro(), Ok(1.0));
    }

    #[test]
    fn binary_scores_are_positive_above_the_threshold() {
        let mut counts = Classification::new(2);
        counts.add_binary(&[0.5, 0.6, 0.4], 0.5, &[0.0, 1.0, 1.0]);
        assert_eq!(counts.f1_of(1), Ok(2.0 / 3.0));
    }
}
