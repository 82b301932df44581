//! One epoch: every training event once, batch by batch in time order.

use std::sync::Arc;
use std::time::Instant;

use zoetrope_data::negatives::NegativeSampler;
use zoetrope_data::split::Part;
use zoetrope_nn::forward::Still;
use zoetrope_nn::memory::EventData;
use zoetrope_nn::{Forward, StageKind};
use zoetrope_plan::TaskKind;
use zoetrope_run::{EpochRecord, Metrics, Phase};
use zoetrope_tensor::{Loss, Var};

use super::ask::{self, Asking, Negatives};
use super::best::Kept;
use super::cost::Cost;
use super::network::StreamHead;
use super::pieces::{Piece, pieces};
use super::prefetch;
use super::prepare::{Prepared, Preparer};
use super::schedule::Schedule;
use super::session::EventSession;
use super::target::Target;
use crate::device;
use crate::error::TrainError;
use crate::learner::unfit;
use crate::observer::{Observer, RunEvent};
use crate::training_run::{EpochEnd, Epochs};

impl Epochs for EventSession {
    fn epoch(&mut self, observer: &mut dyn Observer) -> Result<EpochEnd, TrainError> {
        let (epoch, first) = (self.learner.progress.epoch, self.learner.progress.frame);
        let begun = Instant::now();
        if first == 0 {
            if self.learner.should_settle(&self.config) {
                self.learner.settle(&mut self.network.parameters);
                self.spare = self.kept.take().map(Kept::into_state).or(self.spare.take());
            }
            self.forget();
        }
        (self.known, self.grown) = (None, None);
        let (material, target) = (Arc::clone(&self.material), Arc::clone(&self.target));
        let settling = self.learner.is_settling();
        let memory = self.network.model.memory_parameters();
        self.still = settling.then(|| Still::new(&self.network.parameters, memory));
        // Boundaries that move from epoch to epoch would grow another memory than replay.
        let chunks = self.schedule.chunks.filter(|_| !settling);
        let schedule = Schedule { chunks, ..self.schedule.clone() };
        let batches =
            schedule.epoch(material.training_events(), epoch as u32, material.clock(Part::Train));
        let pieces = pieces(&batches, usize::MAX);
        let steps = pieces.iter().filter(|piece| piece.ends_step).count();
        if first > steps {
            return Err(unfit("the number of batches in an epoch"));
        }
        let per_event = self.config.task.negatives;
        let options = self.training_negatives(per_event);
        let sampler = NegativeSampler::new(&material.store, &material.split, Part::Train, options)?;
        let asks = [false, true].map(|absorb| Asking {
            target: &target,
            unknown: false,
            few: (Negatives::Drawn(&sampler, epoch as u32 + 1), per_event),
            many: (Negatives::Absent, 0),
            absorb,
            full_rows: false,
        });
        let mut preparer = Preparer::new(&material, material.neighbours(Part::Train), self.rules);
        let mut drawn = Vec::new();
        let done = match first {
            0 => 0,
            first => 1 + ends_of_steps(&pieces).nth(first - 1).unwrap_or(pieces.len()),
        };
        let (rest, ahead) = (&pieces[done..], self.plan.prefetch);
        self.learner.begin_epoch(&self.config, &self.network.parameters, steps - first);
        let prepare = |at: usize, prepared: &mut Prepared| {
            let piece = &rest[at];
            let began = Instant::now();
            let event = |position| material.event(Part::Train, position);
            preparer.begin(event(piece.first), prepared);
            if piece.asked.is_empty() {
                for position in piece.absorbed.clone() {
                    preparer.add_event(event(position), prepared);
                }
            } else {
                let asking = &asks[usize::from(piece.absorbs_what_it_asks())];
                let events = piece.asked.clone().map(event);
                ask::fill(&mut preparer, &material, asking, events, &mut drawn, prepared);
            }
            preparer.finish(epoch as u32, !piece.asked.is_empty(), prepared);
            prepared.timing = Some((began, began.elapsed()));
            Ok(())
        };
        if first == 0 {
            self.tasks.begin(0);
        }
        let mut update = Instant::now();
        prefetch::run(ahead, rest.len(), prepare, |at, prepared| {
            let piece = &rest[at];
            if let Some((began, took)) = prepared.timing {
                self.tasks.prepared(began, took);
            }
            if piece.asked.is_empty() {
                let began = Instant::now();
                self.absorb_batch(prepared)?;
                self.timeline.add(Phase::Update, began);
            } else {
                update = Instant::now();
                self.train_batch(prepared)?;
                self.learner.pace()?;
            }
            self.redundancy += prepared.redundancy;
            if !piece.ends_step {
                return Ok(true);
            }
            let step = self.learner.progress.frame;
            self.timeline.add_scope("batch", step as u64, update);
            self.learner.progress.frame = step + 1;
            let told = RunEvent::Step { epoch: epoch + 1, done: step + 1, all: steps };
            Ok(observer.observe(told).is_continue())
        })?;
        self.learner.collect(&mut self.network.parameters, "batch", |_| Ok(()))?;
        self.tasks.end();
        self.learner.progress.seconds += begun.elapsed().as_secs_f64();
        self.timeline.add_scope("epoch", epoch as u64 + 1, begun);
        device::show(self.tape.device(), &self.timeline);
        if self.learner.progress.frame < steps {
            return Ok(EpochEnd::Interrupted);
        }
        (self.known, self.grew) = (Some(material.split.train.end), true);
        let (seconds, loss) = (self.learner.progress.seconds, self.learner.mean_loss());
        let val = if material.split.validation.is_empty() {
            Metrics::new()
        } else {
            // Memory goes on from the training part to the validation part.
            self.set_aside();
            match self.go_on(Part::Validation) {
                // The checkpoint has the state at the end of training.
                Err(TrainError::Stopped) => {
                    self.put_back();
                    return Ok(EpochEnd::Interrupted);
                }
                val => val?,
            }
        };
        let record = EpochRecord { epoch: epoch + 1, seconds, loss, val };
        self.learner.finish_epoch(&self.config, &self.network.parameters, record.clone());
        self.keep_if_best();
        Ok(EpochEnd::Finished(record))
    }
}

