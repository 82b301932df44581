//! What runs ahead of computing: snapshots on their way to a GPU, and pairs that threads of the host draw.
//!
//! How far ahead stands in the plan. Nothing here changes what is computed.

use std::time::Instant;

use zoetrope_plan::{Frame, TaskKind, Update};
use zoetrope_tensor::Gpu;

use super::Session;
use super::cuda_graphs::{Between, Found};
use crate::error::TrainError;
use crate::snapshots::engine::{Piece, SentBytes};
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

    /// If a GPU gets the graph or the features piece by piece: waits there for those of a piece, and begins to
    /// copy those of the one after it.
    pub(super) fn stream_piece(
        &mut self,
        piece: &Piece,
        next: Option<&Piece>,
    ) -> Result<(), TrainError> {
        let sends = self.runner.sends_pieces();
        if !sends || self.tape.device().gpu().is_none() {
            return Ok(());
        }
        let next = next.filter(|_| self.looks_ahead());
        self.apart(Between::Send(piece.clone(), next.cloned()))
    }

    /// Does what cannot be recorded, between two parts of a recording if one is being made.
    pub(super) fn apart(&mut self, what: Between) -> Result<(), TrainError> {
        let gpu = self.tape.device().gpu().cloned();
        match (gpu, &mut self.recorded.making) {
            (Some(gpu), Some(making)) => {
                making.push(what.clone());
                gpu.apart(|| self.between(&what))
            }
            _ => self.between(&what),
        }
    }

    /// What is done between two parts of a recording, or by itself.
    pub(super) fn between(&mut self, what: &Between) -> Result<(), TrainError> {
        match what {
            Between::Send(piece, next) => match self.tape.device().gpu().cloned() {
                Some(gpu) => self.send_piece(&gpu, piece, next.as_ref()),
                None => Ok(()),
            },
            Between::Store(block, shapes) => {
                let began = Instant::now();
                let gpu = self.tape.device().gpu();
                let stored = gpu.and_then(|gpu| self.block_states.store(gpu, *block, shapes));
                if let Some(bytes) = stored {
                    self.tasks.task(TaskKind::Store, began, Some(bytes));
                }
                Ok(())
            }
            Between::Fetch(block) => {
                let began = Instant::now();
                self.block_states.fetch(*block);
                let sent = self.tape.device().gpu().map_or(0, Gpu::streamed_bytes);
                self.tasks.copies(began, sent);
                Ok(())
            }
            Between::EndFrame => self.end_shared_frame(),
            Between::Gradients => self.add_up_gradients(),
        }
    }

    /// Waits on a GPU for what was sent for a piece, and begins to send that of the next.
    fn send_piece(
        &mut self,
        gpu: &Gpu,
        piece: &Piece,
        next: Option<&Piece>,
    ) -> Result<(), TrainError> {
        let began = Instant::now();
        self.runner.enter(gpu, piece)?;
        self.tasks.copies(began, gpu.streamed_bytes());
        if let Some(next) = next {
            let began = Instant::now();
            self.runner.send_ahead(gpu, next)?;
            self.tasks.copies(began, gpu.streamed_bytes());
        }
        Ok(())
    }

    /// Bytes that will be sent to a GPU piece by piece in an epoch of these frames.
    pub fn sent_in_epoch(&self, frames: &[Frame]) -> u64 {
        let predicted = |sizes: &SentBytes| self.plan.sent_bytes(self.rank(), frames, sizes);
        self.forecast.as_ref().map_or(0, predicted)
    }

    /// Counts what was sent in an epoch of training since `begun` bytes were, beside what was predicted.
    pub(super) fn count_sent(&mut self, begun: u64, frames: &[Frame]) {
        let Some(gpu) = self.tape.device().gpu() else { return };
        self.sent[0] += gpu.streamed_bytes() - begun;
        self.sent[1] += self.sent_in_epoch(frames);
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
        let all = self.questions(self.learner.progress.epoch, frame);
        let Some(staging) = self.task.staging() else { return true };
        all.iter().all(|questions| staging.stage_on_device(gpu, questions))
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
                    let all = self.questions(epoch, frame);
                    if let Some(staging) = self.task.staging() {
                        all.iter().for_each(|questions| staging.draw_ahead(questions, threads));
                    }
                }
            }
        }
        updates.len()
    }

    /// What is asked about a frame in an epoch, of this rank: in each of the pieces that have a loss.
    fn questions(&mut self, epoch: usize, frame: Frame) -> Vec<Questions> {
        let (range, epoch) = (frame.range(), epoch as u32);
        let steps = if self.only_last() { range.end - 1..range.end } else { range.clone() };
        if !self.works_in_blocks() {
            return vec![Questions { steps, epoch }];
        }
        let mut all = Vec::new();
        for piece in self.pieces(range, frame.group) {
            // What cannot be cut is refused when it is run.
            let described = self.runner.described(&piece).unwrap_or_default();
            let start = described.start.max(steps.start);
            let steps = start..described.end.min(steps.end).max(start);
            if !steps.is_empty() {
                all.push(Questions { steps, epoch });
            }
        }
        all
    }
}
