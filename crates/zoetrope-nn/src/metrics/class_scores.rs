//! Classes judged by their decisions and, if there are two, by the order of their scores.
//!
//! Decisions say little of a class that is rare: "never" is right most of the time. With two classes the
//! scores are therefore kept, too, and average precision and AUC of class 1 are reported beside accuracy
//! and F1.

use super::classification::Classification;
use super::metric::Metric;
use super::scores::BinaryScores;
use super::undefined::Undefined;

/// Decisions of any number of classes, with the scores of two.
///
/// ```
/// # use zoetrope_nn::metrics::{ClassScores, Metric};
/// let mut classes = ClassScores::new(2);
/// classes.add_rows(&[0.9, 0.1, 0.6, 0.4, 0.5, 0.3], &[0.0, 1.0, 0.0]);
/// let report = classes.report();
/// assert!(report.contains(&(Metric::AveragePrecision, Ok(0.5))));
/// ```
#[derive(Debug, Clone)]
pub struct ClassScores {
    counts: Classification,
    /// Only if there are two classes.
    scores: Option<BinaryScores>,
    /// The score of class 1 against class 0; only memory.
    margin: Vec<f32>,
}

impl ClassScores {
    /// Judges classes `0..classes`.
    pub fn new(classes: u32) -> Self {
        Self {
            counts: Classification::new(classes),
            scores: (classes == 2).then(BinaryScores::default),
            margin: Vec::new(),
        }
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.scores.iter_mut().for_each(BinaryScores::clear);
    }

    /// Adds rows of scores, one per class, and true classes, NaN if there is none: the class with the
    /// largest score is predicted, and two classes are ordered by the difference of their scores.
    ///
    /// # Panics
    /// As [`Classification::add_rows`].
    pub fn add_rows(&mut self, scores: &[f32], truth: &[f32]) {
        self.counts.add_rows(scores, truth);
        if let Some(kept) = &mut self.scores {
            self.margin.clear();
            self.margin.extend(scores.chunks_exact(2).map(|row| row[1] - row[0]));
            kept.add(&self.margin, truth);
        }
    }

    /// Adds predicted classes as numbers and true classes, NaN if there is none: two classes are ordered
    /// by the predicted one.
    ///
    /// # Panics
    /// As [`Classification::add_numbers`].
    pub fn add_numbers(&mut self, predicted: &[f32], truth: &[f32]) {
        self.counts.add_numbers(predicted, truth);
        if let Some(kept) = &mut self.scores {
            kept.add(predicted, truth);
        }
    }

    /// All measures with their names; average precision and AUC of class 1 only if there are two classes.
    pub fn report(&mut self) -> Vec<(Metric, Result<f64, Undefined>)> {
        let ordered = self.scores.as_mut().map(BinaryScores::report);
        self.counts.report().into_iter().chain(ordered.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_class_is_judged_by_the_order_of_its_scores() {
        // Never predicted, yet found first.
        let mut classes = ClassScores::new(2);
        classes
            .add_rows(&[2.0, 0.0, 2.0, 1.0, 3.0, 0.0, f32::NAN, 0.0], &[0.0, 1.0, 0.0, f32::NAN]);
        let report = classes.report();
        assert!(report.contains(&(Metric::AveragePrecision, Ok(1.0))), "{report:?}");
        assert!(report.contains(&(Metric::Auc, Ok(1.0))), "{report:?}");
        assert!(report.contains(&(Metric::F1, Ok(0.0))), "{report:?}");
        classes.clear();
        classes.add_numbers(&[1.0, 0.0, 1.0, 0.0], &[1.0, 0.0, 0.0, 0.0]);
        let report = classes.report();
        assert!(report.contains(&(Metric::AveragePrecision, Ok(0.5))), "{report:?}");
    }

    #[test]
    fn more_than_two_classes_have_no_order() {
        let mut classes = ClassScores::new(3);
        classes.add_rows(&[1.0, 0.0, 0.0], &[0.0]);
        let ordered = |metric| matches!(metric, Metric::AveragePrecision | Metric::Auc);
        assert!(!classes.report().iter().any(|(metric, _)| ordered(*metric)));
    }
}
