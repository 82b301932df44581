//! Average precision and ROC AUC of scored pairs, with every score kept.
//!
//! Thresholds run down the distinct scores; pairs with equal scores pass together, as in
//! scikit-learn. With precision P and recall R at threshold n: AP `= Σ (Rₙ - Rₙ₋₁)·Pₙ`. AUC is the
//! share of (positive, negative) couples in which the positive scores higher, equal scores
//! counting half: the area under the curve by trapezoids, but exact, as couples are integers.
//!
//! A pair is 4 bytes: the score as an integer of the same order, in one of two lists. Each list is sorted by its
//! digits, three passes that read and write it once each, fewer if digits are the same throughout; AP and AUC are
//! found together, in one walk down both. Nothing is left to chance, so neither threads nor the order of the pairs
//! matter.

use rayon::prelude::*;

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
    /// Scores of negatives, and of positives.
    scores: [Vec<u32>; 2],
    /// Where digits are sorted to; only memory.
    spare: [Vec<u32>; 2],
    /// AP and AUC of what was added so far, once they were asked for.
    areas: Option<Areas>,
    missing: u64,
    not_finite: u64,
}

/// The areas under both curves, before the cases in which there is none.
#[derive(Debug, Clone, Copy)]
struct Areas {
    average_precision: f64,
    auc: f64,
}

impl BinaryScores {
    /// Adds scores and labels: 1 is a positive, 0 a negative, NaN no label.
    ///
    /// # Panics
    /// If there are not as many of one as of the other, or a label is another number.
    pub fn add(&mut self, scores: &[f32], labels: &[f32]) {
        assert_eq!(scores.len(), labels.len(), "scores and labels");
        self.areas = None;
        for (&score, &label) in scores.iter().zip(labels) {
            if label.is_nan() {
                self.missing += 1;
            } else if score.is_nan() {
                self.not_finite += 1;
            } else {
                assert!(label == 0.0 || label == 1.0, "label {label} is neither 0 nor 1");
                self.scores[usize::from(label == 1.0)].push(ordered(score));
            }
        }
    }

    /// Adds the scores of positives, or of negatives.
    pub fn add_all(&mut self, scores: &[f32], positive: bool) {
        self.areas = None;
        let kept = &mut self.scores[usize::from(positive)];
        let before = kept.len();
        kept.extend(scores.iter().filter(|score| !score.is_nan()).map(|&score| ordered(score)));
        self.not_finite += (scores.len() - (kept.len() - before)) as u64;
    }

    /// Forgets all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.scores.iter_mut().for_each(Vec::clear);
        self.areas = None;
        (self.missing, self.not_finite) = (0, 0);
    }

    /// How many pairs count.
    pub fn observations(&self) -> u64 {
        self.scores.iter().map(|scores| scores.len() as u64).sum()
    }

    /// Negatives and positives.
    fn counts(&self) -> [u64; 2] {
        self.scores.each_ref().map(|scores| scores.len() as u64)
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
        check(self.observations(), self.not_finite)?;
        match self.counts() {
            [negatives, 0] => Err(Undefined::NoPositives { negatives }),
            _ => Ok(self.areas().average_precision),
        }
    }

    /// Area under the receiver operating characteristic.
    ///
    /// # Errors
    /// If there is no positive, no negative or nothing at all, or a score is NaN.
    pub fn auc(&mut self) -> Result<f64, Undefined> {
        check(self.observations(), self.not_finite)?;
        match self.counts() {
            [negatives, 0] => Err(Undefined::NoPositives { negatives }),
            [0, positives] => Err(Undefined::NoNegatives { positives }),
            _ => Ok(self.areas().auc),
        }
    }

    /// Both measures with their names.
    pub fn report(&mut self) -> [(Metric, Result<f64, Undefined>); 2] {
        [(Metric::AveragePrecision, self.average_precision()), (Metric::Auc, self.auc())]
    }

    fn areas(&mut self) -> Areas {
        if let Some(areas) = self.areas {
            return areas;
        }
        let [negatives, positives] = &mut self.scores;
        let [spare, other] = &mut self.spare;
        rayon::join(|| sort(negatives, spare), || sort(positives, other));
        let areas = areas(negatives, positives);
        self.areas = Some(areas);
        areas
    }
}

/// Both areas of ascending scores.
fn areas(negatives: &[u32], positives: &[u32]) -> Areas {
    let all = (positives.len() as u64, negatives.len() as u64);
    let (mut left, mut right) = (negatives.len(), positives.len());
    let (mut precisions, mut twice_won) = (0.0, 0u128);
    while right > 0 {
        // Negatives above the next positive change nothing but how many passed.
        let score = positives[right - 1];
        while left > 0 && negatives[left - 1] > score {
            left -= 1;
        }
        let (above, below) = (right, left);
        while right > 0 && positives[right - 1] == score {
            right -= 1;
        }
        while left > 0 && negatives[left - 1] == score {
            left -= 1;
        }
        let (found, beside) = ((above - right) as u64, (below - left) as u64);
        let passed = (positives.len() - right + negatives.len() - left) as u64;
        let precision = (positives.len() - right) as f64 / passed as f64;
        precisions += found as f64 * precision;
        // The negatives below, and those beside by half.
        twice_won += u128::from(found) * u128::from(2 * left as u64 + beside);
    }
    let couples = u128::from(all.0) * u128::from(all.1);
    Areas {
        average_precision: precisions / all.0 as f64,
        auc: twice_won as f64 / 2.0 / couples as f64,
    }
}

