//! What scores of events amount to, and how they came about.
//!
//! Owns the accumulators of the tasks on streams and the declaration of the protocol:
//!
//! | task | accumulator | measures |
//! | --- | --- | --- |
//! | link prediction | [`LinkJudge`] | `ap`, `auc` (pooled, per-batch mean, inductive, transductive), `mrr`, `hits@k` |
//! | node and edge classification | [`ClassJudge`] | `auc`, `ap` (two classes), `accuracy`, `f1` |
//! | edge regression | [`ValueJudge`] | `mse`, `rmse`, `mae` |
//!
//! Models and baselines pour their scores into the same accumulators. A measure that the scores do
//! not define is NaN in [`Metrics`](zoetrope_run::Metrics), null in files. It draws no negatives and
//! computes no score.

mod classes;
mod links;
mod protocol;
mod values;

pub use classes::ClassJudge;
pub use links::{LinkJudge, ScoredBatch};
pub(crate) use protocol::training_pool;
pub use protocol::{FixedNegatives, StreamProtocol};
pub use values::ValueJudge;

#[cfg(test)]
mod tests;
