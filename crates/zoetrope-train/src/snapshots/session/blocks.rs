//! A frame in blocks of snapshots, one after the other (ESDG §3.1), alone or shared by ranks (§4).
//!
//! Forward, a block starts from the state after the one before it (`π_b`: hidden states, evolved
//! weights, the last inputs of a window). Backward, the gradient of that state is the loss's gradient of
//! everything later. So blocks can be kept on one tape until the backward pass, or forgotten and computed
//! again, the last one first: then values and gradients are held for one block at a time, and `π_b`
//! (`block_states`) for all of them. Both ways add up the same numbers in the same order: gradients are equal, bit by bit.

use std::ops::Range;
use std::time::Instant;

use zoetrope_dist::Reduction;
use zoetrope_nn::state::{Carried, State};
use zoetrope_plan::{Frame, TaskKind};
use zoetrope_run::Phase;
use zoetrope_tensor::{Seed, Var};

use super::Session;
use super::cuda_graphs::Between;
use crate::error::TrainError;
use crate::learner::WeighedLoss;
use crate::snapshots::engine::{Piece, RunPiece};
use crate::snapshots::task::Questions;

/// What is asked about a frame.
struct Asked {
    questions: Questions,
    /// How many answers the loss of the frame is the mean of.
    answers: f64,
    /// The share of the frame in the update.
    share: f64,
}

/// A part of a frame that gradients flow through.
pub(super) struct Stretch {
    pub(super) steps: Range<usize>,
    pub(super) group: usize,
    /// The snapshots that have a loss, if any.
    pub(super) asked: Option<Range<usize>>,
    /// The share of these in the loss of the frame.
    pub(super) part: f64,
    /// Whether its state is needed after it.
    pub(super) goes_on: bool,
}

impl Session {
    /// Whether a frame is computed in blocks, or its cells by several ranks.
    pub(super) fn works_in_blocks(&self) -> bool {
        self.plan.blocks.count > 1 || self.runner.sharing().is_some()
    }

    /// The blocks of some consecutive snapshots, of which structure encoders take `group` at once.
    pub(super) fn pieces(&self, frame: Range<usize>, group: usize) -> Vec<Piece> {
        let piece = |steps| Piece { frame: frame.clone(), steps, group };
        self.plan.blocks.of(frame.clone()).into_iter().map(piece).collect()
    }

    /// Adds the gradients of one frame, times `share`, and its loss. Returns how much of the frame
    /// has answers.
    pub(super) fn frame_in_blocks(&mut self, frame: Frame, share: f64) -> Result<f64, TrainError> {
        let last = frame.range().end - 1;
        let steps = if self.only_last() { last..last + 1 } else { frame.range() };
        let epoch = self.learner.progress.epoch as u32;
        let questions = Questions { steps, epoch };
        let began = Instant::now();
        let answers = self.task.answers(&questions);
        if self.task.draws() {
            self.tasks.task(TaskKind::Draw, began, None);
        }
        let asked = Asked { questions, answers, share };
        let pieces = self.pieces(frame.range(), frame.group);
        if self.plan.blocks.recompute && pieces.len() > 1 {
            self.compute_again(&pieces, &asked)?;
        } else {
            self.keep_all(&pieces, Some(&asked), self.config.train.carry_state)?;
        }
        self.join_loss()?;
        Ok(if answers > 0.0 { 1.0 } else { 0.0 })
    }

    /// The same for a frame that ranks share and that is cut into stretches: gradients do not flow from one to
    /// the other, the state does. Over each of them all ranks are spread.
    pub(super) fn shared_stretches(
        &mut self,
        stretches: &[Stretch],
        share: f64,
    ) -> Result<f64, TrainError> {
        let mut with_loss = 0.0;
        for stretch in stretches {
            let asked = stretch.asked.clone().map(|steps| {
                let epoch = self.learner.progress.epoch as u32;
                let questions = Questions { steps, epoch };
                let began = Instant::now();
                let answers = self.task.answers(&questions);
                if self.task.draws() {
                    self.tasks.task(TaskKind::Draw, began, None);
                }
                // A loss counts by the snapshots of its stretch, whatever the number of its answers.
                Asked { questions, answers: answers / stretch.part, share }
            });
            let piece = Piece::whole(stretch.steps.clone(), stretch.group);
            self.keep_all(&[piece], asked.as_ref(), stretch.goes_on)?;
            if asked.is_some_and(|asked| asked.answers > 0.0) {
                with_loss += stretch.part;
            }
        }
        self.join_loss()?;
        Ok(with_loss)
    }

