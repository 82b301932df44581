//! What scores of candidates amount to.

use zoetrope_nn::metrics::{BinaryScores, Metric, Ranking, TieRule, Undefined};

use super::candidates::Candidates;

/// AP and AUC of all pairs of all steps together, and MRR and hits@k of each link among the
/// negatives of its row; accumulated over chunks, the memory is reused.
#[derive(Debug, Clone)]
pub struct LinkScores {
    pairs: BinaryScores,
    ranks: Ranking,
}

impl LinkScores {
    /// Ranks by a tie rule and counts hits@k for each k of `places`.
    pub fn new(ties: TieRule, places: &[u32]) -> Self {
        Self { pairs: BinaryScores::default(), ranks: Ranking::new(ties, places) }
    }

    /// Adds the scores of candidates.
    ///
    /// # Panics
    /// Where there are not as many scores as pairs.
    pub fn add(&mut self, candidates: &Candidates, scores: &[f32]) {
        self.pairs.add(scores, &candidates.pairs.label);
        for row in (0..candidates.rows()).map(|row| candidates.row(row)) {
            self.ranks.add_candidates(&scores[row.clone()], &candidates.pairs.label[row]);
        }
    }

    /// Forgets all scores and keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.ranks.clear();
    }

    /// How many links were ranked, and how many pairs there are with them.
    pub fn observations(&self) -> (u64, u64) {
        (self.ranks.observations(), self.pairs.observations())
    }

    /// AP, AUC, MRR and hits@k, with their names.
    pub fn report(&mut self) -> Vec<(Metric, Result<f64, Undefined>)> {
        self.pairs.report().into_iter().chain(self.ranks.report()).collect()
    }
}
