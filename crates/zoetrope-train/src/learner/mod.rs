//! What every run has besides its network: the optimiser, its schedule, early stopping, the epochs
//! so far and the weights of the best one.
//!
//! Sessions over snapshots and over events differ in what a step computes; what a step does with
//! the gradients, what an epoch leaves behind and what a checkpoint keeps of both is here, once.

mod gpu;
pub(crate) mod optimise;
mod restore;
#[cfg(test)]
mod tests;

use zoetrope_config::{Config, MetricName};
use zoetrope_dist::{Ranks, Reduction};
use zoetrope_nn::Parameters;
use zoetrope_nn::optimiser::{
    Direction, EarlyStopping, Gradients, Optimiser, ScheduleState, clip_norm,
};
use zoetrope_run::{EpochRecord, RunError};
use zoetrope_tensor::cuda::StepCounter;
use zoetrope_tensor::{Device, Seed, Tape, Var};

use crate::error::TrainError;

use gpu::OnGpu;
pub use restore::put_saved_weights;
pub(crate) use restore::{arrange_vertices, forget_data, saved_weights, unfit};

/// Where a run stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// Epochs that are finished.
    pub(crate) epoch: usize,
    /// Frames or batches of the running epoch that are done.
    pub(crate) frame: usize,
    /// Frames or batches since the start, the counter of dropout.
    pub(crate) frames: u64,
    /// The sum of the losses of the running epoch's frames, and how many had one.
    pub(crate) loss_sum: f64,
    pub(crate) losses: u64,
    /// Seconds of the running epoch before it was continued.
    pub(crate) seconds: f64,
    /// The finished epochs.
    pub(crate) records: Vec<EpochRecord>,
}

/// The loss of a part of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WeighedLoss {
    /// A mean over answers.
    pub(crate) loss: Var,
    /// The share of these in all answers of the frame.
    pub(crate) weight: f64,
}

/// The part of a run that learns, whatever it learns from.
#[derive(Debug)]
pub struct Learner {
    watched: MetricName,
    key: String,
    gradients: Gradients,
    /// All of them in one piece, for ranks to add up.
    together: Vec<f32>,
    optimiser: Optimiser,
    /// What lives on a GPU, if one computes.
    on_gpu: Option<OnGpu>,
    /// The losses of the parts of the current frame, as they weigh in it.
    frame_loss: f64,
    schedule: ScheduleState,
    stopping: EarlyStopping,
    /// The number of epochs before the first one in which memory stands still.
    settled_from: Option<usize>,
    pub(crate) progress: Progress,
    /// The weights of the best validation epoch, if there is a validation part.
    best: Option<Parameters>,
}

impl Learner {
    /// Nothing is learned yet. `usual` is the measure that is watched if none is chosen.
    pub(crate) fn new(
        config: &Config,
        usual: MetricName,
        parameters: &Parameters,
        device: &Device,
    ) -> Self {
        let watched = config.task.metric.unwrap_or(usual);
        let key = match watched {
            // Events are judged by one F1: of class 1, or the mean over more than two classes.
            MetricName::F1 if config.model.name.is_stream() => "f1".to_owned(),
            MetricName::F1 => "f1_macro".to_owned(),
            MetricName::Hits => format!("hits@{}", config.task.hits),
            other => other.name().to_owned(),
        };
        let optimiser = Optimiser::new(optimise::method(&config.train), parameters);
        Self {
            watched,
            key,
            gradients: Gradients::new(parameters),
            together: Vec::new(),
            on_gpu: device.gpu().map(|gpu| OnGpu::new(gpu, &optimiser, parameters)),
            optimiser,
            frame_loss: 0.0,
            schedule: ScheduleState::default(),
            stopping: EarlyStopping::new(direction(watched), config.train.patience),
            settled_from: None,
            progress: Progress::default(),
            best: None,
        }
    }

    /// The epochs that are finished.
    pub fn epochs(&self) -> &[EpochRecord] {
        &self.progress.records
    }

