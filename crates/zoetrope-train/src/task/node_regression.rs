//! A number for each vertex and snapshot.

use std::sync::Arc;

use serde_json::json;
use zoetrope_nn::Forward;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::metrics::Regression;
use zoetrope_tensor::{Loss, Matrix, Var};

use super::results::put;
use super::{Judge, Questions, Task};
use crate::engine::{Head, Network, evaluating};
use crate::error::TrainError;
use crate::material::{Goal, Material};
use crate::run::Metrics;

/// Mean squared error of a number for each vertex.
#[derive(Debug)]
pub struct NodeRegression {
    values: Arc<Matrix>,
    present: Option<Arc<Matrix>>,
    vertices: usize,
    errors: Regression,
    truth: Vec<f32>,
    updates: Updates,
}

impl NodeRegression {
    /// The task of a data set.
    ///
    /// # Errors
    /// Where the data has no numbers to predict.
    pub fn new(material: &Material) -> Result<Self, TrainError> {
        let Some(Goal::Numbers { values, present }) = &material.goal else {
            return Err(TrainError::Unfit {
                what: format!("{} has no numbers to predict", material.name),
                advice: "choose another task.name".to_owned(),
            });
        };
        Ok(Self {
            values: Arc::clone(values),
            present: present.clone(),
            vertices: material.vertices(),
            errors: Regression::default(),
            truth: Vec::new(),
            updates: Updates::default(),
        })
    }
}

impl Task for NodeRegression {
    fn loss(
        &mut self,
        forward: &mut Forward<'_>,
        network: &Network,
        questions: &Questions,
        embeddings: Var,
    ) -> Result<Option<(Var, f64)>, TrainError> {
        let Head::Vertex(head) = &network.head else { unreachable!("a vertex task has its head") };
        let prediction = head.decode(forward, embeddings)?;
        let rows = questions.steps.start * self.vertices..questions.steps.end * self.vertices;
        let target = forward.tape.constant(&self.values, rows.clone())?;
        let (weight, count) = match &self.present {
            Some(present) => {
                let count: f32 = present.as_slice()[rows.clone()].iter().sum();
                (Some(forward.tape.constant(present, rows)?), f64::from(count))
            }
            None => (None, rows.len() as f64),
        };
        if count == 0.0 {
            return Ok(None);
        }
        Ok(Some((forward.tape.loss(Loss::Mse, prediction, target, weight)?, count)))
    }

    fn begin(&mut self) {
        self.errors.clear();
    }

    fn judge(
        &mut self,
        judge: &mut Judge<'_>,
        step: usize,
        embeddings: &Arc<Matrix>,
    ) -> Result<(), TrainError> {
        let Head::Vertex(head) = &judge.network.head else {
            unreachable!("a vertex task has its head")
        };
        let mut forward = evaluating(judge.tape, &judge.network.parameters, &mut self.updates);
        let rows = forward.tape.constant(embeddings, 0..self.vertices)?;
        let prediction = head.decode(&mut forward, rows)?;
        let predicted = judge.tape.value(prediction);
        let at = step * self.vertices..(step + 1) * self.vertices;
        self.truth.clear();
        self.truth.extend_from_slice(&self.values.as_slice()[at.clone()]);
        if let Some(present) = &self.present {
            for (truth, here) in self.truth.iter_mut().zip(&present.as_slice()[at]) {
                if *here == 0.0 {
                    *truth = f32::NAN;
                }
            }
        }
        self.errors.add(predicted, &self.truth);
        if let Some(answers) = judge.answers.as_deref_mut() {
            answers.extend_from_slice(predicted);
        }
        Ok(())
    }

    fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        put(&mut metrics, self.errors.report());
        metrics
    }

    fn protocol(&self) -> serde_json::Value {
        json!({
            "scale": "as given by the data (standardised where its loader standardises)",
            "missing": "targets that are missing count nowhere",
            "mape": "true values of magnitude 1e-5 or less are left out",
        })
    }

    fn answers_per_vertex(&self) -> Option<usize> {
        Some(1)
    }
}
