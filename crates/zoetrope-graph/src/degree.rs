//! Degrees as features of vertices, for graphs that come without any (ESDG §6.1, DGC §6.1).
//!
//! Two features per vertex and step: in-degree, then out-degree. Repeated edges count each, and
//! a self-loop counts on both sides.

use rayon::prelude::*;

use crate::error::GraphError;
use crate::features::VertexFeatures;
use crate::snapshot::{SnapshotSequence, SnapshotView};

/// What an edge adds to the degree of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Degree {
    /// 1, as in the papers.
    #[default]
    Edges,
    /// Its weight; 1 if the graph has none.
    Weights,
}

/// In- and out-degree of every vertex in every snapshot: `steps × vertices × 2`; one step for a
/// constant sequence. Parallel over snapshots.
///
/// # Errors
/// [`GraphError::TooMany`] if the features outnumber what memory can address.
pub fn degree_features(
    sequence: &SnapshotSequence,
    degree: Degree,
) -> Result<VertexFeatures, GraphError> {
    let vertices = sequence.vertices() as usize;
    let steps = if sequence.is_constant() { sequence.steps().min(1) } else { sequence.steps() };
    let limit = isize::MAX as usize / size_of::<f32>();
    let count = steps.saturating_mul(vertices).saturating_mul(2);
    if count > limit {
        let (count, limit) = (count as u64, limit as u64);
        return Err(GraphError::TooMany { what: "degree features", count, limit });
    }
    let mut values = vec![0.0; count];
    if vertices > 0 {
        values
            .par_chunks_mut(2 * vertices)
            .enumerate()
            .for_each(|(step, features)| add_degrees(sequence.at(step), degree, features));
    }
    VertexFeatures::new(steps, vertices, 2, values)
}

/// Adds in- and out-degrees of one snapshot (`vertices × 2`), edge by edge, so that sums of weights have one order.
///
/// # Panics
/// If there is not room for all vertices.
pub fn add_degrees(view: SnapshotView<'_>, degree: Degree, features: &mut [f32]) {
    for edge in 0..view.len() {
        let amount = match degree {
            Degree::Edges => 1.0,
            Degree::Weights => view.weight_of(edge),
        };
        features[2 * view.dst[edge] as usize] += amount;
        features[2 * view.src[edge] as usize + 1] += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_degree_comes_first_and_repeats_count() {
        let (src, dst) = (vec![0, 0, 1, 2], vec![1, 1, 1, 0]);
        let weight = Some(vec![0.5, 0.25, 2.0, 4.0]);
        let sequence = SnapshotSequence::new(3, vec![0, 3, 4], src, dst, weight).unwrap();
        let edges = degree_features(&sequence, Degree::Edges).unwrap();
        assert_eq!(edges.at(0), [0.0, 2.0, 3.0, 1.0, 0.0, 0.0]);
        assert_eq!(edges.at(1), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        let weights = degree_features(&sequence, Degree::Weights).unwrap();
        assert_eq!(weights.at(0), [0.0, 0.75, 2.75, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn a_constant_graph_has_one_step_of_features() {
        let constant = SnapshotSequence::constant(2, 7, vec![0], vec![1], None).unwrap();
        let features = degree_features(&constant, Degree::Edges).unwrap();
        assert_eq!((features.steps(), features.at(6)), (1, &[0.0, 1.0, 1.0, 0.0][..]));
    }

    #[test]
    fn a_graph_without_vertices_has_no_features() {
        let none = SnapshotSequence::new(0, vec![0, 0], vec![], vec![], None).unwrap();
        assert_eq!(degree_features(&none, Degree::Edges).unwrap().values(), [0.0; 0]);
    }
}
