//! What is predicted at each event, and where the right answers stand.

use zoetrope_config::{Config, TaskName};
use zoetrope_graph::EventStore;

use super::material::EventInput;
use crate::error::TrainError;
use crate::scaling::TargetScale;

/// What is predicted at each event.
#[derive(Debug)]
pub(super) enum Target {
    /// Whether it happens.
    Links,
    /// A class of its source (`edges` false) or of the pair: two classes as one number, more as one
    /// number each.
    Classes {
        /// By event; NaN if it is not known.
        labels: Vec<f32>,
        /// How many classes there are.
        classes: usize,
        /// Whether the pair is classified rather than the source.
        edges: bool,
    },
    /// A number of the pair.
    Values {
        /// By event, in the data's own units.
        values: Vec<f32>,
        /// The scale on which the head answers.
        scale: TargetScale,
    },
}

impl Target {
    /// The target of a task.
    ///
    /// # Errors
    /// If the events do not have what the task predicts.
    pub(super) fn new(
        config: &Config,
        task: TaskName,
        material: &EventInput,
    ) -> Result<Self, TrainError> {
        let store = &material.store;
        match task {
            TaskName::LinkPrediction => Ok(Self::Links),
            TaskName::NodeClassification => {
                let labels = store.label().ok_or_else(|| lacks("a label", task, store))?.to_vec();
                Self::classified(config, labels, false)
            }
            TaskName::EdgeClassification => {
                let signs =
                    || store.weight().map(|weights| weights.iter().map(|&w| sign(w)).collect());
                let labels: Option<Vec<f32>> = store.label().map(<[f32]>::to_vec).or_else(signs);
                Self::classified(
                    config,
                    labels.ok_or_else(|| lacks("a label or a weight", task, store))?,
                    true,
                )
            }
            TaskName::EdgeRegression => {
                let values = store.weight().ok_or_else(|| lacks("a weight", task, store))?.to_vec();
                let scale = material.scaled.fitted.event_target.unwrap_or_default();
                Ok(Self::Values { values, scale })
            }
            TaskName::NodeRegression => Err(TrainError::Unfit {
                what: "node-regression predicts numbers of vertices at snapshots".to_owned(),
                advice: "use edge-regression for events, or a model for snapshots".to_owned(),
            }),
        }
    }

    fn classified(config: &Config, labels: Vec<f32>, edges: bool) -> Result<Self, TrainError> {
        let odd = labels
            .iter()
            .position(|&label| label.is_finite() && (label < 0.0 || label.fract() != 0.0));
        if let Some(event) = odd {
            return Err(TrainError::Unfit {
                what: format!("the label of event {event} is {}, which is no class", labels[event]),
                advice: "classes are whole numbers from 0 on".to_owned(),
            });
        }
        let most = labels.iter().filter(|label| label.is_finite()).fold(0.0f32, |a, &b| a.max(b));
        let found = most as usize + 1;
        let classes = config.task.classes.unwrap_or(found.max(2));
        if classes >= found {
            Ok(Self::Classes { labels, classes, edges })
        } else {
            Err(TrainError::Unfit {
                what: format!("task.classes = {classes}, but a label is {most}"),
                advice: format!("leave task.classes out, or set it to {found} or more"),
            })
        }
    }

    /// Whether it is known what is right at an event.
    pub(super) fn knows(&self, event: usize) -> bool {
        match self {
            Self::Links => true,
            Self::Classes { labels, .. } => !labels[event].is_nan(),
            Self::Values { values, .. } => !values[event].is_nan(),
        }
    }

    /// The number of classes; 2 for links, which happen or not.
    pub(super) fn classes(&self) -> usize {
        match self {
            Self::Classes { classes, .. } => *classes,
            Self::Links | Self::Values { .. } => 2,
        }
    }

    /// The numbers that the head gives for each answer.
    pub(super) fn outputs(&self) -> usize {
        match self {
            Self::Classes { classes, .. } if *classes > 2 => *classes,
            _ => 1,
        }
    }
}

fn sign(weight: f32) -> f32 {
    match weight {
        weight if weight.is_nan() => f32::NAN,
        weight => f32::from(u8::from(weight > 0.0)),
    }
}

fn lacks(what: &str, task: TaskName, store: &EventStore) -> TrainError {
    let columns = store.columns();
    let has: Vec<&str> =
        [("labels", columns.label.is_some()), ("weights", columns.weight.is_some())]
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name))
            .collect();
    TrainError::Unfit {
        what: format!("{} needs {what} for each event, which this data does not have", task.name()),
        advice: match has.as_slice() {
            [] => "use link-prediction".to_owned(),
            has => format!("it has {}: see --task", has.join(" and ")),
        },
    }
}
