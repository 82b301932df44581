//! Links ranked among destinations that are drawn for them.
//!
//! ```text
//! score(u, v) = relu(source[u] + destination[v])·w + b
//! rank of (u, v) = how many drawn w, distinct and not linked with u, have score(u, w) > score(u, v)
//! ```
//!
//! Drawn, scored and counted at once: a hundred destinations for each of millions of links are neither
//! written nor read. A destination costs a draw (made many at a time), a mark, the place of its rank among
//! those that the source is not linked with, and a row of `destination` from the second-level cache. If the
//! links of a source that lie in one block have more destinations in all than there are, each is scored
//! once, and a draw is a look into a table.
//!
//! Scores have the bits of [`pair_scores`](super::pairs::pair_scores). Blocks of links are computed in
//! parallel; a rank is a count, so nothing depends on who computes it.

use std::cell::RefCell;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use zoetrope_graph::link_set::Row;
use zoetrope_graph::{Distinct, LinkSet};

use super::pairs::dot;
use super::simd::current;
use crate::ops::link_ranks::{LinkRank, LinkRanking};

/// Links of a block: a table of a source's scores serves that many of its links.
const BLOCK: usize = 512;

/// So many links of a source are compared with a rank one by one; among more it is searched.
const COMPARED_MAX: usize = 32;

/// What scores a pair: the matrices of [`PairScores`](super::pairs::PairScores) with one output.
#[derive(Debug, Clone, Copy)]
pub struct Scoring<'a> {
    /// A row for each vertex as a source, with the bias of the hidden layer.
    pub source: &'a [f32],
    /// A row for each vertex as a destination.
    pub destination: &'a [f32],
    /// Columns of both.
    pub width: usize,
    /// The last layer.
    pub weight: &'a [f32],
    /// Its bias.
    pub bias: f32,
}

/// Memory of a thread that ranks.
#[derive(Debug, Default)]
struct Memory {
    distinct: Distinct,
    /// Of each link of a source, the vertices before it that are none.
    before: Vec<u32>,
    /// Scores by rank among the vertices that a source is not linked with.
    table: Vec<f32>,
    /// Scores of what was drawn for a link.
    scores: Vec<f32>,
    /// Vertices by rank, and those that were drawn for a link.
    listed: Vec<u32>,
    vertices: Vec<u32>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Who looks at the destinations that are drawn while links are ranked, so that they are drawn once.
pub trait Onlooker: Sync {
    /// Memory of a thread.
    type Memory: Send;
    /// What it finds in a block of links.
    type Found: Send;
    /// Whether it looks at all.
    const LOOKS: bool;

    /// Memory of a thread that begins.
    fn memory(&self) -> Self::Memory;

    /// Nothing found yet.
    fn begin(&self) -> Self::Found;

    /// Is shown a link, its ends, and the destinations that are drawn for it; in the order of links. Inlined into a
    /// function that is compiled for wide vectors.
    fn look(
        &self,
        memory: &mut Self::Memory,
        found: &mut Self::Found,
        link: usize,
        ends: [u32; 2],
        drawn: &[u32],
    );
}

/// Nobody.
impl Onlooker for () {
    type Memory = ();
    type Found = ();
    const LOOKS: bool = false;

    fn memory(&self) {}

    fn begin(&self) {}

    #[inline(always)]
    fn look(&self, (): &mut (), (): &mut (), _: usize, _: [u32; 2], _: &[u32]) {}
}

/// Writes the rank of each link. Returns what an onlooker finds in each block of links, in their order.
///
/// # Panics
///
/// If there is no place for each link, or it names a row that is not there.
pub fn link_ranks<O: Onlooker>(
    scoring: Scoring<'_>,
    ranking: LinkRanking<'_>,
    ranks: &mut [LinkRank],
    onlooker: &O,
) -> Vec<O::Found> {
    assert_eq!(ranks.len(), ranking.links.len(), "a place for each link");
    assert_eq!(scoring.weight.len(), scoring.width, "one output");
    let cpu = current();
    let blocks = ranks.par_chunks_mut(BLOCK).enumerate();
    let found = blocks.map_init(
        || onlooker.memory(),
        |own, (block, ranks)| {
            // Taken, not borrowed: a thread that waits may begin another block.
            let mut memory = MEMORY.take();
            let mut found = onlooker.begin();
            let (first, memory_of) = (block * BLOCK, &mut memory);
            let look = Look { onlooker, memory: own, found: &mut found };
            cpu.run(Block { scoring, ranking, first, ranks, memory: memory_of, look });
            MEMORY.set(memory);
            found
        },
    );
    found.collect()
}

/// An onlooker with its memory.
struct Look<'a, O: Onlooker> {
    onlooker: &'a O,
    memory: &'a mut O::Memory,
    found: &'a mut O::Found,
}

