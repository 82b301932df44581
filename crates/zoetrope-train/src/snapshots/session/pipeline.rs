//! What runs ahead of computing: snapshots on their way to a GPU, and pairs that threads of the host draw.
//!
//! How far ahead stands in the plan. Nothing here changes what is computed.

use std::time::Instant;

use zoetrope_plan::{Frame, Update};
use zoetrope_tensor::Gpu;

use super::Session;
use super::cuda_graphs::Found;
use crate::error::TrainError;
use crate::snapshots::engine::Piece;
use crate::snapshots::task::Questions;

impl Session {
    /// Whether the snapshots of the next frame or block are sent to a GPU while one computes.
    fn looks_ahead(&self) -> bool {
        self.plan.gpu.is_some_and(|gpu| gpu.look_ahead > 0)
    }

    /// Updates whose questions are drawn ahead.
    pub(super) fn draws_ahead(&self) -> usize {
        self.plan.gpu.map_or(0, |gpu| gpu.draw_ahead)
    }

    /// If a GPU gets the graph piece by piece: waits there for that of a piece, and begins to copy that of
    /// the one after it.
    pub(super) fn stream_piece(
        &mut self,
        piece: &Piece,
        next: Option<&Piece>,
    ) -> Result<(), TrainError> {
        let Some(gpu) = self.tape.device().gpu().filter(|_| self.streams()).cloned() else {
            return Ok(());
        };
        let next = next.filter(|_| self.looks_ahead());
        let began = Instant::now();
        self.runner.enter(&gpu, piece)?;
        self.tasks.copies(began, gpu.streamed_bytes());
        if let Some(next) = next {
            let began = Instant::now();
            self.runner.send_ahead(&gpu, next)?;
            self.tasks.copies(began, gpu.streamed_bytes());
        }
        Ok(())
    }

    /// The same for a frame of an update that is on the tape as a whole. Several frames of one update come
    /// one after the other: each is copied when it is asked for, and the successor of one alone while that
    /// computes.
    pub(super) fn stream_frame(
        &mut self,
        frame: Frame,
        next: Option<Frame>,
    ) -> Result<(), TrainError> {
        let piece = |frame: Frame| Piece::whole(frame.range(), frame.group);
        self.stream_piece(&piece(frame), next.map(piece).as_ref())
    }

    /// Puts what the task asks of a frame where a recording finds it.
    pub(super) fn stage_on_device(&mut self, gpu: &Gpu, frame: Frame) -> bool {
        let questions = self.questions(self.learner.progress.epoch, frame);
        self.task.staging().is_none_or(|staging| staging.stage_on_device(gpu, &questions))
    }

    /// Lets the task prepare what [`Session::stage_on_device`] will ask for in these updates of an epoch, in
    /// `most` of them at most. Returns in how many.
    pub(super) fn draw_ahead(
        &mut self,
        epoch: usize,
        frames: &[Frame],
        updates: &[(usize, Update)],
        most: usize,
    ) -> usize {
        if frames.is_empty() {
            return 0;
        }
        let threads = self.draws_ahead();
        let updates = &updates[..most.min(updates.len())];
        for (from, update) in updates {
            let frames = &frames[*from..from + update.frames];
            if !matches!(self.recorded.find(frames), Found::Unknown) {
                for &frame in frames {
                    let questions = self.questions(epoch, frame);
                    if let Some(staging) = self.task.staging() {
                        staging.draw_ahead(&questions, threads);
                    }
                }
            }
        }
        updates.len()
    }

    /// What a frame asks in an epoch.
    fn questions(&self, epoch: usize, frame: Frame) -> Questions {
        let range = frame.range();
        let steps = if self.only_last() { range.end - 1..range.end } else { range };
        Questions { steps, epoch: epoch as u32 }
    }
}
