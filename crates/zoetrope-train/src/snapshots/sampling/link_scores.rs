//! What scores of candidates amount to.

use zoetrope_nn::metrics::{BinaryScores, Metric, Ranking, TieRule, Undefined};

use zoetrope_tensor::LinkRank;

use super::candidates::Candidates;

/// AP and AUC of all pairs of all steps together, and MRR and hits@k of each link among the
/// negatives of its row; accumulated over chunks, the memory is reused.
#[derive(Debug, Clone)]
pub struct LinkScores {
    /// None if only ranks are asked for: AP and AUC have to keep every score.
    pairs: Option<BinaryScores>,
    /// None if only AP and AUC are asked for.
    ranks: Option<Ranking>,
}

impl LinkScores {
    /// Ranks by a tie rule and counts hits@k for each k of `places`.
    pub fn new(ties: TieRule, places: &[u32]) -> Self {
        Self { ranks: Some(Ranking::new(ties, places)), ..Self::pairs_only() }
    }

    /// MRR and hits@k alone, in memory that does not grow with the number of pairs: a hundred
    /// candidates for each of millions of links are gigabytes of scores.
    pub fn ranks_only(ties: TieRule, places: &[u32]) -> Self {
        Self { pairs: None, ranks: Some(Ranking::new(ties, places)) }
    }

    /// AP and AUC alone.
    pub fn pairs_only() -> Self {
        Self { pairs: Some(BinaryScores::default()), ranks: None }
    }

    /// Adds the scores of candidates.
    ///
    /// # Panics
    /// If there are not as many scores as pairs.
    pub fn add(&mut self, candidates: &Candidates, scores: &[f32]) {
        if let Some(pairs) = &mut self.pairs {
            pairs.add(scores, &candidates.pairs.label);
        }
        let Some(ranks) = &mut self.ranks else { return };
        for row in (0..candidates.rows()).map(|row| candidates.row(row)) {
            ranks.add_candidates(&scores[row.clone()], &candidates.pairs.label[row]);
        }
    }

    /// Adds the ranks of links.
    pub fn add_ranks(&mut self, found: &[LinkRank]) {
        let Some(ranks) = &mut self.ranks else { return };
        for &rank in found {
            match rank {
                LinkRank::ALONE => ranks.add_alone(),
                LinkRank::NOT_FINITE => ranks.add_not_finite(),
                LinkRank { higher, equal } => ranks.add_counts(higher.into(), equal.into()),
            }
        }
    }

    /// Whether ranks are all that is asked for.
    pub fn are_ranks(&self) -> bool {
        self.pairs.is_none()
    }

    /// Forgets all scores and keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.iter_mut().for_each(BinaryScores::clear);
        self.ranks.iter_mut().for_each(Ranking::clear);
    }

    /// How many links were ranked, and how many pairs were kept with them.
    pub fn observations(&self) -> (u64, u64) {
        let pairs = self.pairs.as_ref().map_or(0, BinaryScores::observations);
        (self.ranks.as_ref().map_or(0, Ranking::observations), pairs)
    }

    /// AP and AUC (if pairs are kept), MRR and hits@k, with their names.
    pub fn report(&mut self) -> Vec<(Metric, Result<f64, Undefined>)> {
        let pairs = self.pairs.iter_mut().flat_map(BinaryScores::report);
        pairs.chain(self.ranks.iter().flat_map(Ranking::report)).collect()
    }
}