impl<O: Onlooker> Look<'_, O> {
    /// Shows what is drawn for a link.
    #[inline(always)]
    fn at(&mut self, links: &LinkSet, link: usize, drawn: &[u32]) {
        let (source, destination) = links.ends(link);
        self.onlooker.look(self.memory, self.found, link, [source, destination], drawn);
    }
}

/// Numbers of a table by their places in it.
#[inline(always)]
fn look_up<T: Copy + Default>(table: &[T], places: &[u32], found: &mut Vec<T>) {
    found.resize(places.len(), T::default());
    for (found, &place) in found.iter_mut().zip(places) {
        *found = table[place as usize];
    }
}

struct Block<'a, O: Onlooker> {
    scoring: Scoring<'a>,
    ranking: LinkRanking<'a>,
    first: usize,
    ranks: &'a mut [LinkRank],
    memory: &'a mut Memory,
    look: Look<'a, O>,
}

impl<O: Onlooker> WithSimd for Block<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { scoring, ranking, first, ranks, memory, mut look } = self;
        let source = |at: usize| ranking.links.ends(first + at).0;
        let mut from = 0;
        while from < ranks.len() {
            let mut until = from + 1;
            while until < ranks.len() && source(until) == source(from) {
                until += 1;
            }
            let others = Others { row: ranking.links.of(source(from)), source: source(from) };
            Run { scoring, ranking, others }.rank(
                simd,
                first + from,
                &mut ranks[from..until],
                memory,
                &mut look,
            );
            from = until;
        }
    }
}

/// Links of one source.
struct Run<'a> {
    scoring: Scoring<'a>,
    ranking: LinkRanking<'a>,
    others: Others<'a>,
}

impl Run<'_> {
    #[inline(always)]
    fn rank<S: Simd, O: Onlooker>(
        self,
        simd: S,
        first: usize,
        ranks: &mut [LinkRank],
        memory: &mut Memory,
        look: &mut Look<'_, O>,
    ) {
        let Memory { distinct, before, table, scores, vertices, listed } = memory;
        let LinkRanking { links, negatives, draws } = self.ranking;
        let size = self.others.row.non_links();
        if size == 0 {
            for link in first..first + ranks.len() {
                look.at(links, link, &[]);
            }
            return ranks.fill(LinkRank::ALONE);
        }
        let tabulated = ranks.len() * negatives.min(size) >= size;
        if tabulated {
            listed.clear();
            listed.extend(self.others.all(links.vertices()));
            self.score_all(simd, listed, table);
        } else {
            self.others.list(before);
        }
        for (link, rank) in (first..).zip(ranks) {
            let own = self.score(simd, links.ends(link).1);
            let drawn = distinct.draw(draws, (link * negatives) as u64, negatives, size as u32);
            if tabulated {
                look_up(table, drawn, scores);
                if O::LOOKS {
                    look_up(listed, drawn, vertices);
                }
            } else {
                self.others.find(before, drawn, vertices);
                self.score_all(simd, vertices, scores);
            }
            *rank = LinkRank::of(own, scores);
            look.at(links, link, vertices);
        }
    }

    /// The scores of some destinations. A loop and no iterator: what adapters of iterators call is not always inlined,
    /// and outside of a function that is compiled for wide vectors every instruction of theirs is a call.
    #[inline(always)]
    fn score_all<S: Simd>(&self, simd: S, destinations: &[u32], scores: &mut Vec<f32>) {
        scores.resize(destinations.len(), 0.0);
        for (score, &destination) in scores.iter_mut().zip(destinations) {
            *score = self.score(simd, destination);
        }
    }

    /// The score of a destination.
    #[inline(always)]
    fn score<S: Simd>(&self, simd: S, destination: u32) -> f32 {
        let Scoring { source, destination: rows, width, weight, bias } = self.scoring;
        let own = &source[self.others.source as usize * width..][..width];
        dot(simd, own, &rows[destination as usize * width..][..width], weight) + bias
    }
}

