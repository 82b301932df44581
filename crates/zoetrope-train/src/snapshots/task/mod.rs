//! Tasks: what is asked of embeddings, what a wrong answer costs, how answers are judged.
//!
//! A task sees the embeddings of a snapshot and the questions of that snapshot, never a later one
//! than the question is about.

mod baselines;
mod edge_classification;
mod edge_pairs;
mod link_prediction;
mod node_classification;
mod node_regression;
mod pair_head;
mod pairs_ahead;
mod questions_ahead;
mod results;
mod scores;
mod staging;
mod vertex_answers;

use std::collections::BTreeMap;
use std::ops::Range;

use zoetrope_config::{Config, TaskName};
use zoetrope_nn::Forward;
use zoetrope_run::Metrics;
use zoetrope_tensor::Var;

use crate::error::TrainError;
use crate::snapshots::engine::Network;
use crate::snapshots::material::{Goal, SnapshotInput};
use crate::snapshots::sampling::Pairs;

pub use baselines::{baselines, link_baselines};
pub use edge_classification::EdgeClassification;
pub use link_prediction::LinkPrediction;
pub use node_classification::NodeClassification;
pub use node_regression::NodeRegression;
pub(crate) use questions_ahead::kept_bytes;
pub use scores::Scores;
pub use staging::DeviceStaging;

/// The rows of an embedding that a loss looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions {
    /// The snapshots, in the whole sequence.
    pub steps: Range<usize>,
    /// The epoch, for draws.
    pub epoch: u32,
}

/// What is asked, and how answers are judged.
pub trait Task: Send {
    /// The loss of the embeddings (`steps·N × width`) of some consecutive snapshots, as a mean, and
    /// how many answers it is the mean of; None if there is nothing to learn from.
    ///
    /// # Errors
    /// If shapes do not fit.
    fn loss(
        &mut self,
        forward: &mut Forward<'_>,
        network: &Network,
        questions: &Questions,
        embeddings: Var,
    ) -> Result<Option<(Var, f64)>, TrainError>;

    /// Whether it draws at random what it asks.
    fn draws(&self) -> bool {
        false
    }

    /// How many answers the loss of these questions would be the mean of.
    fn answers(&mut self, questions: &Questions) -> f64;

    /// Bytes that it keeps for the questions of a step, besides what is on the tape.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Who puts what is asked on a GPU; None if the same is asked in every epoch.
    fn staging(&mut self) -> Option<&mut dyn DeviceStaging> {
        None
    }

    /// Forgets answers judged so far. If what follows is not `ranked`, edges are not ranked among many
    /// pairs, which takes many times as long as everything else. `asked` are the snapshots that this rank will
    /// judge, in order, so that a task can prepare itself for some of them at once.
    fn begin(&mut self, ranked: bool, asked: &[usize]);

    /// Judges the simple rules of the task beside the model until the rules are taken, beginning with the snapshots that
    /// are judged next, `asked` in all: what is drawn for both is drawn once.
    fn begin_rules(&mut self, _asked: usize) {}

    /// What these rules reached; None if the task has none that share anything with the model.
    fn take_rules(&mut self) -> Option<BTreeMap<String, Metrics>> {
        None
    }

    /// Scores the answers of one snapshot, whose embeddings (`N × width`) are on the tape: where they were
    /// computed, and on every rank beside the others. What a rank finds goes to the one that counts.
    ///
    /// # Errors
    /// If shapes do not fit.
    fn judge(
        &mut self,
        judge: &mut Judge<'_>,
        step: usize,
        embeddings: Var,
        scores: &mut Scores,
    ) -> Result<(), TrainError>;

    /// Counts the scores of one snapshot, in the order of snapshots.
    fn count(&mut self, step: usize, scores: &Scores);

    /// The metrics of the answers judged since the last beginning.
    fn metrics(&mut self) -> Metrics;

