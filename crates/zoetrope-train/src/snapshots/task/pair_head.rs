//! The head of a pair task over the embeddings of one snapshot.

use zoetrope_nn::decoder::{EdgeDecoder, Ends};
use zoetrope_tensor::{LinkRank, PairLayers, Var};

use super::Judge;
use super::edge_pairs::StackedPairs;
use super::link_prediction::MANY;
use crate::error::TrainError;
use crate::snapshots::baseline::LinkRules;
use crate::snapshots::engine::Head;
use crate::snapshots::sampling::{Candidates, DrawKey, LinkCandidates, Pairs};

/// Scores pairs of one snapshot, a list after the other.
pub(super) struct PairHead<'n, 's> {
    head: &'n EdgeDecoder,
    embeddings: Var,
    /// What belongs to vertices, computed once, if the head has that.
    layers: Option<PairLayers>,
    stacked: &'s mut StackedPairs,
}

impl<'n, 's> PairHead<'n, 's> {
    pub(super) fn new(
        judge: &mut Judge<'n>,
        embeddings: Var,
        stacked: &'s mut StackedPairs,
    ) -> Result<Self, TrainError> {
        let Head::Edge(head) = &judge.network.head else {
            unreachable!("an edge task has its head")
        };
        let layers = head.pair_layers(&mut judge.forward, embeddings)?;
        Ok(Self { head, embeddings, layers, stacked })
    }

    /// One number for each pair.
    pub(super) fn score(
        &mut self,
        judge: &mut Judge<'_>,
        pairs: &Pairs,
    ) -> Result<Vec<f32>, TrainError> {
        self.stacked.clear();
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        self.stacked.extend(pairs, 0);
        self.score_ends(judge, &self.stacked.ends)
    }

    /// One number for each pair of vertices.
    pub(super) fn score_ends(
        &self,
        judge: &mut Judge<'_>,
        ends: &Ends,
    ) -> Result<Vec<f32>, TrainError> {
        if ends.src.is_empty() {
            return Ok(Vec::new());
        }
        let forward = &mut judge.forward;
        let mark = forward.tape.mark();
        let logits = match self.layers {
            Some(layers) => forward.tape.pair_scores(layers, [&ends.src, &ends.dst])?,
            None => self.head.decode(forward, self.embeddings, ends)?,
        };
        let scores = forward.tape.read(logits);
        forward.tape.forget_since(mark);
        Ok(scores)
    }

    /// The rank of each link that `drawn` has loaded, and of each by simple rules, which look on; None if the head or
    /// the device cannot.
    pub(super) fn ranks_with(
        &self,
        judge: &Judge<'_>,
        drawn: &LinkCandidates,
        key: DrawKey,
        rules: &mut LinkRules,
    ) -> Result<Option<Vec<LinkRank>>, TrainError> {
        let tape = &judge.forward.tape;
        let (Some(layers), Some(ranking)) = (self.layers, drawn.ranking(key)) else {
            return Ok(None);
        };
        if tape.device().gpu().is_some() {
            return Ok(None);
        }
        let (ranks, found) = tape.link_ranks_with(layers, ranking, &rules.onlooker(ranking))?;
        rules.add_ranks(MANY, found);
        Ok(Some(ranks))
    }

    /// The rank of each link that `drawn` has loaded among its negatives: drawn, scored and counted at once
    /// if the head and the device can, otherwise in `chunks` of pairs.
    pub(super) fn ranks(
        &mut self,
        judge: &mut Judge<'_>,
        drawn: &mut LinkCandidates,
        chunks: usize,
        key: DrawKey,
        candidates: &mut Candidates,
    ) -> Result<Vec<LinkRank>, TrainError> {
        if let (Some(layers), Some(ranking)) = (self.layers, drawn.ranking(key))
            && judge.forward.tape.can_rank_links(ranking.negatives)
        {
            return Ok(judge.forward.tape.link_ranks(layers, ranking)?);
        }
        let mut ranks = Vec::new();
        for chunk in 0..chunks {
            drawn.fill(chunk, key, candidates);
            let scores = self.score(judge, &candidates.pairs)?;
            // A row is a link, then its negatives.
            let rows = (0..candidates.rows()).map(|row| &scores[candidates.row(row)]);
            ranks.extend(rows.map(|row| LinkRank::of(row[0], &row[1..])));
        }
        Ok(ranks)
    }
}
