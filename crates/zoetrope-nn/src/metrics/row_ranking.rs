//! MRR as EvolveGCN measures it: the positives of a source among all its candidates.
//!
//! For each source with at least one positive, the candidates (positives and negatives together)
//! are ordered by score; the row's value is the mean of `1 / rank` over its positives, and the
//! measure is the mean over rows. Other positives of the row push a positive back, so a source
//! with many links cannot reach 1: figures are not comparable with those of
//! [`Ranking`](super::Ranking).
//!
//! If scores are equal, candidates that share a score share the rank that the tie rule gives
//! the group's members: its first place, its last, or the mean of both.

use super::metric::Metric;
use super::ranking::TieRule;
use super::scores::ordered;
use super::undefined::{Undefined, check};

/// Rows of candidates, accumulated one by one; the memory is reused.
///
/// ```
/// # use zoetrope_nn::metrics::{RowRanking, TieRule};
/// let mut ranks = RowRanking::new(TieRule::Average);
/// ranks.add(&[0.9, 0.8, 0.7], &[1.0, 0.0, 1.0]);
/// assert_eq!(ranks.mrr(), Ok((1.0 + 1.0 / 3.0) / 2.0));
/// ```
#[derive(Debug, Clone, Default)]
pub struct RowRanking {
    ties: TieRule,
    row: Vec<u64>,
    sum: f64,
    rows: u64,
    not_finite: u64,
}

impl RowRanking {
    /// Ranks by a tie rule.
    pub fn new(ties: TieRule) -> Self {
        Self { ties, ..Self::default() }
    }

    /// Adds the candidates of one source: their scores, and 1 for each that is a positive. A row
    /// without a positive does not count.
    ///
    /// # Panics
    /// If there are not as many scores as labels.
    pub fn add(&mut self, scores: &[f32], labels: &[f32]) {
        assert_eq!(scores.len(), labels.len(), "scores and labels");
        let positives = labels.iter().filter(|&&label| label == 1.0).count();
        if positives == 0 {
            return;
        }
        self.rows += 1;
        if scores.iter().any(|score| score.is_nan()) {
            self.not_finite += 1;
            return;
        }
        self.row.clear();
        let pairs = scores.iter().zip(labels);
        self.row.extend(pairs.map(|(&score, &label)| {
            // Inverted, so that ascending integers are descending scores.
            u64::from(!ordered(score)) << 1 | u64::from(label == 1.0)
        }));
        self.row.sort_unstable();
        let (mut before, mut reciprocals) = (0, 0.0);
        for group in self.row.chunk_by(|left, right| left >> 1 == right >> 1) {
            let found = group.iter().filter(|&&pair| pair & 1 == 1).count();
            let rank = self.ties.rank(before, group.len() as u64 - 1);
            reciprocals += found as f64 / rank;
            before += group.len() as u64;
        }
        self.sum += reciprocals / positives as f64;
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        (self.sum, self.rows, self.not_finite) = (0.0, 0, 0);
    }

    /// How many rows count.
    pub fn observations(&self) -> u64 {
        self.rows
    }

    /// Mean over rows of the mean reciprocal rank of their positives.
    ///
    /// # Errors
    /// If no row had a positive or a score is NaN.
    pub fn mrr(&self) -> Result<f64, Undefined> {
        check(self.rows, self.not_finite)?;
        Ok(self.sum / self.rows as f64)
    }

    /// The measure with its name.
    pub fn report(&self) -> [(Metric, Result<f64, Undefined>); 1] {
        [(Metric::RowMrr, self.mrr())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_positives_do_not_count() {
        let mut ranks = RowRanking::new(TieRule::Average);
        ranks.add(&[0.1, 0.2], &[0.0, 0.0]);
        assert_eq!(ranks.mrr(), Err(Undefined::NoObservations));
        ranks.add(&[f32::NAN, 0.2], &[0.0, 1.0]);
        assert_eq!(ranks.mrr(), Err(Undefined::NotFinite { count: 1 }));
        ranks.clear();
        ranks.add(&[0.1, 0.2], &[0.0, 1.0]);
        assert_eq!((ranks.mrr(), ranks.observations()), (Ok(1.0), 1));
    }

    #[test]
    fn candidates_with_one_score_share_a_rank() {
        let mrr = |ties| {
            let mut ranks = RowRanking::new(ties);
            ranks.add(&[0.9, 0.5, 0.5, 0.5], &[0.0, 1.0, 0.0, 1.0]);
            ranks.mrr().unwrap()
        };
        assert_eq!(mrr(TieRule::Optimistic), 0.5);
        assert_eq!(mrr(TieRule::Average), 1.0 / 3.0);
        assert_eq!(mrr(TieRule::Pessimistic), 0.25);
    }
}
