//! Average precision and ROC AUC if negatives are too many to keep.
//!
//! Precision and recall change the sum of average precision only if a positive passes, so it
//! is enough to know, for each distinct score of a positive, how many negatives score as high.
//! The scores of the positives are kept and each negative is counted in the gap between two of
//! them: 59 million negatives of one snapshot cost no memory. Results equal those of
//! [`BinaryScores`](super::BinaryScores).

use super::metric::Metric;
use super::scores::ordered;
use super::undefined::{Undefined, check};

/// Negatives counted against the scores of all positives.
///
/// ```
/// # use zoetrope_nn::metrics::PositiveThresholds;
/// let mut scores = PositiveThresholds::default();
/// scores.begin(&[0.9, 0.4]);
/// scores.add_negatives(&[0.6]);
/// assert_eq!(scores.auc(), Ok(0.5));
/// ```
#[derive(Debug, Clone, Default)]
pub struct PositiveThresholds {
    /// Distinct scores of positives, ascending.
    thresholds: Vec<u32>,
    /// Scores of positives, ascending, before equal ones are joined.
    sorted: Vec<u32>,
    /// Positives with each score.
    positives: Vec<u64>,
    /// Negatives with each score.
    equal: Vec<u64>,
    /// Negatives below the first score, then above each score and below the next.
    between: Vec<u64>,
    not_finite: u64,
}

impl PositiveThresholds {
    /// Forgets everything, keeps the memory and takes the scores of all positives.
    pub fn begin(&mut self, positives: &[f32]) {
        self.sorted.clear();
        self.sorted.extend(positives.iter().filter(|score| !score.is_nan()).map(|&s| ordered(s)));
        self.not_finite = (positives.len() - self.sorted.len()) as u64;
        self.sorted.sort_unstable();
        self.thresholds.clear();
        self.positives.clear();
        for group in self.sorted.chunk_by(|left, right| left == right) {
            self.thresholds.push(group[0]);
            self.positives.push(group.len() as u64);
        }
        self.equal.clear();
        self.equal.resize(self.thresholds.len(), 0);
        self.between.clear();
        self.between.resize(self.thresholds.len() + 1, 0);
    }

    /// Counts negatives; any number of calls.
    pub fn add_negatives(&mut self, negatives: &[f32]) {
        if self.between.is_empty() {
            self.begin(&[]);
        }
        negatives.iter().for_each(|&score| self.add_negative(score));
    }

    /// Counts the pairs whose label is 0; positives are known already and passed over.
    ///
    /// # Panics
    /// If there are not as many scores as labels.
    pub fn add_negatives_among(&mut self, scores: &[f32], labels: &[f32]) {
        assert_eq!(scores.len(), labels.len(), "scores and labels");
        if self.between.is_empty() {
            self.begin(&[]);
        }
        for (&score, _) in scores.iter().zip(labels).filter(|(_, label)| **label == 0.0) {
            self.add_negative(score);
        }
    }

    fn add_negative(&mut self, score: f32) {
        if score.is_nan() {
            self.not_finite += 1;
            return;
        }
        match self.thresholds.binary_search(&ordered(score)) {
            Ok(place) => self.equal[place] += 1,
            Err(place) => self.between[place] += 1,
        }
    }

    /// How many pairs count.
    pub fn observations(&self) -> u64 {
        self.sorted.len() as u64 + self.negatives()
    }

    /// Average precision over all pairs together.
    ///
    /// # Errors
    /// If there is no positive or nothing at all, or a score is NaN.
    pub fn average_precision(&self) -> Result<f64, Undefined> {
        check(self.observations(), self.not_finite)?;
        let total = self.sorted.len() as u64;
        if total == 0 {
            return Err(Undefined::NoPositives { negatives: self.negatives() });
        }
        let (mut passed, mut found, mut sum) = (0, 0, 0.0);
        for place in (0..self.thresholds.len()).rev() {
            found += self.positives[place];
            passed += self.between[place + 1] + self.equal[place] + self.positives[place];
            sum += self.positives[place] as f64 * (found as f64 / passed as f64);
        }
        Ok(sum / total as f64)
    }

    /// Area under the receiver operating characteristic.
    ///
    /// # Errors
    /// If there is no positive, no negative or nothing at all, or a score is NaN.
    pub fn auc(&self) -> Result<f64, Undefined> {
        check(self.observations(), self.not_finite)?;
        let (positives, negatives) = (self.sorted.len() as u64, self.negatives());
        match (positives, negatives) {
            (0, negatives) => return Err(Undefined::NoPositives { negatives }),
            (positives, 0) => return Err(Undefined::NoNegatives { positives }),
            _ => {}
        }
        let (mut below, mut twice_won) = (0, 0u128);
        for place in 0..self.thresholds.len() {
            below += self.between[place];
            let beaten = 2 * below + self.equal[place];
            twice_won += u128::from(self.positives[place]) * u128::from(beaten);
            below += self.equal[place];
        }
        let couples = u128::from(positives) * u128::from(negatives);
        Ok(twice_won as f64 / 2.0 / couples as f64)
    }

    /// Both measures with their names.
    pub fn report(&self) -> [(Metric, Result<f64, Undefined>); 2] {
        [(Metric::AveragePrecision, self.average_precision()), (Metric::Auc, self.auc())]
    }

    fn negatives(&self) -> u64 {
        self.equal.iter().chain(&self.between).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undefined_has_a_reason() {
        let mut scores = PositiveThresholds::default();
        assert_eq!(scores.auc(), Err(Undefined::NoObservations));
        scores.add_negatives(&[1.0]);
        assert_eq!(scores.average_precision(), Err(Undefined::NoPositives { negatives: 1 }));
        scores.begin(&[1.0, 2.0]);
        assert_eq!(scores.auc(), Err(Undefined::NoNegatives { positives: 2 }));
        assert_eq!(scores.average_precision(), Ok(1.0));
        scores.add_negatives(&[f32::NAN]);
        assert_eq!(scores.average_precision(), Err(Undefined::NotFinite { count: 1 }));
    }
}
