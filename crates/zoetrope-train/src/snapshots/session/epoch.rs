//! One epoch: every frame of the plan once.

use std::time::Instant;

use zoetrope_config::Config;
use zoetrope_dist::Ranks;
use zoetrope_graph::random::Random;
use zoetrope_nn::{Forward, State};
use zoetrope_plan::{Frame, FramePlan, TaskKind, Update};
use zoetrope_run::{EpochRecord, Phase};
use zoetrope_tensor::Gpu;
use zoetrope_tensor::cuda::TraceSource;

use super::Session;
use super::blocks::Stretch;
use super::cuda_graphs::{Found, Recording};
use crate::device;
use crate::error::TrainError;
use crate::learner::unfit;
use crate::observer::{Observer, RunEvent};
use crate::snapshots::engine::{Piece, PieceRun, RunPiece};
use crate::snapshots::task::Questions;
use crate::training_run::{Collectives, EpochEnd, Epochs};

/// The random stream of frame orders.
const ORDER_STREAM: u32 = 0x6f72_6465;

impl Epochs for Session {
    fn epoch(&mut self, observer: &mut dyn Observer) -> Result<EpochEnd, TrainError> {
        let epoch = self.learner.progress.epoch;
        let scope = Instant::now();
        let frames = self.frame_order(epoch);
        let rest = frames.len() - self.learner.progress.frame;
        self.learner.begin_epoch(&self.config, &self.network.parameters, rest);
        self.hidden_of_ranks.clear();
        if self.learner.progress.frame == 0 {
            self.carried.clear();
        }
        if let Some(&first) = frames.first() {
            self.check_precision(first)?;
        }
        if self.learner.progress.frame == 0 {
            self.tasks.begin(self.tape.device().gpu().map_or(0, Gpu::streamed_bytes));
        }
        if let Some(gpu) = self.tape.device().gpu() {
            self.runner.forget(gpu);
        }
        let after = if epoch + 1 < self.config.train.epochs {
            self.frame_order(epoch + 1)
        } else {
            Vec::new()
        };
        let (all, most) = (self.updates(), self.draws_ahead());
        let begun = self.learner.progress.frame;
        let sent = self.tape.device().gpu().map_or(0, Gpu::streamed_bytes);
        let Some(first) = all
            .iter()
            .position(|(from, _)| *from == begun)
            .or_else(|| (begun == frames.len()).then_some(all.len()))
        else {
            return Err(unfit("the updates of an epoch"));
        };
        for (at, (from, update)) in all.iter().enumerate().skip(first) {
            let until = from + update.frames;
            let ahead = self.draw_ahead(epoch, &frames, &all[at..], most);
            self.draw_ahead(epoch + 1, &after, &all, most - ahead);
            let timer = Instant::now();
            self.update(update, &frames[*from..until], frames.get(until).copied())?;
            self.learner.pace()?;
            self.timeline.add_scope("frames", *from as u64, timer);
            self.learner.progress.frame = until;
            let step = RunEvent::Step { epoch: epoch + 1, done: until, all: frames.len() };
            let stops = observer.observe(step).is_break();
            if self.agree(stops)? && until < frames.len() {
                self.collect()?;
                self.gather_hidden()?;
                self.tasks.end();
                self.learner.progress.seconds += scope.elapsed().as_secs_f64();
                self.timeline.add_scope("epoch", epoch as u64 + 1, scope);
                return Ok(EpochEnd::Interrupted);
            }
        }
        self.draw_ahead(epoch + 1, &after, &all, most);
        self.collect()?;
        self.tasks.end();
        if begun == 0 {
            self.count_sent(sent, &frames);
        }
        let seconds = self.learner.progress.seconds + scope.elapsed().as_secs_f64();
        let loss = self.learner.mean_loss();
        let val = match self.validate() {
            Err(TrainError::Stopped) => {
                self.learner.progress.seconds = seconds;
                return Ok(EpochEnd::Interrupted);
            }
            val => val?,
        };
        self.timeline.add_scope("epoch", epoch as u64 + 1, scope);
        device::show(self.tape.device(), &self.timeline);
        let record = EpochRecord { epoch: epoch + 1, seconds, loss, val };
        self.learner.finish_epoch(&self.config, &self.network.parameters, record.clone());
        Ok(EpochEnd::Finished(record))
    }
}

