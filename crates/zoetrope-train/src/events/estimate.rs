//! What a run over events takes.
//!
//! Data, states and weights are counted. What a batch takes depends on the model, on how often its
//! vertices repeat and on their neighbours, so it is measured: real batches from the end of the
//! training part, whose vertices have the most neighbours, go forward and backward through the model,
//! each twice as large as the one before, as long as the next one is sure to fit. What is too large to
//! be tried is extrapolated; so is what very many negatives or candidates take, of which fewer are drawn.
//! Nothing that is learned or remembered changes.
//!
//! What follows from that the planner of batches decides. This is no second model of memory: frames are
//! estimated from their shapes (`zoetrope_plan::planners::memory`), batches cannot be and are measured; both
//! fill the same `Memory`, which alone adds up and compares with the limit.

use std::sync::Arc;

use zoetrope_data::negatives::NegativeSampler;
use zoetrope_data::split::Part;
use zoetrope_graph::VertexId;
use zoetrope_heap::Gauge;
use zoetrope_nn::Forward;
use zoetrope_nn::forward::Updates;
use zoetrope_plan::planners::batches::QUESTIONS_MAX;
use zoetrope_plan::{BatchCost, MeasuredBatches, Memory};
use zoetrope_tensor::Tape;

use super::ask::{self, Asking, Negatives};
use super::epoch::{decode, loss};
use super::planning;
use super::prepare::{Prepared, Preparer};
use super::session::EventSession;
use super::target::Target;
use crate::error::TrainError;
use crate::learner::optimise;

/// The smallest batch that is tried.
const FIRST_BATCH_EVENTS: usize = 32;
/// The least that the program takes besides data, states and weights; all there is to go by in processes that
/// do not count their memory.
const PROGRAM_BYTES_MIN: u64 = 16 << 20;

/// Pairs that did not happen of which an event has so many are all tried.
const PAIRS_OF_AN_EVENT: usize = 128;
/// The most questions of a trial if an event has more of them: as many as are judged at once.
const TRIED_QUESTIONS_MAX: usize = QUESTIONS_MAX;
/// The same if every question is computed for itself (`plan.deduplicate`): each takes what the others take.
const TRIED_REPEATED_QUESTIONS_MAX: usize = 1024;

/// As much for `to` events as `now` is for `from` of them, and `before` for half as many.
fn stretched(now: BatchCost, before: BatchCost, from: usize, to: usize) -> BatchCost {
    let line = |now: u64, before: u64| {
        let slope = now.saturating_sub(before) as f64 / (from - from / 2) as f64;
        now + (slope * (to - from) as f64) as u64
    };
    BatchCost {
        prepared: line(now.prepared, before.prepared),
        computed: line(now.computed, before.computed),
    }
}

/// What is done with the events of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pass {
    training: bool,
    /// Pairs that did not happen of each event, of one-versus-one and of one-versus-many.
    few: usize,
    many: usize,
}

impl Pass {
    fn pairs(self) -> usize {
        self.few + self.many
    }

    /// The same with so many pairs that did not happen.
    fn with(self, pairs: usize) -> Self {
        let few = self.few.min(pairs);
        Self { few, many: pairs - few, ..self }
    }
}

impl EventSession {
    /// Measures what batches take, by consumer, and lays the run out by that.
    ///
    /// # Errors
    /// If a batch cannot be computed, or the run does not fit into the limit on memory.
    pub fn plan_memory(&mut self) -> Result<Memory, TrainError> {
        let state = self.state.take();
        // The state in place knows nothing yet; what is tried out must not change that.
        let measured = self.measure_batches(state.as_ref());
        self.state = state;
        let (step, judged, judged_events) = measured?;
        let measured = MeasuredBatches { step, judged, judged_events, counted: self.counted() };
        let questions = self.questions_of_an_event();
        self.plan =
            planning::plan_measured(&self.config, &self.material, measured, questions, &self.plan)?;
        Ok(self.plan.head.memory)
    }