/// The vertices that a source is not linked with.
struct Others<'a> {
    row: Row<'a>,
    source: u32,
}

impl Others<'_> {
    /// All of them, ascending.
    #[inline(always)]
    fn all(&self, vertices: u32) -> impl Iterator<Item = u32> {
        let (mut links, source) = (self.row.links().peekable(), self.source);
        (0..vertices).filter(move |vertex| links.next_if_eq(vertex).is_none() && *vertex != source)
    }

    /// Of each link, the other vertices before it that are none.
    #[inline(always)]
    fn list(&self, before: &mut Vec<u32>) {
        let place = |vertex: u32| vertex - u32::from(vertex > self.source);
        before.clear();
        before.extend(self.row.links().zip(0..).map(|(vertex, links)| place(vertex) - links));
    }

    /// Those of some ranks.
    #[inline(always)]
    fn find(&self, before: &[u32], ranks: &[u32], vertices: &mut Vec<u32>) {
        vertices.clear();
        vertices.extend_from_slice(ranks);
        if before.len() <= COMPARED_MAX {
            // A link after the other, so that many ranks are compared with it at once.
            for &before in before {
                for (place, &rank) in vertices.iter_mut().zip(ranks) {
                    *place += u32::from(before <= rank);
                }
            }
        } else {
            for (place, &rank) in vertices.iter_mut().zip(ranks) {
                *place += before.partition_point(|&before| before <= rank) as u32;
            }
        }
        vertices.iter_mut().for_each(|place| *place += u32::from(*place >= self.source));
    }
}

/// Hands `look` some links, each with its source, its destination and the destinations that are drawn for it.
/// For what scores vertices without a kernel.
pub fn drawn_destinations(
    ranking: LinkRanking<'_>,
    links: Range<usize>,
    look: impl FnMut(usize, [u32; 2], &[u32]),
) {
    let mut memory = MEMORY.take();
    current().run(Listing { ranking, links, look, memory: &mut memory });
    MEMORY.set(memory);
}

struct Listing<'a, F> {
    ranking: LinkRanking<'a>,
    links: Range<usize>,
    look: F,
    memory: &'a mut Memory,
}

impl<F: FnMut(usize, [u32; 2], &[u32])> WithSimd for Listing<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { ranking, links: range, mut look, memory } = self;
        let Memory { distinct, before, vertices, listed, .. } = memory;
        let LinkRanking { links, negatives, draws } = ranking;
        let mut from = range.start;
        while from < range.end {
            let source = links.ends(from).0;
            let mut until = from + 1;
            while until < range.end && links.ends(until).0 == source {
                until += 1;
            }
            let others = Others { row: links.of(source), source };
            let size = others.row.non_links();
            let tabulated = (until - from) * negatives.min(size) >= size;
            if tabulated {
                listed.clear();
                listed.extend(others.all(links.vertices()));
            } else {
                others.list(before);
            }
            for link in from..until {
                let drawn = distinct.draw(draws, (link * negatives) as u64, negatives, size as u32);
                if tabulated {
                    look_up(listed, drawn, vertices);
                } else {
                    others.find(before, drawn, vertices);
                }
                look(link, [source, links.ends(link).1], vertices);
            }
            from = until;
        }
    }
}

#[cfg(test)]
#[path = "../../tests/hub_links/mod.rs"]
mod hub_links;

#[cfg(test)]
mod tests {
    use super::hub_links::links;
    use super::*;
    use crate::cpu::pairs::{PairScores, pair_scores};
    use crate::cpu::test_support::{everywhere, numbers};
    use zoetrope_graph::random::{Draws, Random};

    /// What is drawn for each link, one by one.
    fn lists(LinkRanking { links, negatives, draws }: LinkRanking<'_>) -> Vec<Vec<u32>> {
        let mut distinct = Distinct::default();
        let of = |link: usize| {
            let row = links.of(links.ends(link).0);
            let first = (link * negatives) as u64;
            let drawn = distinct.draw(draws, first, negatives, row.non_links() as u32);
            drawn.iter().map(|&rank| row.non_link(rank as usize)).collect()
        };
        (0..links.len()).map(of).collect()
    }

