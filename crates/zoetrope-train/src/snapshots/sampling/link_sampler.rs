//! Pairs for training link prediction, and for accuracy as ESDG measures it.
//!
//! Chakaravarthy, Pandian, Raje, Sabharwal, Suzumura and Ubaru, "Efficient scaling of dynamic
//! graph neural networks", SC 2021, section 6.4: of the edges of a snapshot a fraction θ is
//! selected with label 1, and as many random pairs of vertices get label 0; the test pairs come
//! from snapshot T + 1 in the same manner, and accuracy is the share of pairs that are classified
//! rightly. The paper sets θ to 0.1.
//!
//! What the paper leaves open: a query at step t is asked for the links of t + 1 in training as
//! in the test; links are selected without repeats; negatives are drawn with repeats and are
//! never links of the snapshot, so that no label is wrong.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zoetrope_graph::random::Draws;
use zoetrope_graph::{Distinct, LinkSet, SnapshotView, VertexId};

use super::draw_key::{DrawKey, Purpose};
use super::link_ranks::{LinkRanks, Links, TOGETHER};
use super::pairs::Pairs;

/// Fewer draws are not worth a task of their own: they take a fraction of a millisecond.
const TASK_DRAWS: usize = 1024;

/// Which ends of a negative are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NegativeEnds {
    /// Both: any pair that is not a link (ESDG).
    #[default]
    Both,
    /// The destination: the source is that of a positive, which is harder if few vertices are
    /// active at a time.
    Destination,
}

/// What is sampled from each snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkSampling {
    /// The fraction θ of the links that become positives; above 0 and up to 1. At least one link
    /// is taken if there is any.
    pub theta: f64,
    /// Negatives for each positive.
    pub negatives: usize,
    /// Which ends of a negative are drawn.
    pub ends: NegativeEnds,
    /// The same seed draws the same pairs.
    pub seed: u64,
}

/// ESDG's setting.
impl Default for LinkSampling {
    fn default() -> Self {
        Self { theta: 0.1, negatives: 1, ends: NegativeEnds::Both, seed: 0 }
    }
}

/// Samples labelled pairs from a target snapshot.
///
/// ```
/// # use zoetrope_graph::SnapshotSequence;
/// # use zoetrope_train::snapshots::sampling::{DrawKey, LinkSampler, LinkSampling, Pairs};
/// let graph = SnapshotSequence::new(4, vec![0, 2], vec![0, 2], vec![1, 3], None)?;
/// let mut sampler = LinkSampler::new(LinkSampling { theta: 1.0, ..LinkSampling::default() });
/// let mut pairs = Pairs::default();
/// sampler.fill(graph.at(0), DrawKey::training(0, 0), &mut pairs);
/// assert_eq!(pairs.label, [1.0, 1.0, 0.0, 0.0]);
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinkSampler {
    sampling: LinkSampling,
    /// The links by destination, if any pair is drawn.
    ranks: LinkRanks,
    /// The links by source, if destinations are drawn.
    links: LinkSet,
    chosen: Vec<usize>,
    distinct: Distinct,
}

impl LinkSampler {
    /// A sampler with its buffers.
    ///
    /// # Panics
    /// If θ is not above 0 and up to 1, or no negative is asked for: configuration refuses
    /// both.
    pub fn new(sampling: LinkSampling) -> Self {
        assert!(sampling.theta > 0.0 && sampling.theta <= 1.0, "theta {}", sampling.theta);
        assert!(sampling.negatives > 0, "negatives for each positive");
        Self {
            sampling,
            ranks: LinkRanks::default(),
            links: LinkSet::default(),
            chosen: Vec::new(),
            distinct: Distinct::default(),
        }
    }

    /// What is sampled.
    pub fn sampling(&self) -> LinkSampling {
        self.sampling
    }

    /// How many pairs are drawn from a snapshot with so many links between different vertices, if both ends of a
    /// negative are drawn.
    pub fn pairs_of(&self, links: u64, vertices: u32) -> usize {
        let all = u64::from(vertices) * u64::from(vertices).saturating_sub(1);
        let positives = self.count(links as usize).min(links as usize);
        positives * (1 + if links < all { self.sampling.negatives } else { 0 })
    }

