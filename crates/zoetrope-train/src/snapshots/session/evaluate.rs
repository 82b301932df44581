//! Measuring on a part.
//!
//! A snapshot is judged once, with everything before it as history and nothing after it: as the
//! last of its own frame, or in one pass over the sequence if the state is carried or the whole
//! sequence is one frame.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_data::split::Part;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::state::Carried;
use zoetrope_run::{Metrics, Phase};

use super::Session;
use crate::error::TrainError;
use crate::snapshots::engine::{Output, Piece, evaluating};
use crate::snapshots::task::Judge;
use crate::stages;
use crate::training_run::{Collectives, Evaluation};

/// The tag of embeddings on their way to the rank that judges them.
const EMBEDDINGS: u16 = 1;

/// Some snapshots that are computed together, and which of them are looked at.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    steps: Range<usize>,
    asked: Range<usize>,
}

impl Evaluation for Session {
    fn has(&self, part: Part) -> bool {
        !self.steps_of(part).is_empty()
    }

    fn evaluate(&mut self, part: Part) -> Result<Metrics, TrainError> {
        let _judging = zoetrope_heap::during(&stages::JUDGING);
        let steps = self.steps_of(part);
        self.judge(steps, None)
    }
}

impl Session {
    fn judge(
        &mut self,
        steps: Range<usize>,
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<Metrics, TrainError> {
        let timer = std::time::Instant::now();
        self.task.begin();
        for pass in self.passes_of(&steps) {
            self.judge_pass(&pass, answers.as_deref_mut())?;
        }
        let metrics = self.task.metrics();
        let metrics = self.share_metrics(metrics)?;
        self.timeline.add(Phase::Evaluate, timer);
        Ok(metrics)
    }

    pub(super) fn judge_pass(
        &mut self,
        pass: &Pass,
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<(), TrainError> {
        self.visit(pass, |session, step| {
            let mut judge = Judge {
                network: &session.network,
                tape: &mut session.judge_tape,
                answers: answers.as_deref_mut(),
            };
            session.task.judge(&mut judge, step, &session.embeddings)
        })
    }

    /// Runs the model over a pass and shows the embeddings of each snapshot that is asked for.
    pub(super) fn visit(
        &mut self,
        pass: &Pass,
        mut look: impl FnMut(&mut Self, usize) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let mut carried = Carried::default();
        let pieces = self.pieces_of_pass(&pass.steps);
        if self.shares_frames() && self.ranks.as_ref().is_some_and(|ranks| ranks.rank() > 0) {
            return self.stand_by(pieces.len());
        }
        for piece in pieces {
            self.take_time();
            if self.agree(self.interrupt.is_asked())? {
                return Err(TrainError::Stopped);
            }
            self.fit_tape(piece.steps.len());
            let output = self.embed_piece(&piece, &carried)?;
            let Range { start, end } = piece.steps;
            if end < pass.steps.end {
                output.state.detach(&self.tape, &mut carried);
            }
            for step in start.max(pass.asked.start)..end.min(pass.asked.end) {
                if !self.fetch_rows(&piece, &output, step)? {
                    continue;
                }
                look(self, step)?;
                // The judge's tape may still share the embeddings; it lets go before the next copy.
                self.judge_tape.reset();
            }
        }
        self.fit_tape(self.training_block());
        Ok(())
    }

    /// While the first rank judges so many pieces: agrees with it whether to stop.
    fn stand_by(&mut self, pieces: usize) -> Result<(), TrainError> {
        for _ in 0..pieces {
            self.take_time();
            if self.agree(self.interrupt.is_asked())? {
                return Err(TrainError::Stopped);
            }
        }
        Ok(())
    }

    /// The pieces of all frames, and of all passes that judge; none if ranks do not share them.
    pub(super) fn all_pieces(&self) -> Vec<Piece> {
        if self.runner.sharing().is_none() {
            return Vec::new();
        }
        let frames = self.plan.frames.iter();
        let mut pieces: Vec<Piece> =
            frames.flat_map(|frame| self.pieces(frame.range(), frame.group)).collect();
        for part in [Part::Validation, Part::Test] {
            for pass in self.passes_of(&self.steps_of(part)) {
                pieces.extend(self.pieces_of_pass(&pass.steps));
            }
        }
        pieces
    }

    /// The passes that judge some snapshots.
    fn passes_of(&self, steps: &Range<usize>) -> Vec<Pass> {
        let first = steps.start.max(self.earliest());
        self.passes_for(&(first..steps.end).collect::<Vec<_>>())
    }

    /// The snapshots of a block of training.
    fn training_block(&self) -> usize {
        self.plan.frames[0].steps.div_ceil(self.plan.blocks.count.max(1))
    }

    /// Under a limit on memory, lets a tape of another size go before so many snapshots are computed. A
    /// size that differs by less than a quarter uses the same blocks.
    fn fit_tape(&mut self, steps: usize) {
        let (less, more) = (steps.min(self.tape_steps), steps.max(self.tape_steps));
        if zoetrope_heap::limit().is_some() && more - less > less / 4 {
            self.tape.shrink();
        }
        self.tape_steps = steps;
    }

    /// The snapshots of a pass as they are computed one after the other: none takes more memory than a
    /// step of training.
    fn pieces_of_pass(&self, steps: &Range<usize>) -> Vec<Piece> {
        let group = self.plan.judged_group;
        if !self.sequential() {
            return self.pieces(steps.clone(), group);
        }
        let cut = |length: usize| {
            let starts = steps.clone().step_by(length.max(1));
            starts.map(move |start| start..(start + length).min(steps.end))
        };
        if self.plan.rule.frame.is_none() && !self.network.model.works_in_blocks() {
            return self.pieces(steps.clone(), group);
        }
        if self.runner.sharing().is_some() {
            let frames = cut(self.plan.frames[0].steps);
            return frames.flat_map(|frame| self.pieces(frame, group)).collect();
        }
        // As long as a block of training: what the tape keeps fits all of them but the last.
        cut(self.training_block()).map(|steps| Piece::whole(steps, group)).collect()
    }

    fn embed_piece(&mut self, piece: &Piece, carried: &Carried) -> Result<Output, TrainError> {
        let parameters = &self.network.parameters;
        let mut forward = evaluating(&mut self.tape, parameters, &mut self.updates);
        let model = self.network.model.as_ref();
        let state = carried.attach(forward.tape)?;
        Ok(self.runner.embed(&mut forward, model, piece, state)?)
    }

    /// Brings the embeddings of a snapshot to the first rank, which judges it; a rank that has them
    /// sends them. Returns whether this is the first rank.
    fn fetch_rows(
        &mut self,
        piece: &Piece,
        output: &Output,
        step: usize,
    ) -> Result<bool, TrainError> {
        let place = Arc::make_mut(&mut self.embeddings).as_mut_slice();
        let Some(sharing) = self.runner.sharing() else {
            output.read(&self.tape, step, place);
            return Ok(true);
        };
        sharing.ranks.check()?;
        let owner = sharing.answerer(piece, step);
        if owner == sharing.ranks.rank() {
            output.read(&self.tape, step, place);
            if owner != 0 {
                sharing.ranks.send(0, EMBEDDINGS, place.to_vec())?;
            }
        } else if sharing.ranks.rank() == 0 {
            place.copy_from_slice(&sharing.ranks.receive(owner, EMBEDDINGS, place.len())?);
        }
        sharing.ranks.take_time();
        Ok(sharing.ranks.rank() == 0)
    }

    /// The metrics that the first rank found, on all of them.
    fn share_metrics(&self, metrics: Metrics) -> Result<Metrics, TrainError> {
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

    /// Whether snapshots are judged in one pass over the sequence.
    pub(super) fn sequential(&self) -> bool {
        let every = self.network.model.coverage() == Coverage::Every;
        every && (self.config.train.carry_state || self.plan.rule.frame.is_none())
    }

    /// The first snapshot that can be judged.
    pub(super) fn earliest(&self) -> usize {
        match (self.sequential(), self.plan.rule.frame) {
            (true, _) => 0,
            (false, Some(frame)) => frame - 1,
            (false, None) => self.plan.frames[0].steps - 1,
        }
    }

    pub(super) fn passes_for(&self, asked: &[usize]) -> Vec<Pass> {
        let (Some(&first), Some(&last)) = (asked.first(), asked.last()) else {
            return Vec::new();
        };
        if self.sequential() {
            return vec![Pass { steps: 0..last + 1, asked: first..last + 1 }];
        }
        let frame = self.plan.rule.frame.unwrap_or(self.plan.frames[0].steps);
        let one = |&step: &usize| Pass { steps: step + 1 - frame..step + 1, asked: step..step + 1 };
        asked.iter().map(one).collect()
    }
}