    /// Whether enough epochs have passed, or early stopping says so.
    pub fn is_over(&self, config: &Config) -> bool {
        match (self.settled_from, config.train.settle) {
            (Some(from), settle) => self.progress.epoch >= from + settle,
            (None, 0) => self.has_learnt(config),
            (None, _) => false,
        }
    }

    /// Whether all epochs are over in which every weight is learnt.
    fn has_learnt(&self, config: &Config) -> bool {
        let epochs = config.train.epochs.saturating_sub(config.train.settle);
        self.progress.epoch >= epochs || self.stopping.is_over()
    }

    /// Whether memory is to stand still from the next epoch on.
    pub(crate) fn should_settle(&self, config: &Config) -> bool {
        config.train.settle > 0 && self.settled_from.is_none() && self.has_learnt(config)
    }

    /// Whether memory stands still.
    pub(crate) fn is_settling(&self) -> bool {
        self.settled_from.is_some()
    }

    /// From now on memory stands still: the weights of the best epoch are in place, and the best one
    /// is looked for among the epochs to come, all of which are run.
    pub(crate) fn settle(&mut self, parameters: &mut Parameters) {
        self.choose_best(parameters);
        self.settled_from = Some(self.progress.epoch);
        self.best = None;
        self.stopping = EarlyStopping::new(direction(self.watched), None);
    }

    /// The measure that decides which epoch is best.
    pub fn watched(&self) -> MetricName {
        self.watched
    }

    /// The name of that measure among the metrics.
    pub fn watched_key(&self) -> &str {
        &self.key
    }

    /// The learning rate of the current epoch.
    pub fn rate(&self, config: &Config) -> f64 {
        optimise::rate(&config.train, self.progress.epoch, &self.schedule)
    }

    /// The epoch whose weights [`Learner::choose_best`] takes, with its measure.
    pub fn best_epoch(&self) -> Option<(usize, f64)> {
        self.stopping.best().filter(|_| self.best.is_some())
    }

    /// Puts the weights of the best validation epoch in place, if there was a validation part.
    pub fn choose_best(&self, parameters: &mut Parameters) {
        if let Some(best) = &self.best {
            parameters.clone_from(best);
        }
    }

    /// Before the steps of an epoch, or the rest of one: `steps` are to be made.
    pub(crate) fn begin_epoch(&mut self, config: &Config, parameters: &Parameters, steps: usize) {
        let rate = self.rate(config) as f32;
        if let Some(on_gpu) = &mut self.on_gpu {
            let number = self.progress.frames as u32;
            on_gpu.begin_epoch(&self.optimiser, parameters, steps, number, rate);
        }
    }

    /// The number of the frame that a GPU is at, if one computes.
    pub(crate) fn frame_counter(&self) -> Option<StepCounter> {
        self.on_gpu.as_ref().map(|on_gpu| on_gpu.frame_counter().clone())
    }

    /// Forgets the gradients of the last update.
    pub(crate) fn clear_gradients(&mut self, parameters: &Parameters) {
        match &self.on_gpu {
            Some(on_gpu) => on_gpu.clear_gradients(parameters),
            None => self.gradients.clear(),
        }
    }

    /// Backward pass from a loss: adds its gradients times `factor`, and counts it as `share` of the
    /// loss of the current frame or batch (`unit`).
    pub(crate) fn backward(
        &mut self,
        tape: &mut Tape,
        parameters: &Parameters,
        loss: Var,
        factor: f64,
        share: f64,
        unit: &str,
    ) -> Result<(), TrainError> {
        if let Some(on_gpu) = &mut self.on_gpu {
            return on_gpu.backward(tape, loss, factor as f32, share);
        }
        let value = f64::from(tape.scalar(loss));
        if !value.is_finite() {
            return Err(self.not_finite("the loss", unit, value));
        }
        self.frame_loss += value * share;
        tape.backward(loss)?;
        if factor == 1.0 && self.gradients.is_empty() {
            self.gradients.take_from(tape, parameters)
        } else {
            self.gradients.add_from(tape, parameters, factor as f32)
        }
        Ok(())
    }

