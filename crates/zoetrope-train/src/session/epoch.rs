//! One epoch: every frame of the plan once.

use zoetrope_data::split::Part;
use zoetrope_graph::random::Random;
use zoetrope_nn::Forward;
use zoetrope_nn::model::Embedding;
use zoetrope_plan::Frame;
use zoetrope_tensor::Var;

use super::Session;
use crate::error::TrainError;
use crate::run::{EpochRecord, Metrics, Phase};
use crate::task::Questions;

/// The random stream of frame orders.
const ORDER_STREAM: u32 = 0x6f72_6465;

/// Who watches an epoch go by.
pub trait Watch {
    /// So many of all frames are done. Returns whether to go on.
    fn frame(&mut self, done: usize, all: usize) -> bool;
}

/// How an epoch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EpochEnd {
    /// All frames are done.
    Finished(EpochRecord),
    /// Stopped between two updates; [`Session::save`] continues from there.
    Interrupted,
}

impl Session {
    /// Runs the rest of the current epoch, then measures on the validation part.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] where a loss or a gradient is not finite; the weights are then
    /// those of the last good update.
    pub fn epoch(&mut self, watch: &mut dyn Watch) -> Result<EpochEnd, TrainError> {
        let epoch = self.learner.progress.epoch;
        let scope = std::time::Instant::now();
        let frames = self.frame_order(epoch);
        let rate = self.learner.rate(&self.config);
        if self.learner.progress.frame == 0 {
            self.carried.clear();
        }
        let batch = self.config.train.batch_size;
        while self.learner.progress.frame < frames.len() {
            let from = self.learner.progress.frame;
            let until = (from + batch).min(frames.len());
            let update = std::time::Instant::now();
            self.update(&frames[from..until], rate as f32)?;
            self.timeline.add_scope("frames", from as u64, update);
            self.learner.progress.frame = until;
            if !watch.frame(until, frames.len()) && until < frames.len() {
                self.learner.progress.seconds += scope.elapsed().as_secs_f64();
                self.timeline.add_scope("epoch", epoch as u64 + 1, scope);
                return Ok(EpochEnd::Interrupted);
            }
        }
        let seconds = self.learner.progress.seconds + scope.elapsed().as_secs_f64();
        let loss = self.learner.mean_loss();
        let val = self.validate()?;
        self.timeline.add_scope("epoch", epoch as u64 + 1, scope);
        let record = EpochRecord { epoch: epoch + 1, seconds, loss, val };
        self.learner.finish_epoch(&self.config, &self.network.parameters, record.clone());
        Ok(EpochEnd::Finished(record))
    }

    /// Seconds that an epoch would take, from one frame that is run twice and timed once. Weights
    /// do not change, but running statistics do: for a session that only plans.
    ///
    /// # Errors
    /// As [`Session::epoch`].
    pub fn predict_epoch_seconds(&mut self) -> Result<f64, TrainError> {
        let frame = self.plan.frames[0];
        self.frame(frame, 1.0)?;
        let start = std::time::Instant::now();
        self.frame(frame, 1.0)?;
        Ok(start.elapsed().as_secs_f64() * self.plan.frames.len() as f64)
    }

    fn validate(&mut self) -> Result<Metrics, TrainError> {
        match self.steps_of(Part::Validation).is_empty() {
            true => Ok(Metrics::new()),
            false => self.evaluate(Part::Validation),
        }
    }

    /// The frames in the order of an epoch: as planned, or shuffled by (seed, epoch).
    fn frame_order(&self, epoch: usize) -> Vec<Frame> {
        let mut frames = self.plan.frames.clone();
        if self.config.train.shuffle {
            let random = Random::new(self.config.train.seed, ORDER_STREAM).at_step(epoch as u32);
            for at in (1..frames.len()).rev() {
                frames.swap(at, random.below(at as u64, at as u64 + 1) as usize);
            }
        }
        frames
    }

