//! The simple rules of link prediction, told one snapshot after the other and asked about the next.
//!
//! A rule scores a source with all vertices in a row that few edges change: what is drawn for a link is looked up
//! there. So the rules can look on while a model's links are ranked ([`LinkRules::onlooker`]), and the same destinations
//! are drawn once for all of them.

use std::ops::Range;

use rayon::prelude::*;
use zoetrope_graph::{SnapshotSequence, SnapshotView, VertexId};
use zoetrope_nn::metrics::{Classification, Metric};
use zoetrope_tensor::cpu::link_ranks::{Onlooker, drawn_destinations};
use zoetrope_tensor::{LinkRank, LinkRanking};

use super::LinkBaseline;
use super::comparison::{Comparison, link_baselines};
use crate::snapshots::sampling::{
    Candidates, DrawKey, LinkCandidates, LinkSampler, LinkScores, Pairs,
};

/// Links of a task that ranks them.
const RANKED_TOGETHER: usize = 512;

/// The rules of a comparison and what they reached so far.
pub struct LinkRules {
    baselines: Vec<Box<dyn LinkBaseline>>,
    /// The snapshots that they know.
    told: usize,
    /// By question, then by rule.
    measured: Vec<Vec<LinkScores>>,
    right: Vec<Classification>,
    /// Only memory.
    rows: Candidates,
    pairs: Pairs,
    outs: Vec<Vec<f32>>,
}

impl std::fmt::Debug for LinkRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkRules").field("told", &self.told).finish_non_exhaustive()
    }
}

impl LinkRules {
    /// Rules that know nothing, about to be asked so many times; for each question the empty results of it.
    pub fn new<'a>(
        sequence: &SnapshotSequence,
        queries: usize,
        questions: impl Iterator<Item = &'a LinkScores>,
    ) -> Self {
        let baselines = link_baselines(sequence, queries);
        let empty = |scores: &LinkScores| {
            let mut empty = scores.clone();
            empty.clear();
            vec![empty; baselines.len()]
        };
        Self {
            told: 0,
            measured: questions.map(empty).collect(),
            right: vec![Classification::new(2); baselines.len()],
            rows: Candidates::default(),
            pairs: Pairs::default(),
            outs: vec![Vec::new(); baselines.len()],
            baselines,
        }
    }

    /// Tells the snapshots up to a query that are not known yet.
    ///
    /// # Panics
    /// If a later one is known already, or there is no such snapshot.
    pub fn tell(&mut self, sequence: &SnapshotSequence, query: usize) {
        assert!(self.told <= query, "query {query} comes too late");
        let news = self.told..query + 1;
        self.baselines.par_iter_mut().for_each(|baseline| {
            news.clone().for_each(|step| baseline.observe(sequence.at(step)));
        });
        self.told = news.end;
    }

    /// Asks a question about a snapshot: the links of the target among `candidates`.
    pub fn ask(
        &mut self,
        number: usize,
        target: SnapshotView<'_>,
        key: DrawKey,
        candidates: &mut LinkCandidates,
    ) {
        let chunks = candidates.load(target);
        let Self { baselines, measured, rows, outs, .. } = self;
        let measured = &mut measured[number];
        if let Some(ranking) = candidates.ranking(key)
            && measured.iter().all(LinkScores::are_ranks)
        {
            return add(measured, rank(baselines, ranking));
        }
        for chunk in 0..chunks {
            candidates.fill(chunk, key, rows);
            let each = baselines.par_iter().zip(&mut *measured).zip(&mut *outs);
            each.for_each(|((baseline, scores), out)| {
                out.resize(rows.pairs.len(), 0.0);
                baseline.score(&rows.pairs.src, &rows.pairs.dst, out);
                scores.add(rows, out);
            });
        }
    }

    /// Asks whether the pairs that a sampler takes from the target are links.
    pub fn ask_sampled(
        &mut self,
        target: SnapshotView<'_>,
        key: DrawKey,
        sampler: &mut LinkSampler,
    ) {
        let Self { baselines, right, pairs, outs, .. } = self;
        sampler.fill(target, key, pairs);
        baselines.par_iter().zip(right).zip(outs).for_each(|((baseline, counts), out)| {
            if let Some(threshold) = baseline.threshold() {
                out.resize(pairs.len(), 0.0);
                baseline.score(&pairs.src, &pairs.dst, out);
                counts.add_binary(out, threshold, &pairs.label);
            }
        });
    }

    /// Who ranks the links of the target by all rules, while others rank them.
    pub(crate) fn onlooker<'a>(&'a self, ranking: LinkRanking<'a>) -> RulesOnlooker<'a> {
        RulesOnlooker { baselines: &self.baselines, ranking }
    }

    /// Adds what an onlooker found to a question of ranks.
    pub(crate) fn add_ranks(&mut self, number: usize, found: Vec<Vec<Vec<LinkRank>>>) {
        add(&mut self.measured[number], found);
    }

    /// What each rule reached, by question; accuracy with each.
    pub fn compared(mut self) -> Vec<Vec<Comparison>> {
        let (baselines, right) = (&self.baselines, &self.right);
        let compared = |measured: &mut Vec<LinkScores>| {
            let all = baselines.par_iter().zip(measured).zip(right);
            all.map(|((baseline, scores), counts)| {
                let accuracy = baseline.threshold().map(|_| (Metric::Accuracy, counts.accuracy()));
                let measures = scores.report().into_iter().chain(accuracy).collect();
                Comparison { name: baseline.name(), measures }
            })
            .collect()
        };
        self.measured.iter_mut().map(compared).collect()
    }
}