/// Bits of a digit: its counts fit into the cache next to a core.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 3;
const VALUES: usize = 1 << DIGIT_BITS;

/// Fewer scores are compared: counting digits would take longer.
const BY_DIGITS_MIN: usize = 4096;

/// Scores of a part that a thread sorts; fewer are not worth to be looked at by all of them.
const PART_MIN: usize = 1 << 17;

/// Scores from which the ends of parts are taken, for each part.
const SAMPLED: usize = 64;

/// Sorts ascending: each thread those of a range of values, which it picks out of all.
fn sort(scores: &mut Vec<u32>, spare: &mut Vec<u32>) {
    let parts = (scores.len() / PART_MIN).min(rayon::current_num_threads());
    if parts < 2 {
        return sort_by_digits(scores, spare);
    }
    let apart = scores.len() / (parts * SAMPLED);
    let mut sample: Vec<u32> = scores.iter().step_by(apart).copied().collect();
    sample.sort_unstable();
    let mut ends: Vec<u32> =
        sample.chunks(sample.len().div_ceil(parts)).map(|part| part[0]).collect();
    ends[0] = 0;
    ends.dedup();
    let part = |at: usize| {
        let (first, end) = (ends[at], ends.get(at + 1).copied());
        let is_here = |score: &u32| *score >= first && end.is_none_or(|end| *score < end);
        let mut here: Vec<u32> = scores.iter().copied().filter(is_here).collect();
        sort_by_digits(&mut here, &mut Vec::new());
        here
    };
    let parts: Vec<Vec<u32>> = (0..ends.len()).into_par_iter().map(part).collect();
    scores.clear();
    parts.iter().for_each(|part| scores.extend_from_slice(part));
}

/// Sorts ascending, from the lowest digit to the highest.
fn sort_by_digits(scores: &mut Vec<u32>, spare: &mut Vec<u32>) {
    if scores.len() < BY_DIGITS_MIN {
        return scores.sort_unstable();
    }
    let digit = |score: u32, at: usize| (score >> (at as u32 * DIGIT_BITS)) as usize % VALUES;
    let mut counts = vec![[0usize; VALUES]; DIGITS];
    for &score in scores.iter() {
        (0..DIGITS).for_each(|at| counts[at][digit(score, at)] += 1);
    }
    spare.resize(scores.len(), 0);
    for (at, counts) in counts.iter_mut().enumerate() {
        if counts.contains(&scores.len()) {
            continue;
        }
        let mut before = 0;
        for count in counts.iter_mut() {
            before += std::mem::replace(count, before);
        }
        for &score in scores.iter() {
            let place = &mut counts[digit(score, at)];
            spare[*place] = score;
            *place += 1;
        }
        std::mem::swap(scores, spare);
    }
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
    fn many_scores_are_measured_as_few_are() {
        // Enough to be sorted by digits; some are equal, some of them across the classes.
        let random = |at: usize| (at as u64 + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let score = |at: usize| (random(at) as f32 / 1e5).floor() / 8.0 - 9.0;
        let scores: Vec<f32> = (0..3 * BY_DIGITS_MIN).map(score).collect();
        let labels: Vec<f32> = (0..scores.len()).map(|at| (at % 3 / 2) as f32).collect();
        let mut found = BinaryScores::default();
        found.add(&scores, &labels);
        let mut pairs: Vec<(f32, f32)> = scores.into_iter().zip(labels).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let all = pairs.iter().filter(|pair| pair.1 == 1.0).count() as f64;
        let (mut right, mut passed, mut precision, mut won) = (0.0, 0.0, 0.0, 0.0);
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let own = group.iter().filter(|pair| pair.1 == 1.0).count() as f64;
            won += (group.len() as f64 - own) * (right + own / 2.0);
            (right, passed) = (right + own, passed + group.len() as f64);
            precision += own * (right / passed);
        }
        assert_eq!(found.average_precision(), Ok(precision / all));
        assert_eq!(found.auc(), Ok(won / (all * (pairs.len() as f64 - all))));
        assert_eq!(found.auc(), Ok(won / (all * (pairs.len() as f64 - all))), "asked again");
    }

    #[test]
    fn parts_of_threads_are_sorted_as_one() {
        let random = |at: usize| ((at as u64 + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32;
        let many = 4 * PART_MIN + 5;
        // Different ones, a few values, one alone.
        for bits in [0, 28, 31] {
            let scores: Vec<u32> = (0..many).map(|at| random(at) >> bits).collect();
            let mut expected = scores.clone();
            expected.sort_unstable();
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut sorted = scores.clone();
                pool.install(|| sort(&mut sorted, &mut Vec::new()));
                assert!(sorted == expected, "{bits} bits less on {threads} threads");
            }
        }
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
