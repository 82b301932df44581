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

/// AP, AUC and row-wise MRR of a step, or why it has none; None if it has no link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepMeasures(Option<[Result<f64, Undefined>; 3]>);

impl StepMeasures {
    /// Words that [`StepMeasures::unpack`] reads.
    pub const WORDS: usize = 9;

    /// As words, to be sent: what each is (a value, or why there is none), and a number of 64 bits.
    pub fn pack(&self) -> [u32; Self::WORDS] {
        let word = |measure: Result<f64, Undefined>| match measure {
            Ok(value) => (0, value.to_bits()),
            Err(Undefined::NotFinite { count }) => (1, count),
            Err(Undefined::NoNegatives { positives }) => (2, positives),
            // What else has no measure has no pair to measure.
            Err(_) => (3, 0),
        };
        let words = match self.0 {
            Some(measures) => measures.map(word),
            None => [(4, 0); 3],
        };
        let mut packed = [0; Self::WORDS];
        for (place, (kind, number)) in packed.chunks_exact_mut(3).zip(words) {
            place.copy_from_slice(&[kind, number as u32, (number >> 32) as u32]);
        }
        packed
    }

    /// What was packed.
    ///
    /// # Panics
    /// If there are fewer words.
    pub fn unpack(words: &[u32]) -> Self {
        if words[0] == 4 {
            return Self(None);
        }
        let measure = |at: usize| {
            let number = u64::from(words[3 * at + 2]) << 32 | u64::from(words[3 * at + 1]);
            match words[3 * at] {
                0 => Ok(f64::from_bits(number)),
                1 => Err(Undefined::NotFinite { count: number }),
                2 => Err(Undefined::NoNegatives { positives: number }),
                _ => Err(Undefined::NoObservations),
            }
        };
        Self(Some([0, 1, 2].map(measure)))
    }
}

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

    /// What the step is measured by, to be added to the other steps.
    pub fn end_step(&self) -> StepMeasures {
        let [(_, precision), (_, area)] = self.thresholds.report();
        if let Err(Undefined::NoPositives { .. } | Undefined::NoObservations) = precision {
            return StepMeasures(None);
        }
        StepMeasures(Some([precision, area, self.rows.mrr()]))
    }

    /// Adds a step; one without a link is passed over.
    pub fn add_step(&mut self, StepMeasures(measures): StepMeasures) {
        let Some(measures) = measures else {
            self.skipped += 1;
            return;
        };
        self.steps += 1;
        for (sum, value) in self.sums.iter_mut().zip(measures) {
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
            let packed = scores.end_step().pack();
            scores.add_step(StepMeasures::unpack(&packed));
        };
        step(&mut scores, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [9.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        step(&mut scores, [0.0; 6], [1.0; 6]);
        step(&mut scores, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [3.0, 2.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(scores.steps(), (2, 1));
        assert_eq!(scores.report().map(|(_, value)| value), [Ok(0.75), Ok(0.9), Ok(0.75)]);
        scores.begin_step(&[f32::NAN]);
        scores.add_step(StepMeasures::unpack(&scores.end_step().pack()));
        assert_eq!(scores.report()[0].1, Err(Undefined::NotFinite { count: 1 }));
        scores.clear();
        assert_eq!(scores.steps(), (0, 0));
    }
}