    /// The same by lists of pairs.
    fn listed(scoring: Scoring<'_>, ranking: LinkRanking<'_>) -> Vec<LinkRank> {
        let score = |src: u32, all: &[u32]| {
            let mut y = vec![0.0; all.len()];
            let Scoring { source, destination, width, weight, bias } = scoring;
            let (src, bias) = (vec![src; all.len()], [bias]);
            let ends = [&src[..], all];
            let bias = &bias;
            pair_scores(PairScores { source, destination, width, ends, weight, bias }, &mut y);
            y
        };
        let links = ranking.links.iter().zip(lists(ranking));
        links
            .map(|((src, dst), all)| LinkRank::of(score(src, &[dst])[0], &score(src, &all)))
            .collect()
    }

    /// Writes down what it is shown.
    struct Recorder<'a>(&'a LinkSet);

    impl Onlooker for Recorder<'_> {
        type Memory = ();
        type Found = Vec<Vec<u32>>;
        const LOOKS: bool = true;

        fn memory(&self) {}

        fn begin(&self) -> Vec<Vec<u32>> {
            Vec::new()
        }

        fn look(
            &self,
            (): &mut (),
            found: &mut Vec<Vec<u32>>,
            link: usize,
            ends: [u32; 2],
            drawn: &[u32],
        ) {
            assert_eq!(ends, <[u32; 2]>::from(self.0.ends(link)));
            found.push(drawn.to_vec());
        }
    }

    fn words(ranks: &[LinkRank]) -> Vec<f32> {
        ranks.iter().flat_map(|rank| [rank.higher as f32, rank.equal as f32]).collect()
    }

    #[test]
    fn links_are_ranked_as_by_lists_of_pairs() {
        for (vertices, width, negatives) in [(12, 3, 2), (60, 17, 100), (90, 16, 7), (700, 32, 20)]
        {
            let links = links(vertices);
            let len = vertices as usize * width;
            // Few different numbers, so that there are equal scores.
            let coarse =
                |seed| numbers(seed, len, 2.0).iter().map(|x| x.round()).collect::<Vec<_>>();
            let (source, destination) = (coarse(1), coarse(2));
            let weight: Vec<f32> = numbers(3, width, 2.0).iter().map(|x| x.round()).collect();
            let scoring = Scoring {
                source: &source,
                destination: &destination,
                width,
                weight: &weight,
                bias: 0.5,
            };
            let draws = Draws::new(Random::new(7, 0x0A83).at_step(4), 0);
            let ranking = LinkRanking { links: &links, negatives, draws };
            let ranked = || {
                let mut ranks = vec![LinkRank::default(); links.len()];
                link_ranks(scoring, ranking, &mut ranks, &());
                ranks
            };
            let expected = listed(scoring, ranking);
            let mut drawn = Vec::new();
            let middle = links.len() / 2;
            for part in [0..middle, middle..links.len()] {
                drawn_destinations(ranking, part, |link, ends, vertices| {
                    assert_eq!(ends, <[u32; 2]>::from(links.ends(link)));
                    drawn.push(vertices.to_vec());
                });
            }
            assert_eq!(drawn, lists(ranking));
            let mut ranks = vec![LinkRank::default(); links.len()];
            let shown = link_ranks(scoring, ranking, &mut ranks, &Recorder(&links)).concat();
            assert_eq!((shown, words(&ranks)), (drawn, words(&expected)), "with an onlooker");
            assert!(
                expected.contains(&LinkRank::ALONE) && expected.iter().any(|rank| rank.equal > 1)
            );
            everywhere(
                || words(&ranked()),
                |level, got| {
                    assert_eq!(got, words(&expected), "{vertices} vertices at {level}");
                },
            );
        }
    }

    #[test]
    fn scores_that_are_no_numbers_have_no_rank() {
        let links = links(12);
        let (source, destination) = (vec![1.0; 12], vec![0.5; 12]);
        let (width, weight, bias) = (1, &[f32::NAN][..], 0.0);
        let scoring = Scoring { source: &source, destination: &destination, width, weight, bias };
        let draws = Draws::new(Random::new(7, 1), 0);
        let mut ranks = vec![LinkRank::default(); links.len()];
        link_ranks(scoring, LinkRanking { links: &links, negatives: 50, draws }, &mut ranks, &());
        for (rank, (src, _)) in ranks.into_iter().zip(links.iter()) {
            let expected = if src == 5 { LinkRank::ALONE } else { LinkRank::NOT_FINITE };
            assert_eq!(rank, expected, "a link of {src}");
        }
    }
}
