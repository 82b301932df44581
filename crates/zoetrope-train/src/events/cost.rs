//! How much a wrong answer about each class costs.

use zoetrope_config::{ClassWeights, Config};
use zoetrope_data::split::Part;

use super::material::EventInput;
use super::target::Target;
use crate::class_weights;
use crate::error::TrainError;

/// The weights of classes in the loss, if they differ.
#[derive(Debug, Default)]
pub(super) struct Cost {
    rule: ClassWeights,
    weights: Option<Vec<f32>>,
}

impl Cost {
    /// What the configuration says, counted on the training events.
    ///
    /// # Errors
    /// If there is not one weight for each class.
    pub(super) fn new(
        config: &Config,
        target: &Target,
        material: &EventInput,
    ) -> Result<Self, TrainError> {
        let rule = config.task.class_weights.clone();
        let Target::Classes { labels, classes, .. } = target else { return Ok(Self::default()) };
        let events = (0..material.training_events()).map(|at| material.event(Part::Train, at));
        let counts = class_weights::count(*classes, events.map(|event| labels[event]));
        let weights = class_weights::in_force(&rule, &counts)?;
        Ok(Self { rule, weights })
    }

    /// The weight of a positive in the loss relative to a negative, for two classes.
    pub(super) fn positive_weight(&self) -> f32 {
        self.weights.as_ref().map_or(1.0, |weights| weights[1] / weights[0])
    }

    /// The weight of each example, if they differ.
    pub(super) fn of(&self, labels: &[f32]) -> Option<Vec<f32>> {
        let weights = self.weights.as_ref()?;
        Some(labels.iter().map(|&label| weights[label as usize]).collect())
    }

    /// For the summary.
    pub(super) fn declare(&self) -> serde_json::Value {
        class_weights::declare(&self.rule, self.weights.as_deref())
    }
}