    /// Replaces `pairs` by positives of the target, then negatives. There are fewer negatives if a
    /// graph (or, for drawn destinations, a source) is linked with everything.
    pub fn fill(&mut self, target: SnapshotView<'_>, key: DrawKey, pairs: &mut Pairs) {
        pairs.clear();
        let draws = key.draws(self.sampling.seed, Purpose::Negatives);
        match self.sampling.ends {
            NegativeEnds::Both => {
                let asked = self.count(target.len()) * self.sampling.negatives;
                let mut memory = std::mem::take(&mut self.ranks);
                let links = memory.load(target, asked);
                self.choose(links.len(), key);
                for &link in &self.chosen {
                    let (dst, src) = links.ends(link);
                    pairs.push(src, dst, 1.0);
                }
                any_pairs(links, draws, self.chosen.len() * self.sampling.negatives, pairs);
                self.ranks = memory;
            }
            NegativeEnds::Destination => {
                self.links.load_by_source(target);
                self.choose(self.links.len(), key);
                for &link in &self.chosen {
                    let (src, dst) = self.links.ends(link);
                    pairs.push(src, dst, 1.0);
                }
                self.other_destinations(draws, pairs);
            }
        }
    }

    /// Chooses `round(θ · links)` of all links, in their order; one if there are any.
    fn choose(&mut self, all: usize, key: DrawKey) {
        let draws = key.draws(self.sampling.seed, Purpose::Positives);
        let count = self.count(all);
        self.chosen.clear();
        self.chosen.extend_from_slice(self.distinct.draw_ascending(draws, count, all));
    }

    /// How many of so many links are chosen.
    fn count(&self, all: usize) -> usize {
        ((self.sampling.theta * all as f64).round() as usize).max(1)
    }

    fn other_destinations(&self, draws: Draws, pairs: &mut Pairs) {
        let count = self.sampling.negatives as u64;
        for (first, &link) in (0..).step_by(self.sampling.negatives).zip(&self.chosen) {
            let (src, _) = self.links.ends(link);
            let row = self.links.of(src);
            if row.non_links() == 0 {
                continue;
            }
            for position in first..first + count {
                let rank = draws.below(position, row.non_links() as u64) as usize;
                pairs.push(src, row.non_link(rank), 0.0);
            }
        }
    }
}

/// Adds pairs that are no links. Every one is a function of its position, so they are drawn in parallel.
fn any_pairs(links: Links<'_>, draws: Draws, count: usize, pairs: &mut Pairs) {
    let non_links = links.non_links();
    if non_links == 0 || count == 0 {
        return;
    }
    let first = pairs.len();
    let end = first + count;
    pairs.src.resize(end, 0);
    pairs.dst.resize(end, 0);
    pairs.label.resize(end, 0.0);
    let some = |(batch, (src, dst)): (usize, (&mut [VertexId], &mut [VertexId]))| {
        let first = batch * TOGETHER;
        // Those beyond the last are drawn for nothing.
        let drawn = std::array::from_fn(|at| draws.below((first + at) as u64, non_links));
        let pairs = links.pairs_that_are_none(drawn);
        for ((src, dst), pair) in src.iter_mut().zip(dst).zip(pairs) {
            (*dst, *src) = pair;
        }
    };
    let (src, dst) = (&mut pairs.src[first..], &mut pairs.dst[first..]);
    // Handing a few to others would take longer.
    if src.len() <= TASK_DRAWS {
        let batches = src.chunks_mut(TOGETHER).zip(dst.chunks_mut(TOGETHER));
        return batches.enumerate().for_each(some);
    }
    let batches = src.par_chunks_mut(TOGETHER).zip(dst.par_chunks_mut(TOGETHER));
    batches.enumerate().with_min_len(TASK_DRAWS / TOGETHER).for_each(some);
}
