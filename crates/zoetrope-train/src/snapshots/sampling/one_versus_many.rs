//! Each link of the target among vertices that its source does not reach.
//!
//! One-vs-many as in TGB: a row is a link (u, v) followed by pairs (u, v') with distinct v' that
//! u is not linked with in the target. MRR and hits@k rank the link within its row; AP and AUC take
//! all pairs together. How many negatives a link has changes the figures: reports must say it.

use std::cell::RefCell;
use std::ops::Range;

use zoetrope_graph::random::Draws;
use zoetrope_graph::{Distinct, LinkSet, SnapshotView, VertexId};
use zoetrope_tensor::LinkRanking;

use super::candidates::Candidates;
use super::draw_key::{DrawKey, Purpose};

/// Links that one thread draws negatives for at a time: a tenth of a millisecond for a hundred each.
const TASK_ROWS: usize = 64;

thread_local! {
    /// The marks of a thread that draws.
    static DISTINCT: RefCell<Distinct> = RefCell::new(Distinct::default());
}

/// Gives every link of a snapshot its negatives, in chunks of links.
#[derive(Debug, Clone)]
pub struct OneVersusMany {
    negatives: usize,
    seed: u64,
    links: LinkSet,
}

impl OneVersusMany {
    /// `negatives` for each link; all there are if a source has fewer.
    ///
    /// # Panics
    /// If `negatives` is 0: configuration refuses it.
    pub fn new(negatives: usize, seed: u64) -> Self {
        assert!(negatives > 0, "negatives for each link");
        Self { negatives, seed, links: LinkSet::default() }
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

    /// Hands over the links, so that another number of negatives is drawn for them.
    pub fn take_links(&mut self) -> LinkSet {
        std::mem::take(&mut self.links)
    }

    /// Takes links that were handed over.
    pub fn put_links(&mut self, links: LinkSet) {
        self.links = links;
    }

    /// The same rows, to be drawn where they are scored.
    pub fn ranking(&self, key: DrawKey) -> LinkRanking<'_> {
        let draws = key.draws(self.seed, Purpose::Candidates);
        LinkRanking { links: &self.links, negatives: self.negatives, draws }
    }

    /// Replaces `candidates` by one row for each of some links: the link, then its negatives. How
    /// the links are cut into chunks does not change the rows.
    ///
    /// # Panics
    /// If the range ends after the last link.
    pub fn fill(&self, links: Range<usize>, key: DrawKey, candidates: &mut Candidates) {
        let draws = key.draws(self.seed, Purpose::Candidates);
        let length = |link: usize| {
            let (src, _) = self.links.ends(link);
            1 + self.negatives.min(self.links.of(src).non_links())
        };
        candidates.resize(links.clone().map(length));
        let (offsets, ends, labels) = candidates.columns();
        self.fill_rows(draws, links.start, offsets, ends, labels);
    }

    /// Fills the rows from link `first` on. Every row is a function of its link, so halves of them
    /// are drawn in parallel.
    fn fill_rows(
        &self,
        draws: Draws,
        first: usize,
        offsets: &[usize],
        [src, dst]: [&mut [VertexId]; 2],
        labels: &mut [f32],
    ) {
        let rows = offsets.len() - 1;
        if rows > TASK_ROWS {
            let half = rows / 2;
            let middle = offsets[half] - offsets[0];
            let (src, later_src) = src.split_at_mut(middle);
            let (dst, later_dst) = dst.split_at_mut(middle);
            let (labels, later_labels) = labels.split_at_mut(middle);
            let later = [later_src, later_dst];
            rayon::join(
                || self.fill_rows(draws, first, &offsets[..=half], [src, dst], labels),
                || self.fill_rows(draws, first + half, &offsets[half..], later, later_labels),
            );
            return;
        }
        DISTINCT.with_borrow_mut(|distinct| {
            for (link, ends) in (first..).zip(offsets.windows(2)) {
                let (from, to) = (ends[0] - offsets[0], ends[1] - offsets[0]);
                let (source, destination) = self.links.ends(link);
                src[from..to].fill(source);
                labels[from..to].fill(0.0);
                (dst[from], labels[from]) = (destination, 1.0);
                let row = self.links.of(source);
                let position = (link * self.negatives) as u64;
                let size = row.non_links() as u32;
                let drawn = distinct.draw(draws, position, self.negatives, size);
                for (place, &rank) in dst[from + 1..to].iter_mut().zip(drawn) {
                    *place = row.non_link(rank as usize);
                }
            }
        });
    }
}
