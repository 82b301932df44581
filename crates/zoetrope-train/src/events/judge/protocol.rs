//! How a stream is judged, in words and numbers, for the summary.
//!
//! Two figures compare only if all of this is equal, so nothing of it is left to be guessed: what
//! each part of the data holds, which negatives there were and where they came from, what a question could see,
//! how equal scores rank and over what means are taken.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zoetrope_config::{Config, EqualTimesRule, NeighbourRule, TaskName};
use zoetrope_data::negatives::{ListMetadata, Strategy};
use zoetrope_data::split::Split;
use zoetrope_run::digest;

use crate::error::TrainError;

/// A file of negatives that a run was judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedNegatives {
    /// The file as given.
    pub path: PathBuf,
    /// SHA-256 of its bytes, as 64 hexadecimal digits.
    pub sha256: String,
    /// How it was made.
    pub metadata: ListMetadata,
}

impl FixedNegatives {
    /// Takes the digest of the file.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the file cannot be read.
    pub fn new(path: &Path, metadata: &ListMetadata) -> Result<Self, TrainError> {
        let sha256 = digest::of_file(path)?;
        Ok(Self { path: path.into(), sha256, metadata: metadata.clone() })
    }
}

/// What a run knows of its own protocol.
#[derive(Debug, Clone)]
pub struct StreamProtocol<'a> {
    /// The configuration in force.
    pub config: &'a Config,
    /// The task.
    pub task: TaskName,
    /// Which events train, validate and test.
    pub split: &'a Split,
    /// Training events that are left after those of held-out vertices were removed.
    pub training_events: usize,
    /// Vertices that were chosen to be held out.
    pub held_out: usize,
    /// Vertices that no training event touches.
    pub unseen: usize,
    /// Events in a batch of evaluation.
    pub batch_size: usize,
    /// The file of negatives, if one was given.
    pub fixed: Option<&'a FixedNegatives>,
    /// The names of the features of a judged event that are part of the question.
    pub own_features: &'a [String],
    /// The weights of classes in the loss; null if all count the same.
    pub class_weights: Value,
}

