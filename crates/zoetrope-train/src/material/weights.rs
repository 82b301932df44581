//! Weights of edges as models can take them.

use zoetrope_graph::{GraphError, SnapshotSequence};

use crate::config::WeightRule;
use crate::sampling::hide_weights;

/// Keeps, drops or unsigns the weights; says so where the user did not ask for it.
pub(super) fn apply(
    sequence: SnapshotSequence,
    rule: WeightRule,
    warnings: &mut Vec<String>,
) -> Result<SnapshotSequence, GraphError> {
    let Some(weight) = sequence.weight() else { return Ok(sequence) };
    let negative = weight.iter().any(|&weight| weight < 0.0);
    match rule {
        WeightRule::Auto if negative => {
            warnings.push(
                "some weights are negative, so all weights are left out; data.weights decides \
                 otherwise"
                    .to_owned(),
            );
            hide_weights(&sequence)
        }
        WeightRule::Ones => hide_weights(&sequence),
        WeightRule::Absolute if negative => {
            let unsigned = weight.iter().map(|weight| weight.abs()).collect();
            with_weights(&sequence, unsigned)
        }
        WeightRule::Auto | WeightRule::Given | WeightRule::Absolute => Ok(sequence),
    }
}

fn with_weights(
    sequence: &SnapshotSequence,
    weights: Vec<f32>,
) -> Result<SnapshotSequence, GraphError> {
    let (src, dst) = (sequence.src().to_vec(), sequence.dst().to_vec());
    let (vertices, steps) = (sequence.vertices(), sequence.steps());
    let made = match sequence.is_constant() {
        true => SnapshotSequence::constant(vertices, steps, src, dst, Some(weights))?,
        false => {
            let offsets = sequence.offsets().to_vec();
            SnapshotSequence::new(vertices, offsets, src, dst, Some(weights))?
        }
    };
    match sequence.boundaries() {
        Some(boundaries) => made.with_boundaries(boundaries.to_vec()),
        None => Ok(made),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply_to(weights: Vec<f32>, rule: WeightRule) -> (Option<Vec<f32>>, usize) {
        let sequence =
            SnapshotSequence::new(3, vec![0, 1, 2], vec![0, 1], vec![1, 2], Some(weights)).unwrap();
        let mut warnings = Vec::new();
        let made = apply(sequence, rule, &mut warnings).unwrap();
        (made.weight().map(<[f32]>::to_vec), warnings.len())
    }

    #[test]
    fn signed_weights_are_left_out_and_said_so_unless_the_user_decides() {
        assert_eq!(apply_to(vec![1.0, -2.0], WeightRule::Auto), (None, 1));
        assert_eq!(apply_to(vec![1.0, 2.0], WeightRule::Auto), (Some(vec![1.0, 2.0]), 0));
        assert_eq!(apply_to(vec![1.0, -2.0], WeightRule::Given), (Some(vec![1.0, -2.0]), 0));
        assert_eq!(apply_to(vec![1.0, -2.0], WeightRule::Absolute), (Some(vec![1.0, 2.0]), 0));
        assert_eq!(apply_to(vec![1.0, 2.0], WeightRule::Ones), (None, 0));
    }
}