    /// What is known without measuring.
    fn counted(&self) -> Memory {
        let weights = 4 * self.network.parameters.weights() as u64;
        let moments = optimise::slots(&self.config.train) as u64;
        // Weights, those of the best epoch, and the optimiser's arrays are saved; gradients are not.
        let saved = weights * (2 + moments);
        let [events, index, states] = self.data_bytes();
        let data = events + index;
        // Everything that is there already and has no name of its own: the program, names of
        // vertices, tables of the sampler. Gradients and the optimiser's arrays are there, too.
        let allocated = data + self.state_bytes() + weights * (2 + moments);
        let program = zoetrope_heap::held().saturating_sub(allocated).max(PROGRAM_BYTES_MIN);
        Memory {
            data,
            // A checkpoint is a copy of one state and of all that is saved, which is read again before it
            // counts.
            states: states + 2 * self.state_bytes(),
            reuse: 0,
            // What is saved is there four times while it is: in use, as the copy that is written, as the files
            // that are read back, and as what they hold.
            parameters: 4 * saved + weights,
            activations: 0,
            checkpoints: 0,
            exchanged: 0,
            evaluation: self.score_bytes(),
            program,
        }
    }

    /// Scores that measuring keeps of the larger part, and the tables of the simple rules.
    fn score_bytes(&self) -> u64 {
        let split = &self.material.split;
        let judged = split.validation.len().max(split.test.len());
        let scores = judged * (2 + self.config.task.negatives) * 12;
        // EdgeBank knows every pair.
        let rules = self.material.store.len() * 24;
        (2 * scores + rules) as u64
    }

    /// Questions that an event of the test part makes.
    fn questions_of_an_event(&self) -> usize {
        let links = matches!(*self.target, Target::Links);
        let listed = self.fixed_negatives.as_ref().map(|(list, _)| list.metadata.per_event);
        let many = if links { listed.unwrap_or(self.config.task.candidates) } else { 0 };
        2 + self.config.task.negatives + many
    }

    fn measure_batches(
        &mut self,
        state: Option<&zoetrope_nn::memory::VertexState>,
    ) -> Result<(BatchCost, BatchCost, usize), TrainError> {
        let material = Arc::clone(&self.material);
        let training = material.training_events();
        let batches = self.schedule.epoch(training, 0, material.clock(Part::Train));
        let longest = batches.iter().flat_map(|batch| batch.steps().map(|step| step.len()));
        let longest = longest.max().unwrap_or(1);
        let links = matches!(*self.target, Target::Links);
        let asked = if links { self.config.task.negatives } else { 0 };
        // Those of an event differ; there are no more of them than this.
        let found = asked.min(self.different_negatives());
        let pass = Pass { training: true, few: found, many: 0 };
        let mut step = self.tried(longest, pass, state)?;
        step.prepared += (longest * (asked - found) * size_of::<VertexId>()) as u64;
        let each = self.questions_of_an_event();
        let judged = (self.plan.questions / each).max(1).min(2 * self.schedule.batch).min(training);
        let many = each - 2 - self.config.task.negatives;
        let pass = Pass { training: false, few: asked, many };
        Ok((step, self.tried(judged, pass, state)?, judged))
    }

    /// The most pairs that differ from each other and did not happen at an event of the training part.
    fn different_negatives(&self) -> usize {
        let material = &self.material;
        if self.training_negatives(1).strategy.draws_sources() {
            material.training_events()
        } else {
            material.vertices()
        }
    }

    /// What a batch of so many events takes: tried as a whole, or with fewer events and pairs if events have
    /// very many pairs.
    fn tried(
        &mut self,
        events: usize,
        pass: Pass,
        state: Option<&zoetrope_nn::memory::VertexState>,
    ) -> Result<BatchCost, TrainError> {
        let (each, unique) = (2 + pass.pairs(), self.rules.deduplicate);
        let most = if unique { TRIED_QUESTIONS_MAX } else { TRIED_REPEATED_QUESTIONS_MAX };
        if events * each <= most || unique && pass.pairs() <= PAIRS_OF_AN_EVENT {
            return self.tried_whole(events, pass, state);
        }
        let count = (most / each).max(2).min(events);
        let pairs = pass.pairs().min(most / count);
        let now = self.try_batch(count, pass.with(pairs), state)?;
        let mut cost = now;
        if count < events {
            let before = self.try_batch(count / 2, pass.with(pairs), state)?;
            cost = stretched(now, before, count, events);
        }
        if pairs < pass.pairs() {
            let fewer = self.try_batch(count, pass.with(pairs / 2), state)?;
            let more = (events * (pass.pairs() - pairs)) as f64;
            let of_all = |now: u64, fewer: u64| {
                let of_one =
                    now.saturating_sub(fewer) as f64 / (count * (pairs - pairs / 2)) as f64;
                (of_one * more) as u64
            };
            cost.prepared += of_all(now.prepared, fewer.prepared);
            cost.computed += of_all(now.computed, fewer.computed);
        }
        Ok(cost)
    }