impl StreamProtocol<'_> {
    /// The declaration for `summary.json`.
    pub fn declare(&self) -> Value {
        let mut declared = json!({
            "split": self.split(),
            "memory": self.memory(),
            "neighbours": self.neighbours(),
            "passes": "each event of a part once, in time order; positives and negatives of a batch \
                       in one pass, from the same state",
            "task": self.task(),
            "baselines": {
                "told": match self.config.task.equal_times {
                    EqualTimesRule::Future | EqualTimesRule::Batch => "events strictly before the time of the question, those \
                                               of its batch among them",
                    EqualTimesRule::Past => "events before the question in the stream, those of its \
                                             batch among them",
                },
                "window": "as long as the judged part lasts",
            },
        });
        if self.config.train.chunks.is_some() {
            declared["chunks_per_batch"] = json!(self.config.train.chunks);
        }
        declared
    }

    fn split(&self) -> Value {
        let range = |range: &Range<usize>| json!([range.start, range.end]);
        json!({
            "rule": self.config.data.split.to_string(),
            "train": range(&self.split.train),
            "val": range(&self.split.validation),
            "test": range(&self.split.test),
            "unit": "events, in time order; events of one time are never separated",
            "training_events": self.training_events,
            "held_out_share": self.config.data.inductive,
            "held_out_vertices": self.held_out,
            "vertices_unseen_in_training": self.unseen,
        })
    }

    fn memory(&self) -> Value {
        if !self.config.model.name.has_memory() {
            return Value::Null;
        }
        let mut memory = json!({
            "staleness": "batch-stale: every question of a batch sees the memory before the batch, \
                          with the mails that wait applied",
            "equal_times": self.config.task.equal_times.name(),
            "knows": match self.config.task.equal_times {
                EqualTimesRule::Future => "events strictly before the time of the question: a batch \
                                           ends before an event of a later time",
                EqualTimesRule::Batch => "events of earlier batches, those at the time of the question \
                                          among them (the convention of PyG, TGB and TGL)",
                EqualTimesRule::Past => "events of earlier batches, those at the time of the question \
                                         among them",
            },
            "batch_size": self.batch_size,
            "batches": match self.config.task.equal_times {
                EqualTimesRule::Future => "of batch_size events, then on to the end of their last time; \
                                           one of twice batch_size or more is asked in steps of less, all \
                                           from the memory before the batch",
                EqualTimesRule::Batch | EqualTimesRule::Past => "of batch_size events",
            },
            "carried": "empty before each epoch, carried from training to validation to test",
        });
        if self.config.train.settle > 0 {
            memory["settled"] = json!(format!(
                "its weights stood still in the last {} epochs, so that replay rebuilds the same",
                self.config.train.settle
            ));
        }
        memory
    }

    fn neighbours(&self) -> Value {
        let model = &self.config.model;
        if !model.reads_neighbours() && !model.delivers_to_neighbours() {
            return Value::Null;
        }
        let rule = self.config.task.neighbours;
        json!({
            "rule": rule.name(),
            "sees": match rule {
                NeighbourRule::PerEvent => match self.config.task.equal_times {
                    EqualTimesRule::Future | EqualTimesRule::Batch => {
                        "events before the time of the question, those of its batch among them"
                    }
                    EqualTimesRule::Past => {
                        "events before the question in the stream, those of its batch among them"
                    }
                },
                NeighbourRule::BatchStale => match self.config.task.equal_times {
                    EqualTimesRule::Future | EqualTimesRule::Batch => {
                        "events before the first event of the batch and before the time of the question"
                    }
                    EqualTimesRule::Past => "events before the first event of the batch",
                },
            },
            "equal_times": self.config.task.equal_times.name(),
            "sampling": model.sampling_in_force().name(),
            "per_layer": model.neighbours_in_force(),
            "layers": model.layers_in_force(),
        })
    }

    fn task(&self) -> Value {
        match self.task {
            TaskName::LinkPrediction => self.links(),
            TaskName::NodeClassification => json!({
                "question": "the label of the source of each event, at its time",
                "own_features": self.own_features(),
                "auc_and_ap": "of class 1, all events of a part pooled",
                "class_weights": self.class_weights,
            }),
            TaskName::EdgeClassification => json!({
                "question": "the label of each event, from its ends at its time",
                "own_features": self.own_features(),
                "auc_and_ap": "of class 1, all events of a part pooled",
                "class_weights": self.class_weights,
            }),
            TaskName::EdgeRegression | TaskName::NodeRegression => json!({
                "question": "the weight of each event, from its ends at its time",
                "own_features": self.own_features(),
            }),
        }
    }

    /// The columns of the judged event that the model sees.
    fn own_features(&self) -> Value {
        json!({
            "seen": !self.own_features.is_empty(),
            "columns": self.own_features,
        })
    }

    fn links(&self) -> Value {
        let task = &self.config.task;
        json!({
            "question": "whether a pair has an event at a time, from its ends at that time",
            "training": {
                "negatives": self.drawn_from(training_pool(task.pool.into()), task.negatives),
                "drawn": "anew in each epoch",
            },
            "ap_and_auc": {
                "negatives": self.drawn(task.negatives),
                "ap, auc": "all events of a part pooled",
                "ap_batch_mean, auc_batch_mean": {
                    "mean": "over batches, each counting once",
                    "batch_size": self.batch_size,
                },
            },
            "mrr_and_hits": {
                "negatives": match self.fixed {
                    Some(fixed) => listed(fixed),
                    None => self.drawn(task.candidates),
                },
                "ties": "average of the optimistic and the pessimistic rank",
                "parts": "test, and validation if the watched metric is one of them",
            },
            "inductive": "events with an end that no training event touches; transductive: the others",
        })
    }

    /// Negatives that are drawn with the seed of the run.
    fn drawn(&self, per_event: usize) -> Value {
        self.drawn_from(Strategy::from(self.config.task.pool), per_event)
    }

    fn drawn_from(&self, strategy: Strategy, per_event: usize) -> Value {
        json!({
            "per_event": per_event,
            "pool": pool_of(strategy),
            "seed": self.config.train.seed,
            "positives_avoided": true,
            "file": null,
        })
    }
}

/// The pool that training draws from: historical, inductive and mixed negatives are defined for
/// evaluation, and training takes destinations for them, as DGB and TGB do.
pub(crate) fn training_pool(pool: Strategy) -> Strategy {
    match pool {
        Strategy::All => Strategy::All,
        _ => Strategy::Random,
    }
}

/// Negatives of a file.
fn listed(fixed: &FixedNegatives) -> Value {
    json!({
        "per_event": fixed.metadata.per_event,
        "pool": pool_of(fixed.metadata.strategy),
        "seed": fixed.metadata.seed,
        "positives_avoided": fixed.metadata.avoid_positives,
        "file": fixed.path.file_name().map(|name| name.to_string_lossy()),
        "file_sha256": fixed.sha256,
        "fallback": fixed.metadata.fallback,
        "missing": fixed.metadata.missing,
    })
}

/// What a pool holds, in words.
fn pool_of(strategy: Strategy) -> Value {
    let holds = match strategy {
        Strategy::Random => "the event's source, and any vertex that is a destination",
        Strategy::All => "the event's source, and any vertex",
        Strategy::Historical => "edges of the training part that do not happen at that time",
        Strategy::Inductive => {
            "edges of the judged part that the training part lacks and that do not happen at that time"
        }
        Strategy::Mixed => {
            "half destinations that the source had in the training part, half any destinations"
        }
    };
    let name = if strategy == Strategy::Random { "destinations" } else { strategy.name() };
    json!({ "name": name, "holds": holds })
}