    /// Backward pass from the losses of blocks of a frame, and from gradients that flow in from later ones:
    /// adds gradients times `share`, and counts losses as they weigh. [`Learner::check_loss`] sees
    /// whether the sum is finite.
    pub(crate) fn backward_from(
        &mut self,
        tape: &mut Tape,
        parameters: &Parameters,
        losses: &[WeighedLoss],
        share: f64,
        from_later: &[(Var, Seed<'_>)],
    ) -> Result<(), TrainError> {
        let seed = |&WeighedLoss { loss, weight }: &WeighedLoss| {
            (loss, Seed::Number((share * weight) as f32))
        };
        let seeds: Vec<_> = losses.iter().map(seed).chain(from_later.iter().copied()).collect();
        if let Some(on_gpu) = &mut self.on_gpu {
            return on_gpu.backward_from(tape, losses, &seeds);
        }
        for &WeighedLoss { loss, weight } in losses {
            self.frame_loss += f64::from(tape.scalar(loss)) * weight;
        }
        self.gradients.lend_to(tape, parameters);
        tape.backward_from_all(&seeds)?;
        self.gradients.take_back(tape, parameters);
        Ok(())
    }

    /// Replaces this rank's share of the loss of the current frame by all of it.
    pub(crate) fn reduce_loss(
        &mut self,
        sum: impl FnOnce(f64) -> Result<f64, TrainError>,
    ) -> Result<(), TrainError> {
        self.frame_loss = sum(self.frame_loss)?;
        Ok(())
    }

    /// Refuses a loss of the current frame that is not a number.
    pub(crate) fn check_loss(&self, unit: &str) -> Result<(), TrainError> {
        if self.frame_loss.is_finite() {
            Ok(())
        } else {
            Err(self.not_finite("the loss", unit, self.frame_loss))
        }
    }

    /// Replaces gradients of this rank by the sums over all, wherever they lie.
    pub(crate) fn reduce_gradients(
        &mut self,
        parameters: &Parameters,
        ranks: &Ranks,
    ) -> Result<(), TrainError> {
        self.together.clear();
        if let Some(on_gpu) = &self.on_gpu {
            if !on_gpu.share(parameters, ranks)? {
                on_gpu.pack(parameters, &mut self.together);
                ranks.all_reduce(&mut self.together, Reduction::Sum)?;
                on_gpu.unpack(parameters, &self.together);
            }
            return Ok(());
        }
        self.gradients.pack(&mut self.together);
        ranks.all_reduce(&mut self.together, Reduction::Sum)?;
        self.gradients.unpack(&self.together);
        Ok(())
    }

    /// A frame or batch is through; `share` is what its parts with a loss add up to.
    pub(crate) fn end_frame(&mut self, share: f64) {
        self.progress.frames += 1;
        let loss = std::mem::take(&mut self.frame_loss);
        match &mut self.on_gpu {
            Some(on_gpu) => on_gpu.end_frame(share),
            None if share > 0.0 => self.add_loss(loss / share),
            None => {}
        }
    }

    /// A frame that another rank computes goes by.
    pub(crate) fn pass_frame(&mut self) {
        self.progress.frames += 1;
        if let Some(on_gpu) = &mut self.on_gpu {
            on_gpu.end_frame(0.0);
        }
    }

    /// A frame is through that is counted with those of other ranks: its loss, if it has one. On a GPU losses
    /// are counted when they are collected.
    pub(crate) fn set_frame_aside(&mut self, share: f64) -> Option<f64> {
        if self.on_gpu.is_some() {
            self.end_frame(share);
            return None;
        }
        self.progress.frames += 1;
        let loss = std::mem::take(&mut self.frame_loss);
        (share > 0.0).then(|| loss / share)
    }

    /// Counts losses of frames that were set aside, in their order.
    pub(crate) fn add_losses(&mut self, losses: impl IntoIterator<Item = f64>) {
        losses.into_iter().for_each(|loss| self.add_loss(loss));
    }

    /// Whether losses are counted when they are collected from a GPU.
    pub(crate) fn is_on_gpu(&self) -> bool {
        self.on_gpu.is_some()
    }

    /// The same for a frame that a recording went through.
    pub(crate) fn count_frame(&mut self, share: f64) {
        self.progress.frames += 1;
        if let Some(on_gpu) = &mut self.on_gpu {
            on_gpu.count_frame(share);
        }
    }

    fn add_loss(&mut self, loss: f64) {
        self.progress.loss_sum += loss;
        self.progress.losses += 1;
    }

    /// The mean loss of the running epoch.
    pub(crate) fn mean_loss(&self) -> f64 {
        self.progress.loss_sum / self.progress.losses.max(1) as f64
    }

    /// Changes the weights by the gradients that were collected.
    pub(crate) fn step(
        &mut self,
        config: &Config,
        parameters: &mut Parameters,
        unit: &str,
    ) -> Result<(), TrainError> {
        if let Some(on_gpu) = &mut self.on_gpu {
            on_gpu.step(parameters, config.train.clip);
            return Ok(());
        }
        let norm = match config.train.clip {
            Some(limit) => clip_norm(&mut self.gradients, limit),
            None => self.gradients.norm(),
        };
        // Adam squares gradients: the square of one that is too large is infinite, and stays so.
        let applied = config.train.clip.map_or(norm, |limit| norm.min(limit));
        if !norm.is_finite() || applied * applied > f64::from(f32::MAX) {
            return Err(self.not_finite("the norm of the gradients", unit, norm));
        }
        let rate = self.rate(config) as f32;
        self.optimiser.update(parameters, &self.gradients, rate);
        Ok(())
    }

    /// Lets a GPU catch up.
    ///
    /// # Errors
    /// If something went wrong on it.
    pub(crate) fn pace(&mut self) -> Result<(), TrainError> {
        self.on_gpu.as_mut().map_or(Ok(()), OnGpu::pace)
    }

    /// Waits for the steps of a GPU and takes over what they found; nothing if none computes.
    /// `share` puts the losses of several ranks together.
    ///
    /// # Errors
    /// [`RunError::Diverged`](zoetrope_run::RunError::Diverged) if a loss or a gradient was not finite: the weights are then those
    /// of the last good update.
    pub(crate) fn collect(
        &mut self,
        parameters: &mut Parameters,
        unit: &str,
        share: impl FnOnce(&mut Vec<f64>) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let Some(on_gpu) = &mut self.on_gpu else { return Ok(()) };
        let (mut losses, failed) = on_gpu.collect(&mut self.optimiser, parameters)?;
        share(&mut losses)?;
        if let Some(loss) = losses.iter().find(|loss| !loss.is_finite()) {
            return Err(self.not_finite("the loss", unit, *loss));
        }
        if failed.is_some() {
            return Err(self.not_finite("the norm of the gradients", unit, f64::NAN));
        }
        self.add_losses(losses);
        Ok(())
    }

    /// A loss or a gradient of the current frame or batch is not a number.
    pub(crate) fn not_finite(&self, what: &str, unit: &str, value: f64) -> TrainError {
        let (index, step) = (self.progress.frame, self.optimiser.steps());
        RunError::Diverged { what: format!("{what} of {unit}"), index, value, step }.into()
    }

    /// Closes an epoch: the schedule and early stopping hear of it, the best weights are kept.
    pub(crate) fn finish_epoch(
        &mut self,
        config: &Config,
        parameters: &Parameters,
        record: EpochRecord,
    ) {
        let watched = match self.watched {
            MetricName::Loss => Some(record.loss),
            _ => record.val.get(&self.key).copied(),
        };
        if let Some(value) = watched.filter(|_| !record.val.is_empty()) {
            let error = if self.watched.is_error() { value } else { -value };
            optimise::schedule(&config.train).observe(error, &mut self.schedule);
            if self.stopping.observe(record.epoch, value) {
                match &mut self.best {
                    Some(best) => best.clone_from(parameters),
                    None => self.best = Some(parameters.clone()),
                }
            }
        }
        self.progress.epoch += 1;
        self.progress.frame = 0;
        (self.progress.loss_sum, self.progress.losses, self.progress.seconds) = (0.0, 0, 0.0);
        self.progress.records.push(record);
    }
}

/// Which way a measure gets better.
fn direction(watched: MetricName) -> Direction {
    if watched.is_error() { Direction::Lower } else { Direction::Higher }
}