    /// Adds up what ranks that share a frame found of its loss.
    fn join_loss(&mut self) -> Result<(), TrainError> {
        if self.runner.sharing().is_some() {
            self.apart(Between::EndFrame)?;
        }
        self.learner.check_loss("frame")
    }

    /// Ranks that share a frame look for each other and add up its loss.
    pub(super) fn end_shared_frame(&mut self) -> Result<(), TrainError> {
        let Some(sharing) = self.runner.sharing() else { return Ok(()) };
        let ranks = sharing.ranks.clone();
        ranks.check()?;
        self.learner.reduce_loss(|loss| Ok(ranks.all_reduce_one(loss, Reduction::Sum)?))
    }

    /// All blocks on one tape; whether the state goes on says `goes_on`.
    fn keep_all(
        &mut self,
        pieces: &[Piece],
        asked: Option<&Asked>,
        goes_on: bool,
    ) -> Result<(), TrainError> {
        self.tape.reset();
        let mut state = self.carried.attach(&mut self.tape)?;
        let mut losses = Vec::with_capacity(pieces.len());
        for (number, piece) in pieces.iter().enumerate() {
            self.stream_piece(piece, pieces.get(number + 1))?;
            let (after, loss) = self.run_block(piece, state, asked)?;
            state = after;
            losses.extend(loss);
        }
        if goes_on {
            state.detach(&self.tape, &mut self.carried);
        }
        self.apply_updates();
        let Some(asked) = asked else { return Ok(()) };
        // Counted as they would be if blocks were computed again.
        losses.reverse();
        self.go_back(&losses, asked.share, &[])
    }

    /// One block after the other, and those before the last one twice.
    fn compute_again(&mut self, pieces: &[Piece], asked: &Asked) -> Result<(), TrainError> {
        let last = pieces.len() - 1;
        let steps = pieces[last].steps.end - pieces[0].steps.start;
        self.block_states.begin(&self.plan, steps, &self.carried);
        for (number, piece) in pieces[..last].iter().enumerate() {
            self.tape.reset();
            self.stream_piece(piece, pieces.get(number + 1))?;
            let state = self.block_states.before(number).attach(&mut self.tape)?;
            let (state, _) = self.run_block(piece, state, None)?;
            state.detach(&self.tape, self.block_states.before_mut(number + 1));
            if self.block_states.stores(number + 1) {
                let shapes = Box::new(self.block_states.before(number + 1).shapes());
                self.apart(Between::Store(number + 1, shapes))?;
            }
        }
        let mut flowing = Carried::default();
        for (number, piece) in pieces.iter().enumerate().rev() {
            self.tape.reset();
            let next = number.checked_sub(1).map(|earlier| &pieces[earlier]);
            self.stream_piece(piece, next)?;
            if self.block_states.fetches(number) {
                self.apart(Between::Fetch(number))?;
            }
            let before = self.block_states.before(number);
            let state = match number {
                0 => before.attach(&mut self.tape)?,
                _ => before.attach_variables(&mut self.tape)?,
            };
            let (after, loss) = self.run_block(piece, state, Some(asked))?;
            if number == last && self.config.train.carry_state {
                after.detach(&self.tape, &mut self.carried);
            }
            self.apply_updates();
            let of_state = |(place, var)| Some((var, Seed::Matrix(flowing.get(place)?)));
            let seeds: Vec<(Var, Seed<'_>)> = after.iter().filter_map(of_state).collect();
            self.go_back(loss.as_slice(), asked.share, &seeds)?;
            state.detach_gradients(&self.tape, &mut flowing);
        }
        Ok(())
    }

    /// Runs a block forward from a state. Returns the state after it and, if something is asked of
    /// it here, the loss with its weight in that of the frame.
    fn run_block(
        &mut self,
        piece: &Piece,
        state: State,
        asked: Option<&Asked>,
    ) -> Result<(State, Option<WeighedLoss>), TrainError> {
        let asked = asked.filter(|asked| asked.answers > 0.0);
        let questions = asked.map(|asked| &asked.questions);
        let RunPiece { state, loss } = self.run_piece(piece, state, questions)?;
        let weighed = |(loss, count)| WeighedLoss {
            loss,
            weight: count / asked.map_or(1.0, |asked| asked.answers),
        };
        Ok((state, loss.map(weighed)))
    }

    fn go_back(
        &mut self,
        losses: &[WeighedLoss],
        share: f64,
        seeds: &[(Var, Seed<'_>)],
    ) -> Result<(), TrainError> {
        let _span = self.timeline.phase(Phase::Backward);
        let began = Instant::now();
        let parameters = &self.network.parameters;
        self.learner.backward_from(&mut self.tape, parameters, losses, share, seeds)?;
        self.tasks.task(TaskKind::Backward, began, None);
        Ok(())
    }
}
