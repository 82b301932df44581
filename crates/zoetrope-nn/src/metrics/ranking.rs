//! The rank of one positive among many negatives.
//!
//! Rank 1 is the best. With `higher` negatives above the positive and `equal` ones beside it:
//!
//! | rule | rank | used by |
//! | --- | --- | --- |
//! | [`TieRule::Optimistic`] | `higher + 1` | TGL, DistTGL |
//! | [`TieRule::Pessimistic`] | `higher + equal + 1` | |
//! | [`TieRule::Average`] | `higher + equal / 2 + 1` | TGB; the default here |
//!
//! MRR is the mean of `1 / rank`, hits@k the share of ranks of at most k. A model that gives all
//! pairs one score has an MRR of 1 under the optimistic rule, so reports must name the rule.

use serde::{Deserialize, Serialize};

use super::metric::Metric;
use super::scores::ordered;
use super::undefined::{Undefined, check};

/// Positives of a row from which its negatives are sorted.
const SORT_FROM: u64 = 8;

/// What the rank of a positive is if negatives share its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TieRule {
    /// Before all of them.
    Optimistic,
    /// After all of them.
    Pessimistic,
    /// The mean of both, as TGB has it.
    #[default]
    Average,
}

impl TieRule {
    /// The rank of a positive, from 1.
    pub fn rank(self, higher: u64, equal: u64) -> f64 {
        let beside = match self {
            Self::Optimistic => 0.0,
            Self::Pessimistic => equal as f64,
            Self::Average => equal as f64 / 2.0,
        };
        higher as f64 + beside + 1.0
    }
}

/// Ranks of positives, each against its own negatives, accumulated one by one.
///
/// ```
/// # use zoetrope_nn::metrics::{Ranking, TieRule};
/// let mut ranks = Ranking::new(TieRule::Average, &[1, 3]);
/// ranks.add(0.5, &[0.7, 0.2]);
/// assert_eq!((ranks.mrr(), ranks.hits_at(1), ranks.hits_at(3)), (Ok(0.5), Ok(0.0), Ok(1.0)));
/// ```
#[derive(Debug, Clone)]
pub struct Ranking {
    ties: TieRule,
    places: Vec<u32>,
    hits: Vec<u64>,
    reciprocals: f64,
    ranks: f64,
    observations: u64,
    without_negatives: u64,
    not_finite: u64,
    /// Scores of the negatives of a row, ascending; only memory.
    row: Vec<u32>,
}

impl Ranking {
    /// Ranks by a tie rule, counting hits@k for each k of `places`.
    pub fn new(ties: TieRule, places: &[u32]) -> Self {
        Self {
            ties,
            places: places.to_vec(),
            hits: vec![0; places.len()],
            reciprocals: 0.0,
            ranks: 0.0,
            observations: 0,
            without_negatives: 0,
            not_finite: 0,
            row: Vec::new(),
        }
    }

    /// Ranks a positive against its negatives. One without negatives would always be first: it
    /// is left out and counted.
    pub fn add(&mut self, positive: f32, negatives: &[f32]) {
        if negatives.is_empty() {
            return self.add_alone();
        }
        if positive.is_nan() || negatives.iter().any(|score| score.is_nan()) {
            return self.add_not_finite();
        }
        let higher = negatives.iter().filter(|&&score| score > positive).count();
        let equal = negatives.iter().filter(|&&score| score == positive).count();
        self.add_counts(higher as u64, equal as u64);
    }

    /// Ranks each positive against its row of `negatives`, which has as many columns as there is
    /// room for.
    ///
    /// # Panics
    /// If the negatives do not make one full row for each positive.
    pub fn add_rows(&mut self, positives: &[f32], negatives: &[f32]) {
        let columns = negatives.len() / positives.len().max(1);
        assert_eq!(negatives.len(), columns * positives.len(), "rows of negatives");
        for (row, &positive) in positives.iter().enumerate() {
            self.add(positive, &negatives[row * columns..(row + 1) * columns]);
        }
    }