impl EventSession {
    /// Forward, backward, one update of the weights; then the state absorbs the events that joined
    /// the batch.
    fn train_batch(&mut self, prepared: &Prepared) -> Result<(), TrainError> {
        let span = self.timeline.phase(Phase::Forward);
        self.tape.reset();
        let (seed, step) = (self.config.train.seed, self.learner.progress.frames as u32);
        let parameters = &self.network.parameters;
        let mut forward =
            Forward::training(&mut self.tape, parameters, &mut self.updates, seed, step)
                .keeping(self.still.as_ref())
                .telling(self.tasks.listener());
        let data = self.material.data();
        let embedding = self.network.model.embed(
            &mut forward,
            &prepared.batch,
            data,
            self.material.vertex_features.as_ref(),
            self.state.as_ref(),
        )?;
        let (head, rows) = (&mut self.network.head, embedding.rows);
        let began = Instant::now();
        let loss = loss(&mut forward, head, (&self.target, &self.cost), prepared, data, rows)?;
        forward.tell(StageKind::Loss, began);
        // The backward pass gives values away: what the state absorbs is taken now.
        embedding.update.take(&self.tape, &mut self.updated);
        drop(span);
        if let Some(loss) = loss {
            let span = self.timeline.phase(Phase::Backward);
            let parameters = &mut self.network.parameters;
            let began = Instant::now();
            self.learner.clear_gradients(parameters);
            self.learner.backward(&mut self.tape, parameters, loss, 1.0, 1.0, "batch")?;
            self.tasks.task(TaskKind::Backward, began, None);
            drop(span);
            let span = self.timeline.phase(Phase::Update);
            let began = Instant::now();
            self.learner.step(&self.config, parameters, "batch")?;
            self.tasks.task(TaskKind::Update, began, None);
            drop(span);
        }
        self.learner.end_frame(if loss.is_some() { 1.0 } else { 0.0 });
        // The batch is filled again once the tape has let go of it.
        self.tape.reset();
        let absorbs = !prepared.batch.events.is_empty();
        if let Some(state) = self.state.as_mut().filter(|_| absorbs) {
            let span = self.timeline.phase(Phase::Update);
            let began = Instant::now();
            state.absorb(&prepared.batch, self.material.data(), &self.updated);
            self.tasks.task(TaskKind::Absorb, began, None);
            drop(span);
        }
        Ok(())
    }
}

