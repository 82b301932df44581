//! What a model must beat: predictions that need no training.
//!
//! | task | baselines |
//! | --- | --- |
//! | node regression | [`Persistence`], [`HistoricalMean`] |
//! | node classification | [`MajorityClass`], [`Persistence`] (the vertex's last known class) |
//! | link prediction | [`EdgeBank`], [`Popularity`] |
//! | edge classification | [`MajorityClass`] |
//!
//! A baseline is told the past step by step and asked about the next one; it is never handed
//! anything else. So it cannot see the query's step or a later one, whatever its code does:
//! [`replay_targets`] and [`replay_links`] hold the order.
//!
//! [`compare_values`] and its siblings measure the baselines of a task as a model is measured: on
//! the same steps, the same pairs and with the same accumulators. They print nothing.

mod comparison;
mod edge_bank;
mod historical_mean;
mod link_rules;
mod majority_class;
mod persistence;
mod popularity;
mod replay;
#[cfg(test)]
mod tests;

pub use comparison::{
    Comparison, LinkQuestion, compare_classes, compare_edge_classes, compare_links,
    compare_links_with_all, compare_values,
};
pub use edge_bank::EdgeBank;
pub use historical_mean::HistoricalMean;
pub use link_rules::LinkRules;
pub use majority_class::MajorityClass;
pub use persistence::{Persistence, last_lag_column};
pub use popularity::Popularity;
pub use replay::{replay_links, replay_targets};

use zoetrope_graph::{SnapshotView, VertexId};

/// Predicts one value (or class number) for each vertex, or for each of a step's edges.
pub trait StepBaseline: Send {
    /// The name in reports.
    fn name(&self) -> &'static str;

    /// Writes the prediction for the step after the last observed one.
    fn predict(&self, out: &mut [f32]);

    /// Learns the truth of the next step; NaN if there is none.
    fn observe(&mut self, truth: &[f32]);
}

/// Scores pairs of vertices by how likely they are linked in the next snapshot.
pub trait LinkBaseline: Send + Sync {
    /// The name in reports.
    fn name(&self) -> &'static str;

    /// Writes the score of each pair for the snapshot after the last observed one.
    ///
    /// # Panics
    /// If the three slices differ in length.
    fn score(&self, src: &[VertexId], dst: &[VertexId], out: &mut [f32]);

    /// Makes a row of the scores of `source` with all vertices of one that has those of `before`, another
    /// source; None if the row is zeros. Returns how many vertices have another score than 0, or more.
    ///
    /// # Panics
    /// If the row has no place for a vertex that the baseline knows.
    fn turn(&self, row: &mut [f32], before: Option<VertexId>, source: VertexId) -> usize;

    /// The score above which a pair is called a link; `None` if scores only rank.
    fn threshold(&self) -> Option<f32>;

    /// Learns the edges of the next snapshot.
    fn observe(&mut self, snapshot: SnapshotView<'_>);
}
