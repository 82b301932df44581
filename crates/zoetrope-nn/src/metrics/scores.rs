//! Average precision and ROC AUC of scored pairs, with every score kept.
//!
//! Thresholds run down the distinct scores; pairs with equal scores pass together, as in
//! scikit-learn. With precision P and recall R at threshold n: AP `= Σ (Rₙ - Rₙ₋₁)·Pₙ`. AUC is the
//! share of (positive, negative) couples in which the positive scores higher, equal scores
//! counting half: the area under the curve by trapezoids, but exact, as couples are integers.
//!
//! A pair is 8 bytes: the score as an integer of the same order, and the label in the lowest bit.
//! Sorting these leaves no order to chance, so neither threads nor the order of the pairs matter.

use rayon::slice::ParallelSliceMut;

use super::metric::Metric;
use super::undefined::{Undefined, check};

/// Scored pairs of two classes, accumulated over chunks; the memory is reused after a clear.
///
/// ```
/// # use zoetrope_nn::metrics::BinaryScores;
/// let mut scores = BinaryScores::default();
/// scores.add(&[0.9, 0.4, 0.6], &[1.0, 1.0, 0.0]);
/// assert_eq!(scores.auc(), Ok(0.5));
/// ```
#[derive(Debug, Clone, Default)]
pub struct BinaryScores {
    pairs: Vec<u64>,
    sorted: bool,
    positives: u64,
    missing: u64,
    not_finite: u64,
}

impl BinaryScores {
    /// Adds scores and labels: 1 is a positive, 0 a negative, NaN no label.
    ///
    /// # Panics
    /// If there are not as many of one as of the other, or a label is another number.
    pub fn add(&mut self, scores: &[f32], labels: &[f32]) {
        assert_eq!(scores.len(), labels.len(), "scores and labels");
        self.sorted = false;
        for (&score, &label) in scores.iter().zip(labels) {
            if label.is_nan() {
                self.missing += 1;
            } else if score.is_nan() {
                self.not_finite += 1;
            } else {
                assert!(label == 0.0 || label == 1.0, "label {label} is neither 0 nor 1");
                let positive = label == 1.0;
                self.positives += u64::from(positive);
                self.pairs.push(u64::from(ordered(score)) << 1 | u64::from(positive));
            }
        }
    }

    /// Adds the scores of positives, or of negatives.
    pub fn add_all(&mut self, scores: &[f32], positive: bool) {
        self.sorted = false;
        let before = self.pairs.len();
        let known = scores.iter().filter(|score| !score.is_nan());
        self.pairs.extend(known.map(|&score| u64::from(ordered(score)) << 1 | u64::from(positive)));
        let added = (self.pairs.len() - before) as u64;
        self.not_finite += scores.len() as u64 - added;
        self.positives += if positive { added } else { 0 };
    }