/// The places of the pieces with which steps end.
fn ends_of_steps(pieces: &[Piece]) -> impl Iterator<Item = usize> + '_ {
    (0..pieces.len()).filter(|&at| pieces[at].ends_step)
}

/// The answers of the head.
pub(super) fn decode(
    forward: &mut Forward<'_>,
    head: &mut StreamHead,
    prepared: &Prepared,
    data: EventData<'_>,
    rows: Var,
) -> Result<Var, TrainError> {
    let own = prepared.own.place(forward.tape, data)?;
    Ok(match head {
        StreamHead::Link(head) => head.decode(forward, rows, &prepared.ends)?,
        StreamHead::Edge(head) => head.decode_with(forward, rows, &prepared.ends, own)?,
        StreamHead::Vertex(head) => {
            let asked = forward.tape.gather(rows, &prepared.rows)?;
            head.decode_with(forward, asked, own)?
        }
    })
}

/// What a wrong answer costs; None if nothing is asked.
pub(super) fn loss(
    forward: &mut Forward<'_>,
    head: &mut StreamHead,
    (target, cost): (&Target, &Cost),
    prepared: &Prepared,
    data: EventData<'_>,
    rows: Var,
) -> Result<Option<Var>, TrainError> {
    let count = prepared.labels.len();
    if count == 0 {
        return Ok(None);
    }
    let answers = decode(forward, head, prepared, data, rows)?;
    let tape = &mut *forward.tape;
    let binary = Loss::BinaryCrossEntropy { positive_weight: 1.0 };
    let loss = match target {
        // The mean over what happened plus the mean over what did not, as the references have it.
        Target::Links => {
            let right = tape.copied(count, 1, &prepared.labels)?;
            let mut sum: Option<Var> = None;
            for range in [0..prepared.positives, prepared.positives..count] {
                if range.is_empty() {
                    continue;
                }
                let (given, wanted) =
                    (tape.rows(answers, range.clone())?, tape.rows(right, range)?);
                let part = tape.loss(binary, given, wanted, None)?;
                sum = Some(match sum {
                    Some(sum) => tape.add(sum, part)?,
                    None => part,
                });
            }
            return Ok(sum);
        }
        Target::Classes { classes: 2, .. } => {
            let right = tape.copied(count, 1, &prepared.labels)?;
            let positive_weight = cost.positive_weight();
            tape.loss(Loss::BinaryCrossEntropy { positive_weight }, answers, right, None)?
        }
        Target::Classes { .. } => {
            let classes = prepared.labels.iter().map(|&label| label as u32).collect();
            let weight = match cost.of(&prepared.labels) {
                Some(weights) => Some(tape.copied(count, 1, &weights)?),
                None => None,
            };
            tape.cross_entropy(answers, &Arc::new(classes), 0, weight)?
        }
        Target::Values { scale, .. } => {
            let scaled: Vec<f32> =
                prepared.labels.iter().map(|&value| scale.apply(value)).collect();
            let right = tape.copied(count, 1, &scaled)?;
            tape.loss(Loss::Mse, answers, right, None)?
        }
    };
    Ok(Some(loss))
}