/// The frames of a plan in the order of an epoch: as planned, or shuffled by (seed, epoch).
pub(super) fn frame_order(plan: &FramePlan, config: &Config, epoch: usize) -> Vec<Frame> {
    let mut frames = plan.frames.clone();
    if config.train.shuffle {
        let random = Random::new(config.train.seed, ORDER_STREAM).at_step(epoch as u32);
        for at in (1..frames.len()).rev() {
            frames.swap(at, random.below(at as u64, at as u64 + 1) as usize);
        }
    }
    frames
}

impl Session {
    /// Seconds that an epoch would take, from one frame that is run twice and timed once. Weights
    /// do not change, but running statistics do: for a session that only plans.
    ///
    /// # Errors
    /// As [`Epochs::epoch`].
    pub fn predict_epoch_seconds(&mut self) -> Result<f64, TrainError> {
        let frame = self.plan.frames[0];
        let parameters = &self.network.parameters;
        self.learner.begin_epoch(&self.config, parameters, 2);
        self.frame(frame, 1.0)?;
        self.tape.device().wait();
        let start = Instant::now();
        self.frame(frame, 1.0)?;
        self.tape.device().wait();
        Ok(start.elapsed().as_secs_f64() * self.plan.frames.len() as f64)
    }

    /// The updates of an epoch, each with the place of its first frame in the order of the epoch.
    fn updates(&self) -> Vec<(usize, Update)> {
        let mut from = 0;
        let place = |update: &Update| {
            let first = from;
            from += update.frames;
            (first, update.clone())
        };
        self.plan.updates.iter().map(place).collect()
    }

    /// The frames in the order of an epoch: as planned, or shuffled by (seed, epoch).
    pub(super) fn frame_order(&self, epoch: usize) -> Vec<Frame> {
        frame_order(&self.plan, &self.config, epoch)
    }

    /// One update of the weights from one or several frames: computed, or launched as it was
    /// recorded.
    fn update(
        &mut self,
        update: &Update,
        frames: &[Frame],
        next: Option<Frame>,
    ) -> Result<(), TrainError> {
        let gpu = self.tape.device().gpu().cloned();
        let (Some(gpu), Some(number), true) =
            (gpu, self.learner.frame_counter(), self.can_record())
        else {
            return self.compute_update(update, frames, next).map(drop);
        };
        let is_known = !matches!(self.recorded.find(frames), Found::Unknown);
        if is_known && !frames.iter().all(|&frame| self.stage_on_device(&gpu, frame)) {
            return self.compute_update(update, frames, next).map(drop);
        }
        match self.recorded.find(frames) {
            Found::Recorded => {
                let Some(recording) = self.recorded.take(frames) else { return Ok(()) };
                recording.shares.iter().for_each(|&share| self.learner.count_frame(share));
                let between = |place: usize| match recording.between.get(place) {
                    Some(what) => self.between(what),
                    None => Ok(()),
                };
                let launched = recording.graph.launch(between);
                self.recorded.keep(frames, recording);
                launched?;
            }
            Found::Unknown => {
                // Kernels are compiled and lists are copied up while a step runs for the first time.
                self.compute_update(update, frames, next)?;
                self.recorded.remember(frames);
            }
            Found::Seen => {
                let mut shares = Vec::new();
                let frames_done = self.learner.progress.frames;
                self.recorded.making = Some(Vec::new());
                let compute =
                    || self.compute_update(update, frames, next).map(|found| shares = found);
                let graph = gpu.record(number, compute);
                let between = self.recorded.making.take().unwrap_or_default();
                debug_assert_eq!(self.learner.progress.frames, frames_done + frames.len() as u64);
                let recording = Recording { graph: graph?, shares, between };
                recording.graph.finish();
                self.recorded.keep(frames, recording);
            }
        }
        Ok(())
    }

    /// The number of this rank.
    pub(super) fn rank(&self) -> usize {
        self.ranks.as_ref().map_or(0, Ranks::rank)
    }

    /// Whether updates are recorded. A trace that is kept by events cannot see into recordings.
    fn can_record(&self) -> bool {
        self.plan.gpu.is_some_and(|gpu| gpu.record)
            && self.tape.device().gpu().and_then(Gpu::trace_source) != Some(TraceSource::Events)
    }

