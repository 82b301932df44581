//! A piece of a frame on a tape, up to its loss: the one way in which training runs a model, whether a
//! piece is a frame, a stretch, a block, or a miniature whose memory is measured.

use std::ops::Range;
use std::time::Instant;

use zoetrope_nn::{Forward, StageKind, State};
use zoetrope_tensor::Var;

use super::network::Network;
use super::piece::Piece;
use super::runner::FrameRunner;
use crate::error::TrainError;
use crate::snapshots::task::{Questions, Task};

/// Who computes a piece and asks about it.
pub struct PieceRun<'a> {
    /// The graph and the features.
    pub runner: &'a mut FrameRunner,
    /// What is asked.
    pub task: &'a mut dyn Task,
    /// The model and the head.
    pub network: &'a Network,
}

/// A piece on the tape.
#[derive(Debug)]
pub struct RunPiece {
    /// What to hand to the next piece.
    pub state: State,
    /// The loss of what was asked here, and how many answers it is the mean of.
    pub loss: Option<(Var, f64)>,
}

impl PieceRun<'_> {
    /// Runs the model over a piece from a state. Of the snapshots that are `asked` about, if any, those that
    /// this rank describes in this piece have a loss.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn run(
        self,
        forward: &mut Forward<'_>,
        piece: &Piece,
        state: State,
        asked: Option<&Questions>,
    ) -> Result<RunPiece, TrainError> {
        let output = self.runner.embed(forward, self.network.model.as_ref(), piece, state)?;
        let state = output.state;
        let here = asked.map(|asked| Questions {
            steps: within(&output.steps, &asked.steps),
            epoch: asked.epoch,
        });
        let Some(questions) = here.filter(|questions| !questions.steps.is_empty()) else {
            return Ok(RunPiece { state, loss: None });
        };
        let began = Instant::now();
        let rows = output.rows_of(forward, &questions.steps, self.runner.vertices())?;
        let loss = self.task.loss(forward, self.network, &questions, rows)?;
        forward.tell(StageKind::Loss, began);
        Ok(RunPiece { state, loss })
    }
}

fn within(all: &Range<usize>, some: &Range<usize>) -> Range<usize> {
    let start = all.start.max(some.start);
    start..all.end.min(some.end).max(start)
}
