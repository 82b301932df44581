//! How good predictions are: measures with the definitions of scikit-learn and TGB.
//!
//! Owns the accumulators that predictions are poured into, in any number of chunks:
//!
//! | accumulator | measures |
//! | --- | --- |
//! | [`Regression`] | MSE, RMSE, MAE, masked MAPE |
//! | [`Classification`] | accuracy, F1 (of one class, macro, micro, weighted) |
//! | [`ClassScores`] | the same, and of two classes average precision and ROC AUC |
//! | [`BinaryScores`] | average precision, ROC AUC; keeps every score |
//! | [`PositiveThresholds`] | average precision, ROC AUC; keeps the scores of positives only |
//! | [`Ranking`] | MRR and hits@k of one positive against many negatives |
//! | [`RowRanking`] | MRR as EvolveGCN has it: the positives of a source among all candidates |
//!
//! Sums are in f64 and in the order of the observations, so the size of the chunks and the number
//! of threads do not change a bit of the result. A measure that the observations do not define is
//! an [`Undefined`] that says why, never a NaN.
//!
//! It does not choose what is predicted, which pairs are compared or which steps count: that is
//! the protocol, and belongs to the trainer.

mod class_scores;
mod classification;
mod metric;
mod positive_thresholds;
mod ranking;
mod regression;
mod row_ranking;
mod scores;
mod undefined;

pub use class_scores::ClassScores;
pub use classification::Classification;
pub use metric::Metric;
pub use positive_thresholds::PositiveThresholds;
pub use ranking::{Ranking, TieRule};
pub use regression::{NEAR_ZERO, Regression};
pub use row_ranking::RowRanking;
pub use scores::BinaryScores;
pub use undefined::Undefined;