    /// Forgets all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.clear();
        (self.positives, self.missing, self.not_finite) = (0, 0, 0);
    }

    /// How many pairs count.
    pub fn observations(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// How many were left out because they have no label.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Average precision over all pairs together.
    ///
    /// # Errors
    /// [`Undefined::NoPositives`] if there is nothing to find (scikit-learn warns and says 0),
    /// and if nothing was observed or a score is NaN.
    pub fn average_precision(&mut self) -> Result<f64, Undefined> {
        self.prepare()?;
        if self.positives == 0 {
            return Err(Undefined::NoPositives { negatives: self.observations() });
        }
        let (mut passed, mut found, mut sum) = (0, 0, 0.0);
        for group in self.groups_descending() {
            let positives = positives_of(group);
            passed += group.len() as u64;
            found += positives;
            sum += positives as f64 * (found as f64 / passed as f64);
        }
        Ok(sum / self.positives as f64)
    }

    /// Area under the receiver operating characteristic.
    ///
    /// # Errors
    /// If there is no positive, no negative or nothing at all, or a score is NaN.
    pub fn auc(&mut self) -> Result<f64, Undefined> {
        self.prepare()?;
        let negatives = self.observations() - self.positives;
        match (self.positives, negatives) {
            (0, negatives) => return Err(Undefined::NoPositives { negatives }),
            (positives, 0) => return Err(Undefined::NoNegatives { positives }),
            _ => {}
        }
        let (mut above, mut twice_won) = (0, 0u128);
        for group in self.groups_descending() {
            let positives = positives_of(group);
            let negatives = group.len() as u64 - positives;
            twice_won += u128::from(negatives) * u128::from(2 * above + positives);
            above += positives;
        }
        let couples = u128::from(self.positives) * u128::from(negatives);
        Ok(twice_won as f64 / 2.0 / couples as f64)
    }

    /// Both measures with their names.
    pub fn report(&mut self) -> [(Metric, Result<f64, Undefined>); 2] {
        [(Metric::AveragePrecision, self.average_precision()), (Metric::Auc, self.auc())]
    }

    fn prepare(&mut self) -> Result<(), Undefined> {
        check(self.observations(), self.not_finite)?;
        if !self.sorted {
            self.pairs.par_sort_unstable();
            self.sorted = true;
        }
        Ok(())
    }

    fn groups_descending(&self) -> impl Iterator<Item = &[u64]> {
        self.pairs.chunk_by(|left, right| left >> 1 == right >> 1).rev()
    }
}

/// Positives among pairs of one score; they come last, as their label bit is set.
fn positives_of(group: &[u64]) -> u64 {
    (group.len() - group.partition_point(|pair| pair & 1 == 0)) as u64
}

/// A number as an integer of the same order; -0 and 0 are one, NaN does not come here.
pub(super) fn ordered(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    match bits >> 31 {
        0 => bits | 1 << 31,
        _ => !bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_integers_are_in_the_order_of_the_numbers() {
        let numbers = [f32::NEG_INFINITY, -1.0, -1e-40, 0.0, 1e-40, 2.0, f32::INFINITY];
        assert!(numbers.map(ordered).is_sorted_by(|left, right| left < right));
        assert_eq!(ordered(-0.0), ordered(0.0));
    }

    #[test]
    fn one_class_only_has_no_area_and_positives_alone_are_found_precisely() {
        let mut scores = BinaryScores::default();
        assert_eq!(scores.auc(), Err(Undefined::NoObservations));
        scores.add(&[0.1, 0.2], &[0.0, 0.0]);
        assert_eq!(scores.average_precision(), Err(Undefined::NoPositives { negatives: 2 }));
        assert_eq!(scores.auc(), Err(Undefined::NoPositives { negatives: 2 }));
        scores.clear();
        scores.add(&[0.1, 0.2], &[1.0, 1.0]);
        assert_eq!(scores.auc(), Err(Undefined::NoNegatives { positives: 2 }));
        assert_eq!(scores.average_precision(), Ok(1.0));
    }

    #[test]
    fn scores_that_are_all_equal_are_worth_a_coin() {
        let mut scores = BinaryScores::default();
        scores.add(&[0.5; 4], &[1.0, 0.0, 0.0, 0.0]);
        assert_eq!(scores.auc(), Ok(0.5));
        assert_eq!(scores.average_precision(), Ok(0.25));
    }

    #[test]
    fn nan_scores_are_reported_and_nan_labels_left_out() {
        let mut scores = BinaryScores::default();
        scores.add(&[0.5, f32::NAN], &[1.0, f32::NAN]);
        assert_eq!((scores.average_precision(), scores.missing()), (Ok(1.0), 1));
        scores.add(&[f32::NAN], &[1.0]);
        assert_eq!(scores.auc(), Err(Undefined::NotFinite { count: 1 }));
    }

    #[test]
    fn pairs_added_after_a_measure_count_in_the_next() {
        let mut scores = BinaryScores::default();
        scores.add(&[0.2, 0.9], &[0.0, 1.0]);
        assert_eq!(scores.auc(), Ok(1.0));
        scores.add(&[0.1], &[1.0]);
        assert_eq!(scores.auc(), Ok(0.5));
    }
}