    /// Goes through the frames of an update that are this rank's and changes the weights. Returns the share of
    /// each of them that had a loss.
    fn compute_update(
        &mut self,
        update: &Update,
        frames: &[Frame],
        next: Option<Frame>,
    ) -> Result<Vec<f64>, TrainError> {
        self.learner.clear_gradients(&self.network.parameters);
        let share = 1.0 / frames.len() as f64;
        let mut shares = Vec::with_capacity(frames.len());
        for (at, &frame) in frames.iter().enumerate() {
            if !update.is_of(at, self.rank()) {
                self.learner.pass_frame();
                continue;
            }
            if !self.config.train.carry_state {
                self.carried.clear();
            }
            if !self.works_in_blocks() {
                self.stream_frame(frame, next.filter(|_| frames.len() == 1))?;
            }
            let with_loss = self.frame(frame, share)?;
            self.end_frame(at, with_loss);
            shares.push(with_loss);
        }
        self.share_frames()?;
        self.share_gradients()?;
        let span = self.timeline.phase(Phase::Update);
        let began = Instant::now();
        self.learner.step(&self.config, &mut self.network.parameters, "frame")?;
        self.tasks.task(TaskKind::Update, began, None);
        drop(span);
        Ok(shares)
    }

    /// Adds the gradients of one frame, times `share`, and its loss. Returns the share of the frame's
    /// snapshots whose targets are known.
    fn frame(&mut self, frame: Frame, share: f64) -> Result<f64, TrainError> {
        let stretches = self.stretches(frame);
        if self.works_in_blocks() && stretches.len() == 1 {
            return self.frame_in_blocks(frame, share);
        }
        if self.works_in_blocks() {
            return self.shared_stretches(&stretches, share);
        }
        let mut with_loss = 0.0;
        for stretch in &stretches {
            if self.stretch(stretch, share)? {
                with_loss += stretch.part;
            }
        }
        Ok(with_loss)
    }

    /// The stretches of a frame; one, if gradients flow through all of it.
    fn stretches(&self, frame: Frame) -> Vec<Stretch> {
        let all: Vec<Frame> = self.plan.rule.stretches(frame).collect();
        let last_only = self.only_last();
        let total = if last_only { 1 } else { frame.steps } as f64;
        let of = |(at, stretch): (usize, &Frame)| {
            let ends = at + 1 == all.len();
            let steps = stretch.range();
            let asked = match (last_only, ends) {
                (true, false) => None,
                (true, true) => Some(steps.end - 1..steps.end),
                (false, _) => Some(steps.clone()),
            };
            let part = asked.as_ref().map_or(0.0, |asked| asked.len() as f64 / total);
            let goes_on = !ends || self.config.train.carry_state;
            Stretch { steps, group: stretch.group, asked, part, goes_on }
        };
        all.iter().enumerate().map(of).collect()
    }

    /// Runs one stretch forward and, if it has a loss, backward. Returns whether it has one.
    fn stretch(&mut self, stretch: &Stretch, share: f64) -> Result<bool, TrainError> {
        self.tape.reset();
        let state = self.carried.attach(&mut self.tape)?;
        let piece = Piece::whole(stretch.steps.clone(), stretch.group);
        let epoch = self.learner.progress.epoch as u32;
        let questions = stretch.asked.clone().map(|steps| Questions { steps, epoch });
        let RunPiece { state, loss } = self.run_piece(&piece, state, questions.as_ref())?;
        // Values are given back during the backward pass: what outlives it is taken off now.
        if stretch.goes_on {
            state.detach(&self.tape, &mut self.carried);
        }
        self.apply_updates();
        let Some((loss, _)) = loss else { return Ok(false) };
        let _span = self.timeline.phase(Phase::Backward);
        let began = Instant::now();
        let parameters = &self.network.parameters;
        let part = stretch.part;
        self.learner.backward(&mut self.tape, parameters, loss, share * part, part, "frame")?;
        self.tasks.task(TaskKind::Backward, began, None);
        Ok(true)
    }

    /// Runs a piece forward from a state, up to the loss of what is asked of it.
    pub(super) fn run_piece(
        &mut self,
        piece: &Piece,
        state: State,
        asked: Option<&Questions>,
    ) -> Result<RunPiece, TrainError> {
        let _span = self.timeline.phase(Phase::Forward);
        let (seed, step) = (self.config.train.seed, self.learner.progress.frames as u32);
        let parameters = &self.network.parameters;
        let mut forward =
            Forward::training(&mut self.tape, parameters, &mut self.updates, seed, step)
                .telling(self.tasks.listener());
        let (runner, task, network) = (&mut self.runner, self.task.as_mut(), &self.network);
        PieceRun { runner, task, network }.run(&mut forward, piece, state, asked)
    }
}
