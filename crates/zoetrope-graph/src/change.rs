//! How much a sequence changes from snapshot to snapshot, and how much groups have in common.
//!
//! Definitions, for snapshots as multisets of edges (weights do not matter), `∩` counting an edge
//! as often as all have it:
//!
//! - *change rate* of consecutive snapshots `A`, `B`:
//!   `(|A \ B| + |B \ A|) / (|A| + |B|)`, the share of their edges that are not shared. PiPAD
//!   (§3.1) reports a "changing rate" of about 10 % without a formula; this is ours.
//! - *overlap rate* of a group `A_1 … A_s`: `s |A_1 ∩ … ∩ A_s| / Σ |A_i|`, the share of the edges
//!   of the group that lie in its common part; PiPAD's `OR` (§4.4), again without a formula
//!   there. For two snapshots it is 1 − change rate.
//! - *similarity* (Jaccard): `|A ∩ B| / |A ∪ B|`, for comparison with other literature.
//! - *removed* and *added* edges are ESDG's `A^ext` sets (§3.2).
//!
//! Snapshots without edges are alike: change rate 0, overlap rate 1, similarity 1.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::GraphError;
use crate::intersect::{count_common, keep_common};
use crate::key_blocks::{BLOCK_EDGES, key_blocks};
use crate::smooth::expect_positive;
use crate::snapshot::{SnapshotSequence, SnapshotView};

/// How many edges two consecutive snapshots share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepChange {
    /// Edges of the earlier snapshot that the later one lacks.
    pub removed: u64,
    /// Edges of the later snapshot that the earlier one lacks.
    pub added: u64,
    /// Edges of both.
    pub common: u64,
}

impl StepChange {
    /// Compares two snapshots of the same vertices, in parallel over ranges of edges.
    pub fn between(from: SnapshotView<'_>, to: SnapshotView<'_>) -> Self {
        let common: u64 = key_blocks(&[from, to], BLOCK_EDGES)
            .into_par_iter()
            .map(|block| count_common((from, &block[0]), (to, &block[1])))
            .sum();
        Self { removed: from.len() as u64 - common, added: to.len() as u64 - common, common }
    }

    /// The share of the edges of both snapshots that are not shared, 0 to 1.
    pub fn change_rate(&self) -> f64 {
        let changed = self.removed + self.added;
        ratio(changed, changed + 2 * self.common).unwrap_or(0.0)
    }

    /// The share of the edges of both snapshots that are shared: 1 − change rate.
    pub fn overlap_rate(&self) -> f64 {
        let shared = 2 * self.common;
        ratio(shared, shared + self.removed + self.added).unwrap_or(1.0)
    }

    /// The Jaccard similarity of the two multisets of edges, 0 to 1.
    pub fn similarity(&self) -> f64 {
        ratio(self.common, self.common + self.removed + self.added).unwrap_or(1.0)
    }
}

/// The change between each pair of consecutive snapshots: one entry fewer than snapshots.
pub fn changes(sequence: &SnapshotSequence) -> Vec<StepChange> {
    if sequence.is_constant() && sequence.steps() > 1 {
        let common = sequence.stored_edges() as u64;
        return vec![StepChange { removed: 0, added: 0, common }; sequence.steps() - 1];
    }
    (1..sequence.steps())
        .into_par_iter()
        .map(|step| StepChange::between(sequence.at(step - 1), sequence.at(step)))
        .collect()
}

/// The overlap rate of consecutive groups of `group` snapshots that start every `stride` steps;
/// a last group that would be shorter is left out.
///
/// # Errors
/// [`GraphError::BadParameter`] if `group` or `stride` is 0.
pub fn overlap_rates(
    sequence: &SnapshotSequence,
    group: usize,
    stride: usize,
) -> Result<Vec<f64>, GraphError> {
    expect_positive("group", group)?;
    expect_positive("stride", stride)?;
    let starts = (sequence.steps() + 1).saturating_sub(group);
    let starts: Vec<usize> = (0..starts).step_by(stride).collect();
    let rate = |start: usize| {
        let views: Vec<_> = (start..start + group).map(|step| sequence.at(step)).collect();
        overlap_rate(&views)
    };
    Ok(starts.into_par_iter().map(rate).collect())
}

