//! The pairs that link prediction is measured on, in chunks that fit in memory.

use zoetrope_graph::{LinkSet, SnapshotView};
use zoetrope_tensor::LinkRanking;

use super::all_pairs::AllPairs;
use super::candidates::Candidates;
use super::draw_key::DrawKey;
use super::one_versus_many::OneVersusMany;
use super::pairs::Pairs;

/// About so many pairs are scored at a time: three megabytes of columns, and the part of the head
/// that belongs to vertices is computed once for all of them.
const CHUNK_PAIRS: usize = 1 << 18;

/// What links are compared with.
#[derive(Debug, Clone)]
pub enum LinkCandidates {
    /// A number of negatives for each link.
    Sampled(OneVersusMany),
    /// Every pair of different vertices.
    All(AllPairs),
}

impl LinkCandidates {
    /// `negatives` for each link, drawn with `seed`.
    ///
    /// # Panics
    /// If `negatives` is 0: configuration refuses it.
    pub fn sampled(negatives: usize, seed: u64) -> Self {
        Self::Sampled(OneVersusMany::new(negatives, seed))
    }

    /// Every pair of different vertices: `N·(N - 1)` a step.
    pub fn all() -> Self {
        Self::All(AllPairs::default())
    }

    /// What is compared, for the protocol of a report.
    pub fn describe(&self) -> String {
        match self {
            Self::Sampled(sampler) => format!(
                "{} random destinations for each link, none of them a link of the step",
                sampler.negatives()
            ),
            Self::All(_) => "all pairs of different vertices".to_owned(),
        }
    }

    /// Takes the links of the target and returns into how many chunks its pairs are cut; there is
    /// none if nothing is linked, as nothing can be measured.
    pub fn load(&mut self, target: SnapshotView<'_>) -> usize {
        let links = match self {
            Self::Sampled(sampler) => sampler.load(target),
            Self::All(pairs) => pairs.load(target),
        };
        match links {
            0 => 0,
            _ => self.chunks(),
        }
    }

    /// Into how many chunks the rows of the links are cut that were taken in.
    pub fn chunks(&self) -> usize {
        self.rows().div_ceil(self.rows_of_chunk())
    }

    /// Hands over the links that were taken in.
    pub fn take_links(&mut self) -> LinkSet {
        match self {
            Self::Sampled(sampler) => sampler.take_links(),
            Self::All(all) => all.links().clone(),
        }
    }

    /// Takes links that another one took in. Not for all pairs, whose links are kept in another order.
    ///
    /// # Panics
    /// If all pairs are compared.
    pub fn put_links(&mut self, links: LinkSet) {
        match self {
            Self::Sampled(sampler) => sampler.put_links(links),
            Self::All(_) => panic!("links by source for candidates that are all pairs"),
        }
    }

    /// Replaces `pairs` by the links, ordered by (source, destination).
    pub fn links(&self, pairs: &mut Pairs) {
        let links = match self {
            Self::Sampled(sampler) => sampler.links(),
            Self::All(all) => all.links(),
        };
        pairs.clear();
        links.iter().for_each(|(src, dst)| pairs.push(src, dst, 1.0));
    }

    /// The links that were taken in, how many negatives each has, and how they are drawn; None if they are
    /// compared with all pairs.
    pub fn ranking(&self, key: DrawKey) -> Option<LinkRanking<'_>> {
        match self {
            Self::Sampled(sampler) => Some(sampler.ranking(key)),
            Self::All(_) => None,
        }
    }

    /// Replaces `candidates` by the rows of a chunk.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn fill(&mut self, chunk: usize, key: DrawKey, candidates: &mut Candidates) {
        let (rows, length) = (self.rows(), self.rows_of_chunk());
        let range = chunk * length..((chunk + 1) * length).min(rows);
        assert!(range.start < rows, "chunk {chunk}");
        match self {
            Self::Sampled(sampler) => sampler.fill(range, key, candidates),
            Self::All(pairs) => pairs.fill(range.start as u32..range.end as u32, candidates),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Sampled(sampler) => sampler.links().len(),
            Self::All(pairs) => pairs.links().vertices() as usize,
        }
    }

    fn rows_of_chunk(&self) -> usize {
        let pairs = match self {
            Self::Sampled(sampler) => sampler.negatives() + 1,
            Self::All(pairs) => pairs.links().vertices() as usize,
        };
        (CHUNK_PAIRS / pairs.max(1)).max(1)
    }
}
