//! Link prediction among all pairs, measured as EvolveGCN measures it.
//!
//! Each step has its own average precision, area and row-wise MRR; the measures are the means over
//! steps that have a link. Negatives are counted, not kept, so a step of any size fits in memory;
//! in return the scores of the step's links must come first.
//!
//! Pareja and others, "EvolveGCN: evolving graph convolutional networks for dynamic graphs", AAAI
//! 2020; the definitions are those of its published code.

use zoetrope_nn::metrics::{Metric, PositiveThresholds, RowRanking, TieRule, Undefined};

use super::candidates::Candidates;

/// Mean over steps of AP, AUC and row-wise MRR.
#[derive(Debug, Clone)]
pub struct AllPairScores {
    thresholds: PositiveThresholds,
    rows: RowRanking,
    /// Of AP, AUC and MRR: the sum over steps, or why a step has none.
    sums: [Result<f64, Undefined>; 3],
    steps: u64,
    skipped: u64,
}

impl AllPairScores {
    /// Ranks by a tie rule.
    pub fn new(ties: TieRule) -> Self {
        Self {
            thresholds: PositiveThresholds::default(),
            rows: RowRanking::new(ties),
            sums: [Ok(0.0); 3],
            steps: 0,
            skipped: 0,
        }
    }

    /// Starts a step with the scores of its links.
    pub fn begin_step(&mut self, links: &[f32]) {
        self.thresholds.begin(links);
        self.rows.clear();
    }

    /// Adds whole rows of the step's pairs, links among them.
    ///
    /// # Panics
    /// If there are not as many scores as pairs.
    pub fn add(&mut self, candidates: &Candidates, scores: &[f32]) {
        let labels = &candidates.pairs.label;
        self.thresholds.add_negatives_among(scores, labels);
        for row in (0..candidates.rows()).map(|row| candidates.row(row)) {
            self.rows.add(&scores[row.clone()], &labels[row]);
        }
    }

    /// Ends a step; one without a link is passed over.
    pub fn end_step(&mut self) {
        let [(_, precision), (_, area)] = self.thresholds.report();
        if let Err(Undefined::NoPositives { .. } | Undefined::NoObservations) = precision {
            self.skipped += 1;
            return;
        }
        self.steps += 1;
        for (sum, value) in self.sums.iter_mut().zip([precision, area, self.rows.mrr()]) {
            *sum = sum.and_then(|sum| value.map(|value| sum + value));
        }
    }

    /// Forgets all steps and keeps the memory.
    pub fn clear(&mut self) {
        (self.sums, self.steps, self.skipped) = ([Ok(0.0); 3], 0, 0);
    }

    /// How many steps count, and how many had no link.
    pub fn steps(&self) -> (u64, u64) {
        (self.steps, self.skipped)
    }

    /// Mean AP, AUC and row-wise MRR, with their names.
    pub fn report(&self) -> [(Metric, Result<f64, Undefined>); 3] {
        let mean = |sum: Result<f64, Undefined>| match self.steps {
            0 => Err(Undefined::NoObservations),
            steps => sum.map(|sum| sum / steps as f64),
        };
        let [precision, area, mrr] = self.sums;
        [(Metric::MeanAp, mean(precision)), (Metric::Auc, mean(area)), (Metric::RowMrr, mean(mrr))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources and three candidates each.
    fn rows(labels: [f32; 6]) -> Candidates {
        let mut candidates = Candidates::default();
        for (at, label) in labels.into_iter().enumerate() {
            candidates.pairs.push(at as u32 / 3, at as u32 % 3, label);
            if at % 3 == 2 {
                candidates.end_row();
            }
        }
        candidates
    }

    #[test]
    fn steps_count_alike_and_those_without_links_do_not_count() {
        let mut scores = AllPairScores::new(TieRule::Average);
        assert_eq!(scores.report()[0].1, Err(Undefined::NoObservations));
        let step = |scores: &mut AllPairScores, labels, values: [f32; 6]| {
            let candidates = rows(labels);
            let pairs = values.iter().zip(&candidates.pairs.label);
            let links: Vec<f32> = pairs.filter(|(_, l)| **l == 1.0).map(|(s, _)| *s).collect();
            scores.begin_step(&links);
            scores.add(&candidates, &values);
            scores.end_step();
        };
        step(&mut scores, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [9.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        step(&mut scores, [0.0; 6], [1.0; 6]);
        step(&mut scores, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [3.0, 2.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(scores.steps(), (2, 1));
        assert_eq!(scores.report().map(|(_, value)| value), [Ok(0.75), Ok(0.9), Ok(0.75)]);
        scores.begin_step(&[f32::NAN]);
        scores.end_step();
        assert_eq!(scores.report()[0].1, Err(Undefined::NotFinite { count: 1 }));
        scores.clear();
        assert_eq!(scores.steps(), (0, 0));
    }
}
