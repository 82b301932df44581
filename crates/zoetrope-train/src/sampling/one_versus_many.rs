//! Each link of the target among vertices that its source does not reach.
//!
//! One-vs-many as in TGB: a row is a link (u, v) followed by pairs (u, v') with distinct v' that
//! u is not linked with in the target. MRR and hits@k rank the link within its row; AP and AUC take
//! all pairs together. How many negatives a link has changes the figures: reports must say it.

use std::ops::Range;

use zoetrope_graph::SnapshotView;

use super::candidates::Candidates;
use super::distinct::Distinct;
use super::draw_key::{DrawKey, Purpose};
use super::link_set::LinkSet;

/// Gives every link of a snapshot its negatives, in chunks of links.
#[derive(Debug, Clone)]
pub struct OneVersusMany {
    negatives: usize,
    seed: u64,
    links: LinkSet,
    distinct: Distinct,
}

impl OneVersusMany {
    /// `negatives` for each link; all there are where a source has fewer.
    ///
    /// # Panics
    /// Where `negatives` is 0: configuration refuses it.
    pub fn new(negatives: usize, seed: u64) -> Self {
        assert!(negatives > 0, "negatives for each link");
        Self { negatives, seed, links: LinkSet::default(), distinct: Distinct::default() }
    }

    /// Negatives for each link.
    pub fn negatives(&self) -> usize {
        self.negatives
    }

    /// The links of the target; the first end is the source.
    pub fn links(&self) -> &LinkSet {
        &self.links
    }

    /// Takes the links of the target and returns how many there are; they are numbered by
    /// (source, destination).
    pub fn load(&mut self, target: SnapshotView<'_>) -> usize {
        self.links.load_by_source(target);
        self.links.len()
    }

    /// Replaces `candidates` by one row for each of some links: the link, then its negatives. How
    /// the links are cut into chunks does not change the rows.
    ///
    /// # Panics
    /// Where there are not so many links.
    pub fn fill(&mut self, links: Range<usize>, key: DrawKey, candidates: &mut Candidates) {
        candidates.clear();
        let draws = key.draws(self.seed, Purpose::Candidates);
        for link in links {
            let (src, dst) = self.links.ends(link);
            candidates.pairs.push(src, dst, 1.0);
            let row = self.links.of(src);
            let first = (link * self.negatives) as u64;
            self.distinct.draw(draws, first, self.negatives, row.non_links(), |rank| {
                candidates.pairs.push(src, row.non_link(rank), 0.0);
            });
            candidates.end_row();
        }
    }
}