    /// Ranks every positive of a row of candidates against the row's negatives; other positives do
    /// not stand in its way. A label of 1 marks a positive.
    ///
    /// # Panics
    /// If there are not as many scores as labels.
    pub fn add_candidates(&mut self, scores: &[f32], labels: &[f32]) {
        assert_eq!(scores.len(), labels.len(), "scores and labels");
        let positives = || (0..labels.len()).filter(|&at| labels[at] == 1.0);
        let count = positives().count() as u64;
        if count == 0 {
            return;
        }
        if scores.iter().any(|score| score.is_nan()) {
            self.observations += count;
            self.not_finite += count;
            return;
        }
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let negatives = (0..labels.len()).filter(|&at| labels[at] != 1.0);
        row.extend(negatives.map(|at| ordered(scores[at])));
        // Counting one by one is cheaper than sorting if there are few to count for.
        let sorts = count >= SORT_FROM;
        if sorts {
            row.sort_unstable();
        }
        for score in positives().map(|at| ordered(scores[at])) {
            let (higher, equal) = if sorts {
                let below = row.partition_point(|&negative| negative < score);
                let not_above = row.partition_point(|&negative| negative <= score);
                (row.len() - not_above, not_above - below)
            } else {
                (
                    row.iter().filter(|&&negative| negative > score).count(),
                    row.iter().filter(|&&negative| negative == score).count(),
                )
            };
            if row.is_empty() {
                self.add_alone()
            } else {
                self.add_counts(higher as u64, equal as u64)
            }
        }
        self.row = row;
    }

    /// Adds a positive of which it is known how many negatives are above and beside it.
    pub fn add_counts(&mut self, higher: u64, equal: u64) {
        let rank = self.ties.rank(higher, equal);
        self.observations += 1;
        self.ranks += rank;
        self.reciprocals += 1.0 / rank;
        for (hits, &place) in self.hits.iter_mut().zip(&self.places) {
            *hits += u64::from(rank <= f64::from(place));
        }
    }

    /// Adds a positive that has no negatives: it would always be first, so it is left out and counted.
    pub fn add_alone(&mut self) {
        self.without_negatives += 1;
    }

    /// Adds a positive whose score, or that of a negative, is no number.
    pub fn add_not_finite(&mut self) {
        self.observations += 1;
        self.not_finite += 1;
    }

    /// Adds what another accumulator has seen.
    ///
    /// # Panics
    /// If the tie rule or the places differ.
    pub fn merge(&mut self, other: &Self) {
        assert!(self.ties == other.ties && self.places == other.places, "rankings differ in kind");
        self.hits.iter_mut().zip(&other.hits).for_each(|(ours, theirs)| *ours += theirs);
        self.reciprocals += other.reciprocals;
        self.ranks += other.ranks;
        self.observations += other.observations;
        self.without_negatives += other.without_negatives;
        self.not_finite += other.not_finite;
    }

    /// Forgets all ranks.
    pub fn clear(&mut self) {
        self.hits.fill(0);
        (self.reciprocals, self.ranks) = (0.0, 0.0);
        (self.observations, self.without_negatives, self.not_finite) = (0, 0, 0);
    }

    /// How many positives were ranked.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// How many positives were left out for want of negatives.
    pub fn without_negatives(&self) -> u64 {
        self.without_negatives
    }

    /// Mean reciprocal rank.
    ///
    /// # Errors
    /// If nothing was ranked or a score is NaN.
    pub fn mrr(&self) -> Result<f64, Undefined> {
        self.mean(self.reciprocals)
    }

    /// Mean rank.
    ///
    /// # Errors
    /// As [`mrr`](Self::mrr).
    pub fn mean_rank(&self) -> Result<f64, Undefined> {
        self.mean(self.ranks)
    }

