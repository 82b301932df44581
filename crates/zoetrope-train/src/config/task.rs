//! `[task]`: what is predicted and how it is judged.

use super::names::names;
use super::rule::{Share, Whole};
use super::section::section;

section! {
    /// What is predicted and how it is judged.
    TaskConfig = "task" {
        /// Which task; what the data has targets for where not set.
        name: Option<TaskName> = None;
        /// Classes to tell apart; counted in the data where not set.
        classes: Option<usize> = None, Whole(2, 1 << 16);
        /// Share of the edges of a snapshot that link prediction samples.
        theta: f64 = 1.0, Share;
        /// Edges that did not happen for each sampled edge.
        negatives: usize = 1, Whole(1, 1 << 16);
        /// Edges that did not happen among which MRR and hits@k rank each edge.
        candidates: usize = 100, Whole(1, 1 << 20);
        /// Whether edges are also ranked among all pairs of vertices, as EvolveGCN evaluates (`map`
        /// and `row_mrr`): vertices × (vertices - 1) scores for each evaluated snapshot.
        all_pairs: bool = false;
        /// The k of hits@k.
        hits: usize = 10, Whole(1, 1 << 20);
        /// The metric on the validation part that early stopping and the plateau schedule watch;
        /// the main one of the task where not set.
        metric: Option<MetricName> = None;
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
    }
}

impl TaskName {
    /// The metrics that the task is judged by, the main one first.
    pub fn metrics(self) -> &'static [MetricName] {
        use MetricName::{Accuracy, Ap, Auc, F1, Hits, Loss, Mae, Mape, Mrr, Mse, Rmse};
        match self {
            Self::NodeRegression => &[Mse, Rmse, Mae, Mape, Loss],
            Self::NodeClassification | Self::EdgeClassification => &[Accuracy, F1, Loss],
            Self::LinkPrediction => &[Ap, Auc, Mrr, Hits, Accuracy, Loss],
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
        /// Mean absolute percentage error where the target is not 0.
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
