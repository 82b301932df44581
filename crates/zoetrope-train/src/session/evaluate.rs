//! Measuring on a part, and predictions and embeddings as files want them.
//!
//! A snapshot is judged once, with everything before it as history and nothing after it: as the
//! last of its own frame, or in one pass over the sequence where the state is carried or the whole
//! sequence is one frame.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_data::split::Part;
use zoetrope_nn::model::{Coverage, Embedding};
use zoetrope_nn::state::Carried;

use super::Session;
use crate::engine::evaluating;
use crate::error::TrainError;
use crate::run::{Metrics, Phase};
use crate::task::Judge;

/// What a prediction file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The judged snapshots in time order.
    pub steps: Vec<usize>,
    /// Vertices in each.
    pub vertices: usize,
    /// Numbers for each vertex.
    pub per_vertex: usize,
    /// `steps × vertices × per_vertex`.
    pub values: Vec<f32>,
}

/// Some snapshots that are computed together, and which of them are looked at.
#[derive(Debug, Clone)]
struct Pass {
    steps: Range<usize>,
    asked: Range<usize>,
}

impl Session {
    /// The metrics on a part.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn evaluate(&mut self, part: Part) -> Result<Metrics, TrainError> {
        let steps = self.steps_of(part);
        self.judge(steps, None)
    }

    /// Predictions for the last snapshot of each frame, as the rule of the plan cuts them; all
    /// frames of the sequence, or those whose last snapshot belongs to a part.
    ///
    /// # Errors
    /// Where the task has no answer for a vertex, or no frame ends in the part.
    pub fn predict(&mut self, part: Option<Part>) -> Result<(Answers, Metrics), TrainError> {
        let Some(per_vertex) = self.task.answers_per_vertex() else {
            return Err(TrainError::Unfit {
                what: format!("{} predicts pairs, not vertices", self.task_name.name()),
                advice: "use `zoetrope embed` and score pairs of embeddings".to_owned(),
            });
        };
        let steps = self.predicted_steps(part);
        if steps.is_empty() {
            return Err(TrainError::Unfit {
                what: "no frame ends in that part of the sequence".to_owned(),
                advice: "choose another --split, or a shorter train.frame".to_owned(),
            });
        }
        let mut values = Vec::new();
        let mut metrics = Metrics::new();
        self.task.begin();
        for pass in self.passes_for(&steps) {
            metrics = self.judge_pass(&pass, Some(&mut values)).map(|()| Metrics::new())?;
        }
        metrics.extend(self.task.metrics());
        let vertices = self.material.vertices();
        Ok((Answers { steps, vertices, per_vertex, values }, metrics))
    }

    /// The embeddings of a snapshot, `vertices × width`.
    ///
    /// # Errors
    /// Where the snapshot is not there, or too early for a whole frame.
    pub fn embed(&mut self, step: usize) -> Result<Vec<f32>, TrainError> {
        let first = self.earliest();
        if step >= self.material.steps() || step < first {
            return Err(TrainError::Unfit {
                what: format!("there is no frame that ends at snapshot {step}"),
                advice: format!(
                    "choose a snapshot from {first} to {}",
                    self.material.steps().saturating_sub(1)
                ),
            });
        }
        let mut found = Vec::new();
        for pass in self.passes_for(&[step]) {
            self.visit(&pass, |session, _| {
                found = session.embeddings.as_slice().to_vec();
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn judge(
        &mut self,
        steps: Range<usize>,
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<Metrics, TrainError> {
        let timer = std::time::Instant::now();
        self.task.begin();
        let first = steps.start.max(self.earliest());
        let asked: Vec<usize> = (first..steps.end).collect();
        for pass in self.passes_for(&asked) {
            self.judge_pass(&pass, answers.as_deref_mut())?;
        }
        let metrics = self.task.metrics();
        self.timeline.add(Phase::Evaluate, timer);
        Ok(metrics)
    }

    fn judge_pass(
        &mut self,
        pass: &Pass,
        mut answers: Option<&mut Vec<f32>>,
    ) -> Result<(), TrainError> {
        self.visit(pass, |session, step| {
            let mut judge = Judge {
                network: &session.network,
                tape: &mut session.judge_tape,
                answers: answers.as_deref_mut(),
            };
            session.task.judge(&mut judge, step, &session.embeddings)
        })
    }

    /// Runs the model over a pass and shows the embeddings of each snapshot that is asked for.
    fn visit(
        &mut self,
        pass: &Pass,
        mut look: impl FnMut(&mut Self, usize) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let mut carried = Carried::default();
        let length = match self.sequential() {
            true => self.plan.rule.frame.unwrap_or(pass.steps.len()),
            false => pass.steps.len(),
        };
        let mut start = pass.steps.start;
        while start < pass.steps.end {
            let stretch = start..(start + length).min(pass.steps.end);
            let embedding = self.embed_stretch(stretch.clone(), &carried)?;
            if stretch.end < pass.steps.end {
                embedding.state.detach(&self.tape, &mut carried);
            }
            for step in stretch.start.max(pass.asked.start)..stretch.end.min(pass.asked.end) {
                let model = self.network.model.as_ref();
                let place = Arc::make_mut(&mut self.embeddings).as_mut_slice();
                self.runner.read_rows(&self.tape, model, &embedding, &stretch, step, place);
                look(self, step)?;
                // The judge's tape may still share the embeddings; it lets go before the next copy.
                self.judge_tape.reset();
            }
            start = stretch.end;
        }
        Ok(())
    }

    fn embed_stretch(
        &mut self,
        steps: Range<usize>,
        carried: &Carried,
    ) -> Result<Embedding, TrainError> {
        let parameters = &self.network.parameters;
        let mut forward = evaluating(&mut self.tape, parameters, &mut self.updates);
        let model = self.network.model.as_ref();
        Ok(self.runner.embed(&mut forward, model, steps, carried)?)
    }

    /// Whether snapshots are judged in one pass over the sequence.
    fn sequential(&self) -> bool {
        let every = self.network.model.coverage() == Coverage::Every;
        every && (self.config.train.carry_state || self.plan.rule.frame.is_none())
    }

    /// The first snapshot that can be judged.
    fn earliest(&self) -> usize {
        match (self.sequential(), self.plan.rule.frame) {
            (true, _) => 0,
            (false, Some(frame)) => frame - 1,
            (false, None) => self.plan.frames[0].steps - 1,
        }
    }

    fn passes_for(&self, asked: &[usize]) -> Vec<Pass> {
        let (Some(&first), Some(&last)) = (asked.first(), asked.last()) else {
            return Vec::new();
        };
        if self.sequential() {
            return vec![Pass { steps: 0..last + 1, asked: first..last + 1 }];
        }
        let frame = self.plan.rule.frame.unwrap_or(self.plan.frames[0].steps);
        let one = |&step: &usize| Pass { steps: step + 1 - frame..step + 1, asked: step..step + 1 };
        asked.iter().map(one).collect()
    }

    /// The last snapshots of the frames of the whole sequence, or of those that end in a part.
    fn predicted_steps(&self, part: Option<Part>) -> Vec<usize> {
        let rule = self.plan.rule;
        let frame = rule.frame.unwrap_or(1);
        let stride = if self.sequential() && rule.frame.is_none() { 1 } else { rule.stride };
        let ends = (frame..=self.material.steps()).step_by(stride).map(|end| end - 1);
        match part {
            None => ends.collect(),
            Some(part) => {
                let steps = self.steps_of(part);
                ends.filter(|end| steps.contains(end)).collect()
            }
        }
    }
}
