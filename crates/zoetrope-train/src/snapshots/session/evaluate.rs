//! Measuring on a part.
//!
//! A snapshot is judged once, with everything before it as history and nothing after it: as the
//! last of its own frame, or in one pass over the sequence if the state is carried or the whole
//! sequence is one frame.

use std::ops::Range;

use zoetrope_config::MetricName;
use zoetrope_data::split::Part;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::state::Carried;
use zoetrope_run::{Metrics, Phase};

use super::Session;
use crate::error::TrainError;
use crate::snapshots::engine::{Output, Piece, evaluating};
use crate::stages;
use crate::training_run::{Collectives, Evaluation};

/// Some snapshots that are computed together, and which of them are looked at.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    pub(super) steps: Range<usize>,
    pub(super) asked: Range<usize>,
}

impl Evaluation for Session {
    fn has(&self, part: Part) -> bool {
        !self.steps_of(part).is_empty()
    }

    fn evaluate(&mut self, part: Part) -> Result<Metrics, TrainError> {
        let steps = self.steps_of(part);
        if self.baselines_beside.take_if(|beside| *beside == part).is_none() {
            return self.judge(steps, true);
        }
        // The rules are asked about all of the part; so must be the model.
        if self.passes_of(&steps).iter().map(|pass| pass.asked.len()).sum::<usize>() == steps.len()
        {
            self.task.begin_rules(steps.len());
        }
        let metrics = self.judge(steps, true);
        self.found_beside = self.task.take_rules().map(|found| (part, found));
        metrics
    }
}

impl Session {
    /// What judging the snapshots of a part will run.
    pub(super) fn pieces_of_part(&self, part: Part) -> Vec<Piece> {
        let steps = self.steps_of(part);
        let asked: Vec<usize> = (steps.start.max(self.earliest())..steps.end).collect();
        let passes = self.passes_for(&asked);
        passes.iter().flat_map(|pass| self.pieces_of_pass(&pass.steps)).collect()
    }

    /// The metrics of the validation part after an epoch. Edges are ranked among many only if that decides
    /// which epoch is best: it takes many times as long as training on the same snapshots.
    pub(super) fn validate(&mut self) -> Result<Metrics, TrainError> {
        let steps = self.steps_of(Part::Validation);
        if steps.is_empty() {
            return Ok(Metrics::new());
        }
        let ranked = matches!(self.learner.watched(), MetricName::Mrr | MetricName::Hits);
        self.judge(steps, ranked)
    }

    fn judge(&mut self, steps: Range<usize>, ranked: bool) -> Result<Metrics, TrainError> {
        let _judging = zoetrope_heap::during(&stages::JUDGING);
        let timer = std::time::Instant::now();
        let passes = self.passes_of(&steps);
        self.task.begin(ranked, &self.judged_here(&passes));
        self.judge_passes(&passes, None)?;
        let metrics = self.task.metrics();
        let metrics = self.share_metrics(metrics)?;
        self.timeline.add(Phase::Evaluate, timer);
        Ok(metrics)
    }

    /// Runs the model over a pass and shows what it says of each snapshot that is asked for.
    pub(super) fn visit(
        &mut self,
        pass: &Pass,
        mut look: impl FnMut(&mut Self, &Piece, &Output, usize) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let mut carried = Carried::default();
        for piece in self.pieces_of_pass(&pass.steps) {
            self.may_go_on()?;
            self.fit_tape(piece.steps.len());
            let output = self.embed_piece(&piece, &carried)?;
            let Range { start, end } = piece.steps;
            if end < pass.steps.end {
                output.state.detach(&self.tape, &mut carried);
            }
            for step in start.max(pass.asked.start)..end.min(pass.asked.end) {
                look(self, &piece, &output, step)?;
            }
        }
        self.fit_tape(self.training_block());
        Ok(())
    }

    /// While other ranks compute so many pieces: agrees with them whether to stop.
    pub(super) fn stand_by(&mut self, pieces: usize) -> Result<(), TrainError> {
        (0..pieces).try_for_each(|_| self.may_go_on())
    }

    /// Before each piece that is judged: fails on all ranks if one of them is asked to stop.
    fn may_go_on(&self) -> Result<(), TrainError> {
        self.take_time();
        if self.agree(self.interrupt.is_asked())? { Err(TrainError::Stopped) } else { Ok(()) }
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
    pub(super) fn pieces_of_pass(&self, steps: &Range<usize>) -> Vec<Piece> {
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