    /// One update of the weights from one or several frames.
    fn update(&mut self, frames: &[Frame], rate: f32) -> Result<(), TrainError> {
        self.learner.gradients.clear();
        let share = 1.0 / frames.len() as f64;
        for &frame in frames {
            if !self.config.train.carry_state {
                self.carried.clear();
            }
            if let Some(loss) = self.frame(frame, share)? {
                self.learner.add_loss(loss);
            }
            self.learner.progress.frames += 1;
        }
        let span = self.timeline.phase(Phase::Update);
        self.learner.step(&self.config, &mut self.network.parameters, rate, "frame")?;
        drop(span);
        Ok(())
    }

    /// Adds the gradients of one frame, times `share`, and returns its loss; None where there is
    /// nothing to learn from in it.
    fn frame(&mut self, frame: Frame, share: f64) -> Result<Option<f64>, TrainError> {
        let stretches: Vec<Frame> = self.plan.rule.stretches(frame).collect();
        let last_only = self.only_last();
        let (mut sum, mut weight) = (0.0, 0.0);
        let total = if last_only { 1 } else { frame.steps } as f64;
        for (at, &stretch) in stretches.iter().enumerate() {
            let ends = at + 1 == stretches.len();
            let asked = match (last_only, ends) {
                (true, false) => None,
                (true, true) => Some(stretch.range().end - 1..stretch.range().end),
                (false, _) => Some(stretch.range()),
            };
            let part = asked.as_ref().map_or(0.0, |asked| asked.len() as f64 / total);
            if let Some(loss) = self.stretch(stretch, asked, share * part)? {
                sum += loss * part;
                weight += part;
            }
        }
        Ok((weight > 0.0).then(|| sum / weight))
    }

    /// Runs one stretch forward and, where it has a loss, backward.
    fn stretch(
        &mut self,
        stretch: Frame,
        asked: Option<std::ops::Range<usize>>,
        factor: f64,
    ) -> Result<Option<f64>, TrainError> {
        self.tape.reset();
        let span = self.timeline.phase(Phase::Forward);
        let (seed, step) = (self.config.train.seed, self.learner.progress.frames as u32);
        let parameters = &self.network.parameters;
        let mut forward =
            Forward::training(&mut self.tape, parameters, &mut self.updates, seed, step);
        let model = self.network.model.as_ref();
        let embedding = self.runner.embed(&mut forward, model, stretch.range(), &self.carried)?;
        let mut loss = None;
        if let Some(asked) = asked {
            let rows = rows_of(&mut forward, &embedding, stretch, &asked, self.runner.vertices())?;
            let questions = Questions { steps: asked, epoch: self.learner.progress.epoch as u32 };
            loss = self.task.loss(&mut forward, &self.network, &questions, rows)?;
        }
        // Values are given back during the backward pass: what outlives it is taken off now.
        embedding.state.detach(&self.tape, &mut self.carried);
        self.updates.apply(&self.tape, &mut self.network.parameters);
        drop(span);
        let Some((loss, _)) = loss else { return Ok(None) };
        let value = f64::from(self.tape.scalar(loss));
        if !value.is_finite() {
            return Err(self.learner.not_finite("the loss", "frame", value));
        }
        let span = self.timeline.phase(Phase::Backward);
        self.tape.backward(loss)?;
        self.learner.gradients.add_from(&self.tape, &self.network.parameters, factor as f32);
        drop(span);
        Ok(Some(value))
    }
}

/// The rows of an embedding that describe the asked snapshots.
fn rows_of(
    forward: &mut Forward<'_>,
    embedding: &Embedding,
    stretch: Frame,
    asked: &std::ops::Range<usize>,
    vertices: usize,
) -> Result<Var, TrainError> {
    let all = forward.tape.shape(embedding.rows).rows;
    if all == asked.len() * vertices {
        return Ok(embedding.rows);
    }
    let from = (asked.start - stretch.start) * vertices;
    Ok(forward.tape.rows(embedding.rows, from..from + asked.len() * vertices)?)
}
