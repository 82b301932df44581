//! Who judges which snapshots, and how their scores meet.
//!
//! Ranks that take different frames compute and judge a pass each. Those that share the cells of frames compute
//! every pass together and judge its snapshots in turn: the embeddings of a snapshot go to the rank whose turn it
//! is, and all judge at once. Scores alone meet on the first rank, which counts them in the order of snapshots: the
//! metrics are those of one rank that has the same embeddings, to the bit.

use std::collections::BTreeMap;
use std::sync::Arc;

use zoetrope_dist::Ranks;
use zoetrope_nn::Forward;
use zoetrope_run::Metrics;

use super::Session;
use super::evaluate::Pass;
use crate::error::TrainError;
use crate::snapshots::engine::{Output, Piece, evaluating};
use crate::snapshots::task::{Judge, Scores};

/// The tags of embeddings on their way to the rank that judges them, and of what it finds.
const EMBEDDINGS: u16 = 1;
const SCORES: u16 = 2;

impl Session {
    /// Judges what some passes ask. If `answers` is there, appends what a prediction file has for each
    /// snapshot.
    pub(super) fn judge_passes(
        &mut self,
        passes: &[Pass],
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<(), TrainError> {
        if self.runner.sharing().is_some() {
            return self.judge_in_turn(passes, answers);
        }
        let taking_part = self.ranks.as_ref().map_or(1, Ranks::size);
        let mut latest = None;
        for round in passes.chunks(taking_part) {
            self.judge_round(round, &mut latest, answers.as_deref_mut())?;
        }
        self.count_latest(&mut latest, answers);
        Ok(())
    }

    /// The snapshots that this rank judges, in order: of all that are asked, or of its own passes.
    pub(super) fn judged_here(&self, passes: &[Pass]) -> Vec<usize> {
        let (rank, size) = (self.rank(), self.ranks.as_ref().map_or(1, Ranks::size));
        let asked = |pass: &Pass| pass.asked.clone();
        if self.runner.sharing().is_some() {
            return passes.iter().flat_map(asked).skip(rank).step_by(size).collect();
        }
        passes.iter().skip(rank).step_by(size).flat_map(asked).collect()
    }

    /// Judges passes, of which each rank takes one; alone, one is all there is. The scores of the latest snapshot are
    /// counted when the next one has been sent to a GPU, which then has something to do meanwhile.
    fn judge_round(
        &mut self,
        round: &[Pass],
        latest: &mut Option<(usize, Scores)>,
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<(), TrainError> {
        let (rank, own) = (self.rank(), round.get(self.rank()));
        let longest = round.iter().map(|pass| self.pieces_of_pass(&pass.steps).len()).max();
        let mut pieces = longest.unwrap_or(0);
        let mut found = Vec::new();
        let mut look = |session: &mut Self, output: &Output, step: usize| {
            session.count_latest(latest, answers.as_deref_mut());
            let scores = session.score_on_tape(output, step)?;
            // What the first rank finds comes first; that of others waits for it.
            if rank == 0 {
                *latest = Some((step, scores));
            } else {
                found.push(scores);
            }
            Ok(())
        };
        if let Some(pass) = own {
            self.visit(pass, |session, _, output, step| look(session, output, step))?;
            pieces -= self.pieces_of_pass(&pass.steps).len();
        }
        self.stand_by(pieces)?;
        let Some(ranks) = self.ranks.clone() else { return Ok(()) };
        self.count_latest(latest, answers.as_deref_mut());
        for scores in found {
            send_scores(&ranks, &scores)?;
        }
        for (other, pass) in round.iter().enumerate().skip(1).filter(|_| rank == 0) {
            for step in pass.asked.clone() {
                let scores = receive_scores(&ranks, other)?;
                self.count(step, &scores, answers.as_deref_mut());
            }
        }
        Ok(())
    }

    /// Judges passes that all ranks compute together: as many snapshots at a time as there are ranks.
    fn judge_in_turn(
        &mut self,
        passes: &[Pass],
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<(), TrainError> {
        let Some(ranks) = self.ranks.clone() else { return Ok(()) };
        let mut turns: Vec<usize> = Vec::new();
        for pass in passes {
            self.visit(pass, |session, piece, output, step| {
                session.fetch_rows(piece, output, step, turns.len())?;
                turns.push(step);
                if turns.len() < ranks.size() {
                    return Ok(());
                }
                session.judge_turns(&ranks, &mut turns, answers.as_deref_mut())
            })?;
        }
        self.judge_turns(&ranks, &mut turns, answers)
    }

    /// Judges snapshots of which each rank has the embeddings of one.
    fn judge_turns(
        &mut self,
        ranks: &Ranks,
        turns: &mut Vec<usize>,
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<(), TrainError> {
        ranks.take_time();
        let mut own = match turns.get(ranks.rank()) {
            Some(&step) => Some(self.score_apart(step)?),
            None => None,
        };
        for (rank, step) in turns.drain(..).enumerate() {
            if ranks.rank() == 0 {
                let scores = match own.take() {
                    Some(scores) => scores,
                    None => receive_scores(ranks, rank)?,
                };
                self.count(step, &scores, answers.as_deref_mut());
            } else if rank == ranks.rank() {
                send_scores(ranks, &own.take().unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// The scores of a snapshot whose embeddings are on the tape.
    fn score_on_tape(&mut self, output: &Output, step: usize) -> Result<Scores, TrainError> {
        let (network, mut scores) = (&self.network, Scores::default());
        let mark = self.tape.mark();
        let parameters = &network.parameters;
        let mut forward = Forward::evaluating(&mut self.tape, parameters, &mut self.updates);
        let rows = output.rows_of(&mut forward, &(step..step + 1), self.runner.vertices())?;
        self.task.judge(&mut Judge { network, forward }, step, rows, &mut scores)?;
        self.tape.forget_since(mark);
        Ok(scores)
    }

    /// The scores of a snapshot whose embeddings came from elsewhere.
    fn score_apart(&mut self, step: usize) -> Result<Scores, TrainError> {
        let (network, mut scores) = (&self.network, Scores::default());
        let forward = evaluating(&mut self.judge_tape, &network.parameters, &mut self.updates);
        let rows = forward.tape.constant(&self.embeddings, 0..self.embeddings.shape().rows)?;
        self.task.judge(&mut Judge { network, forward }, step, rows, &mut scores)?;
        // It lets go of the embeddings before the next ones come.
        self.judge_tape.reset();
        Ok(scores)
    }

    /// Counts the scores of the latest snapshot, unless that was done.
    fn count_latest(
        &mut self,
        latest: &mut Option<(usize, Scores)>,
        answers: Option<&mut Vec<f32>>,
    ) {
        if let Some((step, scores)) = latest.take() {
            self.count(step, &scores, answers);
        }
    }

    fn count(&mut self, step: usize, scores: &Scores, answers: Option<&mut Vec<f32>>) {
        self.task.count(step, scores);
        if let Some(answers) = answers {
            answers.extend_from_slice(&scores.numbers);
        }
    }

    /// Puts the embeddings of a snapshot on the rank `to`, to which another one sends them if it has them.
    /// Returns whether that is this one.
    pub(super) fn fetch_rows(
        &mut self,
        piece: &Piece,
        output: &Output,
        step: usize,
        to: usize,
    ) -> Result<bool, TrainError> {
        let Some(sharing) = self.runner.sharing() else {
            // Ranks that take different frames all have them.
            let place = Arc::make_mut(&mut self.embeddings).as_mut_slice();
            output.read(&self.tape, step, place);
            return Ok(self.rank() == to);
        };
        let ranks = &sharing.ranks;
        ranks.check()?;
        let owner = sharing.answerer(piece, step);
        if owner == ranks.rank() && owner != to {
            let mut rows = vec![0.0; self.embeddings.shape().len()];
            output.read(&self.tape, step, &mut rows);
            ranks.send(to, EMBEDDINGS, rows)?;
        } else if owner == ranks.rank() {
            output.read(&self.tape, step, Arc::make_mut(&mut self.embeddings).as_mut_slice());
        } else if to == ranks.rank() {
            let place = Arc::make_mut(&mut self.embeddings).as_mut_slice();
            place.copy_from_slice(&ranks.receive(owner, EMBEDDINGS, place.len())?);
        }
        ranks.take_time();
        Ok(ranks.rank() == to)
    }

    /// The metrics that the first rank found, on all of them.
    pub(super) fn share_metrics(&self, metrics: Metrics) -> Result<Metrics, TrainError> {
        let Some(ranks) = &self.ranks else { return Ok(metrics) };
        // By their bits: decimal text may come back with another last digit.
        let bits = |(name, value): (String, f64)| (name, value.to_bits());
        let own: BTreeMap<String, u64> = match ranks.rank() {
            0 => metrics.into_iter().map(bits).collect(),
            _ => BTreeMap::new(),
        };
        let own = serde_json::to_vec(&own).unwrap_or_default();
        let mut length = [own.len() as u64];
        ranks.broadcast(0, &mut length)?;
        let mut text = own;
        text.resize(length[0] as usize, 0);
        ranks.broadcast(0, &mut text)?;
        let shared: BTreeMap<String, u64> = serde_json::from_slice(&text).unwrap_or_default();
        Ok(shared.into_iter().map(|(name, bits)| (name, f64::from_bits(bits))).collect())
    }
}

/// Sends scores to the first rank.
fn send_scores(ranks: &Ranks, scores: &Scores) -> Result<(), TrainError> {
    let words = scores.pack();
    ranks.send(0, SCORES, vec![words.len() as u64])?;
    Ok(ranks.send(0, SCORES, words)?)
}

fn receive_scores(ranks: &Ranks, from: usize) -> Result<Scores, TrainError> {
    let length: Vec<u64> = ranks.receive(from, SCORES, 1)?;
    Ok(Scores::unpack(&ranks.receive::<u32>(from, SCORES, length[0] as usize)?))
}