/// The overlap rate of a group of snapshots of the same vertices.
pub fn overlap_rate(snapshots: &[SnapshotView<'_>]) -> f64 {
    let common: u64 = key_blocks(snapshots, BLOCK_EDGES)
        .into_par_iter()
        .map(|ranges| common_edges(snapshots, &ranges))
        .sum();
    let all = snapshots.iter().map(|view| view.len() as u64).sum();
    ratio(common * snapshots.len() as u64, all).unwrap_or(1.0)
}

/// How many edges all snapshots have within a range of each.
fn common_edges(snapshots: &[SnapshotView<'_>], ranges: &[Range<usize>]) -> u64 {
    let Some((first, others)) = snapshots.split_first() else { return 0 };
    let mut common: Vec<u64> = ranges[0].clone().map(|edge| first.key(edge)).collect();
    for (view, range) in others.iter().zip(&ranges[1..]) {
        keep_common(&mut common, range.clone(), |edge| view.key(edge));
    }
    common.len() as u64
}

/// Smallest, mean and largest of a series of rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSummary {
    /// The smallest rate.
    pub least: f64,
    /// The mean of the rates, each counting alike.
    pub mean: f64,
    /// The largest rate.
    pub most: f64,
}

impl RateSummary {
    /// Summarises rates in their order; `None` if there is none.
    pub fn of(rates: &[f64]) -> Option<Self> {
        let first = *rates.first()?;
        Some(Self {
            least: rates.iter().copied().fold(first, f64::min),
            mean: rates.iter().sum::<f64>() / rates.len() as f64,
            most: rates.iter().copied().fold(first, f64::max),
        })
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;
    use crate::matrix_rows::MatrixRows;
    use crate::overlap::Overlap;

    fn sample() -> SnapshotSequence {
        let src = vec![0, 1, 1, 2, 0, 1, 3];
        let dst = vec![0, 0, 0, 1, 0, 0, 2];
        SnapshotSequence::new(4, vec![0, 4, 7, 7, 7], src, dst, None).unwrap()
    }

    #[test]
    fn rates_are_shares_of_the_edges_of_both_snapshots() {
        let changes = changes(&sample());
        assert_eq!(changes[0], StepChange { removed: 2, added: 1, common: 2 });
        assert_eq!(changes[0].change_rate(), 3.0 / 7.0);
        assert_eq!(changes[0].overlap_rate(), 4.0 / 7.0);
        assert_eq!(changes[0].similarity(), 2.0 / 5.0);
        assert_eq!(changes[1].change_rate(), 1.0);
        assert_eq!(changes[2].change_rate(), 0.0);
        assert_eq!((changes[2].overlap_rate(), changes[2].similarity()), (1.0, 1.0));
    }

    #[test]
    fn the_overlap_rate_of_a_group_is_that_of_its_overlap() {
        let sequence = sample();
        let rates = overlap_rates(&sequence, 2, 1).unwrap();
        assert_eq!(rates, [4.0 / 7.0, 0.0, 1.0]);
        let matrices = [0, 1].map(|step| Csr::from_view(sequence.at(step)).unwrap());
        let overlap = Overlap::of(&matrices.each_ref().map(MatrixRows::of)).unwrap();
        assert_eq!(overlap.rate(), rates[0]);
        assert_eq!(overlap_rates(&sequence, 3, 2).unwrap().len(), 1);
        assert!(overlap_rates(&sequence, 9, 1).unwrap().is_empty());
        assert!(overlap_rates(&sequence, 0, 1).is_err());
        assert!(overlap_rates(&sequence, 1, 0).is_err());
    }

    #[test]
    fn a_constant_graph_does_not_change() {
        let constant = SnapshotSequence::constant(2, 3, vec![0], vec![1], None).unwrap();
        assert_eq!(changes(&constant), [StepChange { removed: 0, added: 0, common: 1 }; 2]);
    }

    #[test]
    fn a_summary_names_least_mean_and_most() {
        let summary = RateSummary::of(&[0.5, 0.25, 0.75]).unwrap();
        assert_eq!(summary, RateSummary { least: 0.25, mean: 0.5, most: 0.75 });
        assert_eq!(RateSummary::of(&[]), None);
    }
}