    /// Share of positives whose rank is at most `k`.
    ///
    /// # Errors
    /// As [`mrr`](Self::mrr), and [`Undefined::NotCounted`] if `k` is not one of the places.
    pub fn hits_at(&self, k: u32) -> Result<f64, Undefined> {
        let place = self.places.iter().position(|&place| place == k);
        self.mean(self.hits[place.ok_or(Undefined::NotCounted { k })?] as f64)
    }

    /// MRR and hits@k of each place, with their names.
    pub fn report(&self) -> Vec<(Metric, Result<f64, Undefined>)> {
        let hits = self.places.iter().map(|&k| (Metric::HitsAt(k), self.hits_at(k)));
        [(Metric::Mrr, self.mrr())].into_iter().chain(hits).collect()
    }

    fn mean(&self, sum: f64) -> Result<f64, Undefined> {
        check(self.observations, self.not_finite)?;
        Ok(sum / self.observations as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tie_rules_differ_only_where_scores_are_equal() {
        let mrr = |ties, negatives: &[f32]| {
            let mut ranks = Ranking::new(ties, &[]);
            ranks.add(0.5, negatives);
            ranks.mrr().unwrap()
        };
        let rules = [TieRule::Optimistic, TieRule::Average, TieRule::Pessimistic];
        assert_eq!(rules.map(|ties| mrr(ties, &[0.5, 0.5, 0.1])), [1.0, 0.5, 1.0 / 3.0]);
        assert_eq!(rules.map(|ties| mrr(ties, &[0.9, 0.1])), [0.5; 3]);
    }

    #[test]
    fn ranking_nothing_has_no_mean_and_broken_scores_are_reported() {
        let mut ranks = Ranking::new(TieRule::Average, &[10]);
        ranks.add(1.0, &[]);
        assert_eq!((ranks.mrr(), ranks.without_negatives()), (Err(Undefined::NoObservations), 1));
        assert_eq!(ranks.hits_at(3), Err(Undefined::NotCounted { k: 3 }));
        ranks.add(1.0, &[f32::NAN]);
        ranks.add(f32::NAN, &[0.0]);
        assert_eq!(ranks.hits_at(10), Err(Undefined::NotFinite { count: 2 }));
        ranks.clear();
        assert_eq!((ranks.observations(), ranks.without_negatives()), (0, 0));
        assert_eq!(ranks.mrr(), Err(Undefined::NoObservations));
    }

    #[test]
    fn positives_of_a_row_do_not_stand_in_each_others_way() {
        let scores = [0.9, 0.8, 0.7, 0.8, 0.1];
        let labels = [1.0, 1.0, 0.0, 0.0, 1.0];
        let mut row = Ranking::new(TieRule::Average, &[1]);
        row.add_candidates(&scores, &labels);
        let mut single = Ranking::new(TieRule::Average, &[1]);
        for positive in [0.9, 0.8, 0.1] {
            single.add(positive, &[0.7, 0.8]);
        }
        assert_eq!(row.report(), single.report());
        row.add_candidates(&[1.0], &[1.0]);
        row.add_candidates(&[1.0], &[0.0]);
        assert_eq!((row.observations(), row.without_negatives()), (3, 1));
        row.add_candidates(&[1.0, f32::NAN], &[1.0, 0.0]);
        assert_eq!(row.mrr(), Err(Undefined::NotFinite { count: 1 }));
    }

    #[test]
    fn rows_are_ranked_one_by_one() {
        let mut rows = Ranking::new(TieRule::Average, &[1]);
        rows.add_rows(&[0.5, 0.1], &[0.1, 0.2, 0.3, 0.4]);
        assert_eq!((rows.mrr(), rows.hits_at(1)), (Ok(2.0 / 3.0), Ok(0.5)));
        assert_eq!(rows.mean_rank(), Ok(2.0));
        rows.add_rows(&[], &[]);
        assert_eq!(rows.observations(), 2);
    }
}