    /// How answers are judged, for the summary.
    fn protocol(&self) -> serde_json::Value;

    /// Replaces `pairs` by those that the answers at this snapshot are judged by, labelled with what is
    /// right, and by those that would be judged if it were known, labelled NaN; none if a task is not
    /// about pairs.
    fn own_pairs(&mut self, _step: usize, pairs: &mut Pairs) {
        pairs.clear();
    }

    /// The numbers that a prediction file has for each vertex, which are those of its [`Scores`]; None if the
    /// task has no answer for a vertex.
    fn answers_per_vertex(&self) -> Option<usize>;
}

/// What judging needs besides the embeddings.
#[derive(Debug)]
pub struct Judge<'a> {
    /// The network with its parameters.
    pub network: &'a Network,
    /// The tape that holds the embeddings; what is recorded is forgotten afterwards.
    pub forward: Forward<'a>,
}

/// The task that the data has targets for, and why.
pub(crate) fn natural(material: &SnapshotInput) -> (TaskName, &'static str) {
    match &material.goal {
        Some(Goal::Numbers { .. }) => {
            (TaskName::NodeRegression, "the data has a number to predict for each vertex")
        }
        Some(Goal::Classes { .. }) => {
            (TaskName::NodeClassification, "the data has a class for each vertex")
        }
        None => (TaskName::LinkPrediction, "the data has no targets but its edges"),
    }
}

/// The task that the configuration names, or the one that the data has targets for.
///
/// # Errors
/// If the data has no targets for the task.
pub fn choose(config: &Config, material: &SnapshotInput) -> Result<TaskName, TrainError> {
    let (natural, _) = natural(material);
    let chosen = config.task.name.unwrap_or(natural);
    let fits = match chosen {
        TaskName::NodeRegression => matches!(material.goal, Some(Goal::Numbers { .. })),
        TaskName::NodeClassification => material.goal.is_some(),
        TaskName::LinkPrediction | TaskName::EdgeClassification => true,
        // The weights of events; the configuration refuses it for snapshot models.
        TaskName::EdgeRegression => false,
    };
    if fits {
        Ok(chosen)
    } else {
        Err(TrainError::Unfit {
            what: format!("{} has no targets for {}", material.name, chosen.name()),
            advice: format!("leave task.name out to train {}", natural.name()),
        })
    }
}

/// The numbers that the head of a network gives for a task.
///
/// # Errors
/// If the data does not tell the classes.
pub fn outputs(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
) -> Result<usize, TrainError> {
    match task {
        TaskName::NodeRegression | TaskName::LinkPrediction | TaskName::EdgeRegression => Ok(1),
        TaskName::NodeClassification => node_classification::classes(config, material),
        TaskName::EdgeClassification => edge_classification::classes(config, material),
    }
}

/// The number of classes that was asked for, if the data has no more.
fn must_suffice(classes: usize, found: usize) -> Result<usize, TrainError> {
    if classes >= found {
        Ok(classes)
    } else {
        Err(TrainError::Unfit {
            what: format!("task.classes = {classes}, but the data has {found}"),
            advice: "leave task.classes out".to_owned(),
        })
    }
}

/// Makes the task of a run.
///
/// # Errors
/// If the data does not fit it.
pub fn make(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
) -> Result<Box<dyn Task>, TrainError> {
    Ok(match task {
        TaskName::NodeRegression => Box::new(NodeRegression::new(material)?),
        TaskName::NodeClassification => Box::new(NodeClassification::new(config, material)?),
        TaskName::LinkPrediction => Box::new(LinkPrediction::new(config, material)),
        TaskName::EdgeClassification => Box::new(EdgeClassification::new(config, material)?),
        TaskName::EdgeRegression => {
            return Err(TrainError::Unfit {
                what: format!("{} is no task of snapshots", task.name()),
                advice: "use tgn, jodie, apan or tgat on events".into(),
            });
        }
    })
}
