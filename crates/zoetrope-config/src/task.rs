//! `[task]`: what is predicted and how it is judged.

use std::path::PathBuf;

use zoetrope_data::negatives::Strategy;

use super::class_weights::ClassWeights;
use super::names::names;
use super::rule::{Share, Whole};
use super::section::section;

section! {
    /// What is predicted and how it is judged.
    TaskConfig = "task" {
        /// Which task; what the data has targets for if not set.
        name: Option<TaskName> = None;
        /// Classes to tell apart; counted in the data if not set.
        classes: Option<usize> = None, Whole(2, 1 << 16);
        /// How much an example of each class counts in the loss of a classification: all the same
        /// (`none`), less if its class is frequent, so that all classes have the same total weight
        /// (`balanced`, counted on the training part), or as given. With two classes of events the
        /// second weight over the first is the weight of positives.
        class_weights: ClassWeights = ClassWeights::Equal;
        /// Whether the features of the judged event itself are part of the question (event models).
        /// Without a value they are for edge classification and edge regression, not for node
        /// classification; link prediction has none, because pairs that did not happen have none.
        own_features: Option<bool> = None;
        /// Share of the edges of a snapshot that link prediction samples.
        theta: f64 = 1.0, Share;
        /// Edges that did not happen for each sampled edge or event.
        negatives: usize = 1, Whole(1, 1 << 16);
        /// Edges that did not happen among which MRR and hits@k rank each edge: in the test, and after
        /// each epoch if `metric` is one of them.
        candidates: usize = 100, Whole(1, 1 << 20);
        /// Whether edges are also ranked among all pairs of vertices, as EvolveGCN evaluates (`map`
        /// and `row_mrr`): vertices × (vertices - 1) scores for each evaluated snapshot.
        all_pairs: bool = false;
        /// The k of hits@k.
        hits: usize = 10, Whole(1, 1 << 20);
        /// The metric on the validation part that early stopping and the plateau schedule watch;
        /// the main one of the task if not set.
        metric: Option<MetricName> = None;
        /// Which events a query of an event model may have as neighbours: those before its own
        /// time (`per-event`, TGL) or those before its batch (`batch-stale`, PyG and TGB).
        neighbours: NeighbourRule = NeighbourRule::PerEvent;
        /// What a query knows of events at its very time (event models): nothing (`future`), what
        /// memory took in with earlier batches (`batch`, the convention of PyG, TGB and TGL), or all that
        /// come before it in the stream (`past`).
        equal_times: EqualTimesRule = EqualTimesRule::Future;
        /// Where edges that did not happen come from (event models).
        pool: NegativePool = NegativePool::Destinations;
        /// Fixed edges that did not happen for validation and test, made by `zoetrope data
        /// negatives` (event models); drawn with the seed if not set.
        negatives_file: Option<PathBuf> = None;
    }
}

names! {
    /// The tasks.
    TaskName {
        /// A number for each vertex.
        NodeRegression = "node-regression",
        /// A class for each vertex.
        NodeClassification = "node-classification",
        /// Which edges the next snapshot has.
        LinkPrediction = "link-prediction",
        /// A class for each edge.
        EdgeClassification = "edge-classification",
        /// The weight of each event (event models).
        EdgeRegression = "edge-regression",
    }
}

