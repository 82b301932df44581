//! Measuring on a part of the stream.
//!
//! Positives and negatives of a batch go through one pass, with the state as it was before the
//! batch; then the state absorbs the batch's events. If each event has many candidates, or a
//! batch is large, its questions come in several pieces, all of them before the state absorbs
//! anything.

use std::sync::Arc;
use std::time::Instant;

use zoetrope_config::MetricName;
use zoetrope_data::negatives::NegativeSampler;
use zoetrope_data::split::Part;
use zoetrope_nn::Forward;
use zoetrope_run::{Metrics, Phase};

use super::ask::{self, Asking, Negatives};
use super::baselines::EVALUATION;
use super::epoch::decode;
use super::part_judge::PartJudge;
use super::pieces::pieces;
use super::prefetch;
use super::prepare::{Prepared, Preparer};
use super::session::EventSession;
use super::target::Target;
use crate::error::TrainError;
use crate::stages;
use crate::training_run::Evaluation;

impl Evaluation for EventSession {
    fn has(&self, part: Part) -> bool {
        !self.material.split.part(part).is_empty()
    }

    /// From a state that knows exactly what came before the part.
    fn evaluate(&mut self, part: Part) -> Result<Metrics, TrainError> {
        let timer = Instant::now();
        let asked = self.material.split.part(part);
        self.remember(asked.start)?;
        self.used.add(self.source(), asked.len());
        let ranked = part == Part::Test || self.ranks_watched();
        let metrics = self.judge(part, ranked);
        self.timeline.add(Phase::Evaluate, timer);
        metrics
    }
}

impl EventSession {
    /// The metrics on the part that follows what the state knows already.
    pub(super) fn go_on(&mut self, part: Part) -> Result<Metrics, TrainError> {
        let timer = Instant::now();
        let metrics = self.judge(part, self.ranks_watched());
        self.timeline.add(Phase::Evaluate, timer);
        metrics
    }

    /// Whether ranks among many candidates decide which epoch is best. If not, validation does
    /// without them: they cost many times as much as training on the same events.
    fn ranks_watched(&self) -> bool {
        matches!(self.learner.watched(), MetricName::Mrr | MetricName::Hits)
    }

    /// Judges the answers at all events of a part, then the state knows them.
    fn judge(&mut self, part: Part, ranked: bool) -> Result<Metrics, TrainError> {
        let _judging = zoetrope_heap::during(&stages::JUDGING_EVENTS);
        self.fit_tape();
        self.enter(part);
        let mut judge = PartJudge::new(&self.target, self.config.task.hits as u32);
        let range = self.material.split.part(part);
        let links = matches!(*self.target, Target::Links);
        let material = Arc::clone(&self.material);
        let target = Arc::clone(&self.target);
        let fixed = self.fixed_negatives.take();
        let result = (|| {
            let few = self.config.task.negatives;
            let many = if links && ranked { self.config.task.candidates } else { 0 };
            let split = &material.split;
            let options = self.negative_options(few);
            let sampler = NegativeSampler::new(&material.store, split, part, options)?;
            let options = self.negative_options(many.max(1));
            let crowd = NegativeSampler::new(&material.store, split, part, options)?;
            let listed = fixed.as_ref().map(|(list, _)| list).filter(|_| part != Part::Train);
            // A prediction file has the events without a label, too.
            let unknown = self.own_answers.is_some();
            let asking = |absorb: bool| Asking {
                target: &target,
                unknown,
                few: if links {
                    (Negatives::Drawn(&sampler, EVALUATION), few)
                } else {
                    (Negatives::Absent, 0)
                },
                many: match (many, listed) {
                    (0, _) => (Negatives::Absent, 0),
                    (_, Some(list)) => (Negatives::Listed(list, split.validation.start), 0),
                    (many, None) => (Negatives::Drawn(&crowd, EVALUATION), many),
                },
                absorb,
                full_rows: true,
            };
            let wide = listed.map_or(many, |list| list.metadata.per_event * usize::from(many > 0));
            let most = (self.plan.questions / (2 + few + wide)).max(1);
            let batches = self.schedule.fixed(range.clone(), |event| material.store.time()[event]);
            let pieces = pieces(&batches, most);
            let mut preparer = Preparer::new(&material, material.neighbours(part), self.rules);
            let (asks, absorbs) = ([asking(false), asking(true)], &pieces);
            let mut drawn = Vec::new();
            let prepare = |at: usize, prepared: &mut Prepared| {
                let piece = &absorbs[at];
                preparer.begin(piece.first, prepared);
                if piece.asked.is_empty() {
                    piece.absorbed.clone().for_each(|event| {
                        preparer.add_event(event, prepared);
                    })
                } else {
                    let asking = &asks[usize::from(piece.absorbs_what_it_asks())];
                    let events = piece.asked.clone();
                    ask::fill(&mut preparer, &material, asking, events, &mut drawn, prepared);
                }
                preparer.finish(EVALUATION, !piece.asked.is_empty(), prepared);
                Ok(())
            };
            prefetch::run(self.plan.prefetch, pieces.len(), prepare, |at, prepared| {
                if self.interrupt.is_asked() {
                    return Err(TrainError::Stopped);
                }
                let piece = &pieces[at];
                if piece.asked.is_empty() {
                    self.absorb_batch(prepared)?
                } else {
                    let answers = self.answer(prepared)?;
                    judge.add(&material, piece.asked.clone(), prepared, &answers);
                    if let Some(kept) = &mut self.own_answers {
                        kept.add(&material, &target, piece.asked.clone(), prepared, &answers);
                    }
                    self.tape.reset();
                    if let Some(state) =
                        self.state.as_mut().filter(|_| piece.absorbs_what_it_asks())
                    {
                        state.absorb(&prepared.batch, material.data(), &self.updated);
                    }
                }
                if piece.ends_questions {
                    judge.end_batch();
                }
                Ok(true)
            })
        })();
        self.fixed_negatives = fixed;
        self.fit_tape();
        result?;
        self.known = Some(range.end);
        Ok(judge.metrics())
    }

    /// Under a limit on memory, lets the blocks of the tape go between training and judging: batches of
    /// the two differ in size, and few blocks fit both.
    fn fit_tape(&mut self) {
        if zoetrope_heap::limit().is_some() {
            self.tape.shrink();
        }
    }

    /// The head's answers to the questions of a batch; the new rows of memory are kept aside.
    pub(super) fn answer(&mut self, prepared: &Prepared) -> Result<Vec<f32>, TrainError> {
        self.tape.reset();
        let parameters = &self.network.parameters;
        let mut forward = Forward::evaluating(&mut self.tape, parameters, &mut self.updates);
        let data = self.material.data();
        let features = self.material.vertex_features.as_ref();
        let state = self.state.as_ref();
        let embedding =
            self.network.model.embed(&mut forward, &prepared.batch, data, features, state)?;
        let (head, rows) = (&mut self.network.head, embedding.rows);
        let answers = decode(&mut forward, head, prepared, data, rows)?;
        embedding.update.take(&self.tape, &mut self.updated);
        let mut answers = self.tape.read(answers);
        if let Target::Values { scale, .. } = &*self.target {
            answers.iter_mut().for_each(|answer| *answer = scale.undo(*answer));
        }
        Ok(answers)
    }
}
