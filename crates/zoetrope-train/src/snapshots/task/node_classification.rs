//! A class for each vertex and snapshot.

use std::ops::Range;
use std::sync::Arc;

use serde_json::json;
use zoetrope_config::Config;
use zoetrope_data::split::Part;
use zoetrope_nn::Forward;
use zoetrope_nn::metrics::ClassScores;
use zoetrope_run::Metrics;
use zoetrope_tensor::{Matrix, Var};

use super::results::put;
use super::vertex_answers::{VertexAnswers, head};
use super::{Judge, Questions, Scores, Task, must_suffice};
use crate::class_weights;
use crate::error::TrainError;
use crate::snapshots::engine::Network;
use crate::snapshots::material::{Goal, SnapshotInput};

/// Cross-entropy of a class for each vertex.
#[derive(Debug)]
pub struct NodeClassification {
    labels: Arc<Vec<u32>>,
    answers: VertexAnswers,
    right: ClassScores,
    classes: usize,
    declared: serde_json::Value,
}

/// The number of classes.
pub(super) fn classes(config: &Config, material: &SnapshotInput) -> Result<usize, TrainError> {
    let found = match &material.goal {
        Some(Goal::Classes { classes, .. }) => *classes,
        Some(Goal::Numbers { values, present }) => {
            whole_classes(material, values, present.as_deref())?
        }
        None => {
            return Err(TrainError::Unfit {
                what: format!("{} has no classes of vertices", material.name),
                advice: "choose another task.name".to_owned(),
            });
        }
    };
    let classes = config.task.classes.unwrap_or(found.max(2));
    must_suffice(classes, found)
}

/// Numbers that are all whole and small can be classes; anything else is refused.
fn whole_classes(
    material: &SnapshotInput,
    values: &Matrix,
    present: Option<&Matrix>,
) -> Result<usize, TrainError> {
    let here = |row: usize| present.is_none_or(|present| present.as_slice()[row] != 0.0);
    let whole = |value: f32| (0.0..65_536.0).contains(&value) && value.fract() == 0.0;
    let wrong = (0..values.shape().rows).find(|&row| here(row) && !whole(values.as_slice()[row]));
    match wrong {
        Some(row) => Err(TrainError::Unfit {
            what: format!(
                "the target {} of vertex {} at step {} is no class",
                values.as_slice()[row],
                material.names.name((row % material.vertices()) as u32),
                row / material.vertices(),
            ),
            advice: "classes are whole numbers from 0; use node-regression for other targets"
                .to_owned(),
        }),
        None => Ok(values.as_slice().iter().fold(0.0f32, |most, &v| most.max(v)) as usize + 1),
    }
}

impl NodeClassification {
    /// The task of a data set.
    ///
    /// # Errors
    /// If the data has no classes.
    pub fn new(config: &Config, material: &SnapshotInput) -> Result<Self, TrainError> {
        let classes = classes(config, material)?;
        let (labels, present) = match &material.goal {
            Some(Goal::Classes { labels, present, .. }) => (Arc::clone(labels), present.clone()),
            Some(Goal::Numbers { values, present }) => {
                let labels = values.as_slice().iter().map(|&value| value as u32);
                (Arc::new(labels.collect()), present.clone())
            }
            None => unreachable!("counting the classes found them"),
        };
        let wanted = &config.task.class_weights;
        let rows = |steps: Range<usize>| {
            steps.start * material.vertices()..steps.end * material.vertices()
        };
        let here = |row: usize| {
            present.as_ref().is_none_or(|present: &Arc<Matrix>| present.as_slice()[row] != 0.0)
        };
        // The miniature graphs that tell what a step costs have fewer rows than their split says.
        let training = rows(material.split.part(Part::Train));
        let training = training.filter(|&row| row < labels.len() && here(row));
        let counts = class_weights::count(classes, training.map(|row| labels[row] as f32));
        let weights = class_weights::in_force(wanted, &counts)?;
        let present = match &weights {
            None => present,
            // Who has no answer has no weight; who has one weighs as much as its class.
            Some(weights) => {
                let mut column = Matrix::zeros(labels.len(), 1);
                for (row, weight) in column.as_mut_slice().iter_mut().enumerate() {
                    *weight = if here(row) { weights[labels[row] as usize] } else { 0.0 };
                }
                Some(Arc::new(column))
            }
        };
        Ok(Self {
            labels,
            answers: VertexAnswers::new(material.vertices(), present),
            right: ClassScores::new(classes as u32),
            classes,
            declared: class_weights::declare(wanted, weights.as_deref()),
        })
    }
}

impl Task for NodeClassification {
    fn loss(
        &mut self,
        forward: &mut Forward<'_>,
        network: &Network,
        questions: &Questions,
        embeddings: Var,
    ) -> Result<Option<(Var, f64)>, TrainError> {
        let logits = head(network).decode(forward, embeddings)?;
        let rows = self.answers.rows(&questions.steps);
        let (weight, count) = self.answers.weights(forward, rows.clone())?;
        if count == 0.0 {
            return Ok(None);
        }
        let loss = forward.tape.cross_entropy(logits, &self.labels, rows.start, weight)?;
        Ok(Some((loss, count)))
    }

    fn answers(&mut self, questions: &Questions) -> f64 {
        self.answers.count(self.answers.rows(&questions.steps))
    }

    fn begin(&mut self, _ranked: bool, _asked: &[usize]) {
        self.right.clear();
    }

    fn judge(
        &mut self,
        judge: &mut Judge<'_>,
        _step: usize,
        embeddings: Var,
        scores: &mut Scores,
    ) -> Result<(), TrainError> {
        VertexAnswers::ask(judge, embeddings, scores)
    }

    fn count(&mut self, step: usize, scores: &Scores) {
        let labels = &self.labels;
        self.right.add_rows(&scores.numbers, self.answers.truth(step, |row| labels[row] as f32));
    }

    fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        put(&mut metrics, self.right.report());
        metrics
    }

    fn protocol(&self) -> serde_json::Value {
        json!({
            "classes": self.classes,
            "class_weights": self.declared,
            "prediction": "the class with the largest logit, the lowest-numbered of equals",
            "missing": "vertices without a class count nowhere",
        })
    }

    fn answers_per_vertex(&self) -> Option<usize> {
        Some(self.classes)
    }
}
