//! A number for each vertex and snapshot.

use std::sync::Arc;

use serde_json::json;
use zoetrope_data::scaling::OwnUnits;
use zoetrope_nn::Forward;
use zoetrope_nn::metrics::Regression;
use zoetrope_run::Metrics;
use zoetrope_tensor::{Loss, Matrix, Var};

use super::results::{put, put_own};
use super::vertex_answers::{VertexAnswers, head};
use super::{Judge, Questions, Scores, Task};
use crate::error::TrainError;
use crate::snapshots::engine::Network;
use crate::snapshots::material::{Goal, SnapshotInput};

/// Mean squared error of a number for each vertex.
#[derive(Debug)]
pub struct NodeRegression {
    values: Arc<Matrix>,
    answers: VertexAnswers,
    errors: Regression,
    /// How values become those in the data's own units, if they are not that already.
    own_units: Option<OwnUnits>,
    own_errors: Regression,
    /// Predictions and true values of a snapshot in the data's own units.
    own: [Vec<f32>; 2],
}

impl NodeRegression {
    /// The task of a data set.
    ///
    /// # Errors
    /// If the data has no numbers to predict.
    pub fn new(material: &SnapshotInput) -> Result<Self, TrainError> {
        let Some(Goal::Numbers { values, present }) = &material.goal else {
            return Err(TrainError::Unfit {
                what: format!("{} has no numbers to predict", material.name),
                advice: "choose another task.name".to_owned(),
            });
        };
        Ok(Self {
            values: Arc::clone(values),
            answers: VertexAnswers::new(material.vertices(), present.clone()),
            errors: Regression::default(),
            own_units: material.scaled.own_units.clone(),
            own_errors: Regression::default(),
            own: [Vec::new(), Vec::new()],
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
        let prediction = head(network).decode(forward, embeddings)?;
        let rows = self.answers.rows(&questions.steps);
        let target = forward.tape.constant(&self.values, rows.clone())?;
        let (weight, count) = self.answers.weights(forward, rows)?;
        if count == 0.0 {
            return Ok(None);
        }
        Ok(Some((forward.tape.loss(Loss::Mse, prediction, target, weight)?, count)))
    }

    fn answers(&mut self, questions: &Questions) -> f64 {
        self.answers.count(self.answers.rows(&questions.steps))
    }

    fn begin(&mut self, _ranked: bool, _asked: &[usize]) {
        self.errors.clear();
        self.own_errors.clear();
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
        let predicted = &scores.numbers[..];
        let values = self.values.as_slice();
        let truth = self.answers.truth(step, |row| values[row]);
        self.errors.add(predicted, truth);
        if let Some(units) = &self.own_units {
            for (own, scaled) in self.own.iter_mut().zip([predicted, truth]) {
                own.clear();
                own.extend_from_slice(scaled);
                units.undo(own);
            }
            self.own_errors.add(&self.own[0], &self.own[1]);
        }
    }

    fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        put(&mut metrics, self.errors.report());
        if self.own_units.is_some() {
            put_own(&mut metrics, self.own_errors.report());
        }
        metrics
    }

    fn protocol(&self) -> serde_json::Value {
        json!({
            "scale": match self.own_units {
                Some(_) => "mae, mse, rmse and mape of scaled values; own_mae, own_mse, own_rmse and \
                            own_mape in the data's own units",
                None => "in the data's own units",
            },
            "missing": "targets that are missing count nowhere",
            "mape": "true values of magnitude 1e-5 or less are left out",
        })
    }

    fn answers_per_vertex(&self) -> Option<usize> {
        Some(1)
    }
}