/// Adds ranks by block of links, then by rule.
fn add(measured: &mut [LinkScores], found: Vec<Vec<Vec<LinkRank>>>) {
    for of_block in found {
        measured.iter_mut().zip(of_block).for_each(|(scores, ranks)| scores.add_ranks(&ranks));
    }
}

/// Ranks the links of a snapshot by each rule, with one draw for all of them.
fn rank(baselines: &[Box<dyn LinkBaseline>], ranking: LinkRanking<'_>) -> Vec<Vec<Vec<LinkRank>>> {
    let count = ranking.links.len();
    let blocks: Vec<Range<usize>> = (0..count)
        .step_by(RANKED_TOGETHER)
        .map(|first| first..(first + RANKED_TOGETHER).min(count))
        .collect();
    let onlooker = RulesOnlooker { baselines, ranking };
    let of_block = |memory: &mut _, block| {
        let mut found = onlooker.begin();
        drawn_destinations(ranking, block, |link, ends, drawn| {
            onlooker.look(memory, &mut found, link, ends, drawn);
        });
        found
    };
    blocks.into_par_iter().map_init(|| onlooker.memory(), of_block).collect()
}

/// Ranks links by all rules.
pub(crate) struct RulesOnlooker<'a> {
    baselines: &'a [Box<dyn LinkBaseline>],
    ranking: LinkRanking<'a>,
}

/// The scores from one source, by rule.
pub(crate) struct ScoreRows {
    rows: Vec<ScoreRow>,
    source: Option<VertexId>,
}

impl Onlooker for RulesOnlooker<'_> {
    type Memory = ScoreRows;
    type Found = Vec<Vec<LinkRank>>;
    const LOOKS: bool = true;

    fn memory(&self) -> ScoreRows {
        let vertices = self.ranking.links.vertices() as usize;
        let rows = self.baselines.iter().map(|_| ScoreRow::new(vertices)).collect();
        ScoreRows { rows, source: None }
    }

    fn begin(&self) -> Vec<Vec<LinkRank>> {
        vec![Vec::with_capacity(RANKED_TOGETHER); self.baselines.len()]
    }

    #[inline(always)]
    fn look(
        &self,
        memory: &mut ScoreRows,
        found: &mut Vec<Vec<LinkRank>>,
        _link: usize,
        [source, destination]: [VertexId; 2],
        drawn: &[VertexId],
    ) {
        let is_other = memory.source != Some(source);
        for ((baseline, row), ranks) in self.baselines.iter().zip(&mut memory.rows).zip(found) {
            if is_other {
                row.turn(baseline.as_ref(), memory.source, source, self.ranking);
            }
            ranks.push(row.rank(destination, drawn));
        }
        memory.source = Some(source);
    }
}

/// The scores of a baseline from one source.
struct ScoreRow {
    scores: Vec<f32>,
    /// Whether all vertices that the source is not linked with score 0: what is drawn need not be looked at.
    is_flat: bool,
    /// Scores of what was drawn; only memory.
    drawn: Vec<f32>,
}

impl ScoreRow {
    fn new(vertices: usize) -> Self {
        Self { scores: vec![0.0; vertices], is_flat: true, drawn: Vec::new() }
    }

    fn turn(
        &mut self,
        baseline: &dyn LinkBaseline,
        before: Option<VertexId>,
        source: VertexId,
        ranking: LinkRanking<'_>,
    ) {
        let others = baseline.turn(&mut self.scores, before, source);
        let links = ranking.links.of(source);
        self.is_flat =
            others == links.links().filter(|&to| self.scores[to as usize] != 0.0).count();
    }

    #[inline(always)]
    fn rank(&mut self, destination: VertexId, drawn: &[VertexId]) -> LinkRank {
        let own = self.scores[destination as usize];
        if self.is_flat && !drawn.is_empty() {
            let of = |is: bool| if is { drawn.len() as u32 } else { 0 };
            return LinkRank { higher: of(0.0 > own), equal: of(own == 0.0) };
        }
        self.drawn.resize(drawn.len(), 0.0);
        // A loop, to stay in the function that is compiled for wide vectors.
        for (score, &vertex) in self.drawn.iter_mut().zip(drawn) {
            *score = self.scores[vertex as usize];
        }
        LinkRank::of(own, &self.drawn)
    }
}
