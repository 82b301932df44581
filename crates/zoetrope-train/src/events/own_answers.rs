//! The answers about a part's own events, kept while the part is judged: what a prediction file has
//! if nobody names pairs.

use std::ops::Range;

use zoetrope_data::negatives::MISSING;
use zoetrope_data::split::Part;
use zoetrope_graph::{Time, VertexId};
use zoetrope_run::Metrics;

use super::material::EventInput;
use super::prepare::Prepared;
use super::session::EventSession;
use super::target::Target;
use crate::answers::{Meaning, texts};
use crate::error::TrainError;
use crate::training_run::Evaluation;

/// Answers about events, in their order; for links each event is followed by its negatives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnAnswers {
    /// The source of each pair.
    pub src: Vec<VertexId>,
    /// The destination of each pair.
    pub dst: Vec<VertexId>,
    /// When it was asked about.
    pub time: Vec<Time>,
    /// What is right: 1 or 0 for links, a class, or a number; NaN if nobody knows.
    pub truth: Vec<f32>,
    /// The raw answers, one or several numbers for each.
    pub values: Vec<f32>,
}

impl OwnAnswers {
    /// Keeps the answers about some events of a batch.
    pub(super) fn add(
        &mut self,
        material: &EventInput,
        target: &Target,
        events: Range<usize>,
        prepared: &Prepared,
        answers: &[f32],
    ) {
        let outputs = target.outputs();
        let few = prepared.negatives / prepared.positives.max(1);
        for (place, event) in events.enumerate() {
            let store = &material.store;
            let (src, dst, time) = (store.src()[event], store.dst()[event], store.time()[event]);
            let own = &answers[place * outputs..(place + 1) * outputs];
            self.push([src, dst], time, prepared.labels[place], own);
            for negative in place * few..(place + 1) * few {
                if prepared.few_dst[negative] != MISSING {
                    let answer = &answers[prepared.positives + negative..][..1];
                    self.push([src, prepared.few_dst[negative]], time, 0.0, answer);
                }
            }
        }
    }

    fn push(&mut self, [src, dst]: [VertexId; 2], time: Time, truth: f32, values: &[f32]) {
        self.src.push(src);
        self.dst.push(dst);
        self.time.push(time);
        self.truth.push(truth);
        self.values.extend_from_slice(values);
    }
}

impl EventSession {
    /// The answers about a part's own events, as evaluation asks them, and the metrics that follow.
    /// Events are asked about whether or not it is known what is right.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn predict_part(&mut self, part: Part) -> Result<(OwnAnswers, Metrics), TrainError> {
        self.own_answers = Some(OwnAnswers::default());
        let metrics = self.evaluate(part);
        let answers = self.own_answers.take().unwrap_or_default();
        Ok((answers, metrics?))
    }

    /// What the numbers of its answers mean.
    pub fn meaning(&self) -> Meaning {
        match &*self.target {
            Target::Links => Meaning::Link,
            Target::Values { .. } => Meaning::Value,
            Target::Classes { classes, .. } => {
                Meaning::classes(*classes, &texts(&self.material.store.label_names))
            }
        }
    }

    /// The numbers that the head gives for each answer.
    pub fn outputs(&self) -> usize {
        self.target.outputs()
    }

    /// Whether an answer is about the source alone.
    pub fn answers_sources(&self) -> bool {
        matches!(*self.target, Target::Classes { edges: false, .. })
    }
}
