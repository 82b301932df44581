//! How many answers a task asks for, and with how many a miniature is run.

use zoetrope_config::{ClassWeights, Config, TaskName};

use super::miniature::SmallSize;

/// The most values that the answers of a miniature have, as far as a configuration decides how many there are:
/// 4 MiB in each matrix over them.
const MOST_ANSWER_VALUES: usize = 1 << 20;

/// The fewest answers that one is run with, if it is not run with all: two classes.
pub(super) const LEAST_ANSWERS: usize = 2;

/// The answers to each question of a task, as many as a configuration asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Edges that did not happen, for each that did.
    Negatives(usize),
    /// Numbers that the head gives for each row.
    Outputs(usize),
}

impl Answers {
    pub(super) fn of(config: &Config, task: TaskName, outputs: usize) -> Self {
        match task {
            TaskName::LinkPrediction => Self::Negatives(config.task.negatives),
            _ => Self::Outputs(outputs),
        }
    }

    pub(super) fn count(self) -> usize {
        match self {
            Self::Negatives(count) | Self::Outputs(count) => count,
        }
    }

    /// A configuration that asks for so many of them, and the outputs of its head.
    pub(super) fn only(self, count: usize, config: &Config, outputs: usize) -> (Config, usize) {
        let (mut config, mut given) = (config.clone(), outputs);
        match self {
            Self::Negatives(_) => config.task.negatives = count,
            Self::Outputs(_) => {
                given = count;
                config.task.classes = config.task.classes.map(|_| count);
                if config.task.class_weights != ClassWeights::Equal {
                    // Takes what a list of weights takes, however many classes there are.
                    config.task.class_weights = ClassWeights::Balanced;
                }
            }
        }
        (config, given)
    }

    /// The most answers that a miniature is run with.
    pub(super) fn most(
        self,
        config: &Config,
        task: TaskName,
        size: &SmallSize,
        steps: usize,
    ) -> usize {
        let (vertices, edges) = (2 * size.vertices, 3 * size.edges);
        let questions = match task {
            TaskName::LinkPrediction => (config.task.theta * edges as f64).ceil() as usize,
            TaskName::EdgeClassification | TaskName::EdgeRegression => edges,
            TaskName::NodeRegression | TaskName::NodeClassification => vertices,
        };
        // A pair has the embeddings of its two ends.
        let values = match self {
            Self::Negatives(_) => 2 * size.width,
            Self::Outputs(_) => 1,
        };
        let of_one = (steps * questions).saturating_mul(values).max(1);
        (MOST_ANSWER_VALUES / of_one).max(2 * LEAST_ANSWERS)
    }
}

/// Whether a run asks for more answers than a miniature is run with.
pub(super) fn asks_more_than_is_run(
    config: &Config,
    task: TaskName,
    outputs: usize,
    size: &SmallSize,
    steps: usize,
) -> bool {
    let answers = Answers::of(config, task, outputs);
    answers.count() > answers.most(config, task, size, steps)
}