    /// What a batch of so many events takes: tried with fewer, and with as many if they are sure to fit.
    fn tried_whole(
        &mut self,
        events: usize,
        pass: Pass,
        state: Option<&zoetrope_nn::memory::VertexState>,
    ) -> Result<BatchCost, TrainError> {
        let mut count = FIRST_BATCH_EVENTS.min(events);
        let (mut before, mut now) = (BatchCost::default(), self.try_batch(count, pass, state)?);
        if count < events {
            (before, now) = (self.try_batch(count / 2, pass, state)?, now);
        }
        while count < events {
            let next = (2 * count).min(events);
            let most = 2 * now.total();
            if zoetrope_heap::room().is_some_and(|room| most > room) {
                return Ok(stretched(now, before, count, events));
            }
            let found = self.try_batch(next, pass, state)?;
            if next < 2 * count {
                return Ok(found);
            }
            (before, now, count) = (now, found, next);
        }
        Ok(now)
    }

    /// Sends the last training events through the model, with a tape of their own.
    fn try_batch(
        &mut self,
        events: usize,
        pass: Pass,
        state: Option<&zoetrope_nn::memory::VertexState>,
    ) -> Result<BatchCost, TrainError> {
        let (material, target) = (Arc::clone(&self.material), Arc::clone(&self.target));
        let Pass { training, few, many } = pass;
        let options = self.training_negatives(few.max(1));
        let sampler = NegativeSampler::new(&material.store, &material.split, Part::Train, options)?;
        let options = self.training_negatives(many.max(1));
        let crowd = NegativeSampler::new(&material.store, &material.split, Part::Train, options)?;
        let drawn = |sampler, count| match count {
            0 => (Negatives::Absent, 0),
            count => (Negatives::Drawn(sampler, 1), count),
        };
        let (few, many) = (drawn(&sampler, few), drawn(&crowd, many));
        let asking = Asking {
            target: &target,
            unknown: !training,
            few,
            many,
            absorb: true,
            full_rows: !training,
        };
        let gauge = Gauge::start();
        let mut preparer = Preparer::new(&material, material.neighbours(Part::Train), self.rules);
        let (mut prepared, mut room) = (Prepared::default(), Vec::new());
        let last = material.training_events();
        let first = last - events;
        let event = |position| material.event(Part::Train, position);
        preparer.begin(event(first), &mut prepared);
        let asked = (first..last).map(event);
        ask::fill(&mut preparer, &material, &asking, asked, &mut room, &mut prepared);
        preparer.finish(0, true, &mut prepared);
        let held = gauge.now();
        let mut tape = Tape::on(self.tape.device().clone());
        let mut updates = Updates::default();
        let parameters = &self.network.parameters;
        let mut forward = if training {
            Forward::training(&mut tape, parameters, &mut updates, 0, 0)
        } else {
            Forward::evaluating(&mut tape, parameters, &mut updates)
        };
        let (data, features) = (material.data(), material.vertex_features.as_ref());
        let model = &mut self.network.model;
        let embedding = model.embed(&mut forward, &prepared.batch, data, features, state)?;
        let head = &mut self.network.head;
        if training {
            let of = (&*target, &self.cost);
            let loss = loss(&mut forward, head, of, &prepared, data, embedding.rows)?;
            if let Some(loss) = loss {
                tape.backward(loss)?;
            }
        } else {
            decode(&mut forward, head, &prepared, data, embedding.rows)?;
        }
        let computed = gauge.peak().saturating_sub(held).max(tape.allocated_bytes() as u64);
        drop(tape);
        self.network.model.begin_pass();
        Ok(BatchCost { prepared: held, computed })
    }
}