impl TaskName {
    /// The metrics that the task is judged by on snapshots, the main one first. With two classes that is
    /// average precision: the accuracy of a rare class is best if it is never predicted. With more,
    /// `ap` and `auc` are not defined.
    pub fn metrics(self, classes: usize) -> &'static [MetricName] {
        use MetricName::{Accuracy, Ap, Auc, F1, Hits, Loss, Mae, Mape, Mrr, Mse, Rmse};
        match self {
            Self::NodeRegression => &[Mse, Rmse, Mae, Mape, Loss],
            Self::NodeClassification | Self::EdgeClassification if classes <= 2 => {
                &[Ap, Auc, Accuracy, F1, Loss]
            }
            Self::NodeClassification | Self::EdgeClassification => &[Accuracy, F1, Loss],
            Self::LinkPrediction => &[Ap, Auc, Mrr, Hits, Accuracy, Loss],
            Self::EdgeRegression => &[Mse, Rmse, Mae, Loss],
        }
    }

    /// The metrics that the task is judged by on a stream of events, the main one first. Two classes of
    /// vertices are watched by AUC, as JODIE, TGN and TGL judge them; two classes of events by average
    /// precision. With more than two classes, `auc` and `ap` are not defined and accuracy is the
    /// main one.
    pub fn stream_metrics(self, classes: usize) -> &'static [MetricName] {
        use MetricName::{Accuracy, Ap, Auc, F1, Hits, Loss, Mrr};
        match self {
            Self::NodeClassification if classes <= 2 => &[Auc, Ap, Accuracy, F1, Loss],
            Self::LinkPrediction => &[Ap, Auc, Mrr, Hits, Loss],
            other => other.metrics(classes),
        }
    }

    /// Whether the features of a judged event are part of the question if nothing is said about it.
    pub fn sees_own_features(self) -> bool {
        matches!(self, Self::EdgeClassification | Self::EdgeRegression)
    }
}

names! {
    /// Which events a query may have as neighbours.
    NeighbourRule {
        /// All before its own time, those of its own batch among them (TGL, TGLite, Sven).
        PerEvent = "per-event",
        /// Those before the first event of its batch (PyG, TGB).
        BatchStale = "batch-stale",
    }
}

names! {
    /// What events at the very time of a query are to it.
    EqualTimesRule {
        /// Not known to it: they are no neighbours, and memory absorbs them when time moves on.
        Future = "future",
        /// No neighbours, but memory knows those of earlier batches (PyG, TGB, TGL).
        Batch = "batch",
        /// Known, if they come before it in the stream: as neighbours at once, to memory if they are
        /// in an earlier batch.
        Past = "past",
    }
}

names! {
    /// Where edges that did not happen come from.
    NegativePool {
        /// The source of the event and any vertex that is a destination (TGN, PyG, TGB).
        Destinations = "destinations",
        /// The source of the event and any vertex (TGL).
        All = "all",
        /// Edges of the training part that do not happen now (DGB).
        Historical = "historical",
        /// Edges of the evaluated part that training has not seen and that do not happen now (DGB).
        Inductive = "inductive",
        /// Half of them destinations that the source had, the rest any destinations (TGB).
        Mixed = "mixed",
    }
}

impl From<NegativePool> for Strategy {
    fn from(pool: NegativePool) -> Self {
        match pool {
            NegativePool::Destinations => Self::Random,
            NegativePool::All => Self::All,
            NegativePool::Historical => Self::Historical,
            NegativePool::Inductive => Self::Inductive,
            NegativePool::Mixed => Self::Mixed,
        }
    }
}

names! {
    /// The metrics.
    MetricName {
        /// What training minimises.
        Loss = "loss",
        /// Mean squared error.
        Mse = "mse",
        /// Root of the mean squared error.
        Rmse = "rmse",
        /// Mean absolute error.
        Mae = "mae",
        /// Mean absolute percentage error if the target is not 0.
        Mape = "mape",
        /// Share of right answers.
        Accuracy = "accuracy",
        /// Harmonic mean of precision and recall, averaged over classes.
        F1 = "f1",
        /// Average precision.
        Ap = "ap",
        /// Area under the receiver operating characteristic.
        Auc = "auc",
        /// Mean reciprocal rank.
        Mrr = "mrr",
        /// Share of edges among the first k.
        Hits = "hits",
    }
}

impl MetricName {
    /// Whether less is better.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Loss | Self::Mse | Self::Rmse | Self::Mae | Self::Mape)
    }
}
