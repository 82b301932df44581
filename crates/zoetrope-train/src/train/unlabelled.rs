//! How many events and vertices have no label, or no weight to predict: a run says so, because it neither
//! learns from them nor is judged by them.

use zoetrope_config::{Config, TaskName};
use zoetrope_data::Dataset;
use zoetrope_graph::Column;

/// Counted when the data was read, before a run's classes make further labels unknown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unlabelled {
    /// Events without a label, and all.
    labels: (usize, usize),
    /// Events without a weight.
    weights: (usize, usize),
    /// Vertices without a class.
    vertices: (usize, usize),
}

impl Unlabelled {
    /// Counts; columns that are not there miss nothing.
    pub(super) fn count(dataset: &Dataset) -> Self {
        let Dataset::Events(store) = dataset else { return Self::default() };
        let count = |values: Option<&Column<f32>>| {
            let Some(values) = values else { return (0, 0) };
            let mut missing = 0;
            values.scan(|some| missing += some.iter().filter(|value| value.is_nan()).count());
            (missing, values.len())
        };
        Self {
            labels: count(store.columns().label.as_ref()),
            weights: count(store.columns().weight.as_ref()),
            vertices: count(store.vertex_labels.as_ref()),
        }
    }

    /// What a user should know, if the task asks for what is missing.
    pub(super) fn note(self, config: &Config) -> Option<String> {
        let of_events = config.model.name.is_stream();
        let task = match config.task.name {
            // What snapshot models do if vertices have classes and nobody named a task.
            None if !of_events && self.vertices.1 > 0 => TaskName::NodeClassification,
            given => given?,
        };
        let ((missing, all), things, what) = match task {
            TaskName::EdgeClassification => (self.labels, "events", "label"),
            TaskName::NodeClassification if of_events => (self.labels, "events", "label"),
            TaskName::NodeClassification => (self.vertices, "vertices", "class"),
            TaskName::EdgeRegression => (self.weights, "events", "weight"),
            TaskName::LinkPrediction | TaskName::NodeRegression => return None,
        };
        (missing > 0).then(|| {
            format!(
                "{missing} of {all} {things} have no {what}: they are neither learned from nor judged"
            )
        })
    }
}
