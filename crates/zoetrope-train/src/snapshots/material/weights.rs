//! Weights of edges as models can take them.

use zoetrope_config::WeightRule;
use zoetrope_graph::{SnapshotSequence, VertexNames};

use crate::error::TrainError;
use crate::scaling::EdgeWeights;
use crate::snapshots::sampling::hide_weights;

/// Keeps, drops or unsigns the weights; says so if the user did not ask for it.
///
/// What `auto` decides follows from the first `training` snapshots and is kept with a run: what comes
/// later must not change what is trained, and new data must mean the same to the model.
///
/// # Errors
/// [`TrainError::Unfit`] if weights are asked for and some are missing or infinite.
pub(super) fn apply(
    sequence: SnapshotSequence,
    rule: WeightRule,
    training: usize,
    saved: Option<EdgeWeights>,
    names: &VertexNames,
    warnings: &mut Vec<String>,
) -> Result<(SnapshotSequence, Option<EdgeWeights>), TrainError> {
    let Some(weight) = sequence.weight() else { return Ok((sequence, None)) };
    if rule == WeightRule::Auto {
        let decided = match saved {
            Some(saved) => saved,
            None => decide(&sequence, weight, training, names, warnings),
        };
        let made = if decided.kept {
            mend(&sequence, weight, decided, warnings)?
        } else {
            hide_weights(&sequence)?
        };
        return Ok((made, Some(decided)));
    }
    let broken = Broken::of(&sequence, weight, names);
    let negative = weight.iter().any(|&weight| weight < 0.0);
    let made = match (rule, broken) {
        (WeightRule::Ones, _) => hide_weights(&sequence)?,
        (rule, Some(broken)) => {
            return Err(TrainError::Unfit {
                what: format!("data.weights = \"{}\", but {broken}", rule.name()),
                advice: "fill them in, or leave all weights out with data.weights=ones".to_owned(),
            });
        }
        (WeightRule::Absolute, None) if negative => {
            let unsigned = weight.iter().map(|weight| weight.abs()).collect();
            sequence.with_weight(Some(unsigned))?
        }
        (WeightRule::Auto | WeightRule::Given | WeightRule::Absolute, None) => sequence,
    };
    Ok((made, None))
}

/// Whether models can take the weights of the training snapshots.
fn decide(
    sequence: &SnapshotSequence,
    weight: &[f32],
    training: usize,
    names: &VertexNames,
    warnings: &mut Vec<String>,
) -> EdgeWeights {
    let end = if sequence.is_constant() {
        weight.len()
    } else {
        sequence.ranges().start_of(training.min(sequence.steps())) as usize
    };
    let seen = &weight[..end];
    let mean = seen.iter().map(|&weight| f64::from(weight)).sum::<f64>() / end.max(1) as f64;
    let broken = Broken::of(sequence, seen, names);
    let negative = seen.iter().any(|&weight| weight < 0.0);
    match (broken, negative) {
        (Some(broken), _) => warnings.push(format!(
            "{broken}, so all weights are left out; to use them, fill in what is missing"
        )),
        (None, true) => warnings.push(
            "some weights are negative, so all weights are left out; data.weights decides otherwise"
                .to_owned(),
        ),
        (None, false) => return EdgeWeights { kept: true, mean: if end == 0 { 1.0 } else { mean } },
    }
    EdgeWeights { kept: false, mean: 1.0 }
}

/// Replaces weights after the training snapshots that are none, each by itself: a missing one by the
/// mean of training, a negative one by its size.
fn mend(
    sequence: &SnapshotSequence,
    weight: &[f32],
    decided: EdgeWeights,
    warnings: &mut Vec<String>,
) -> Result<SnapshotSequence, TrainError> {
    let is_odd = |weight: &&f32| !weight.is_finite() || **weight < 0.0;
    let odd = weight.iter().filter(is_odd).count();
    if odd == 0 {
        return Ok(sequence.clone());
    }
    warnings.push(format!(
        "{odd} weights after the training part are missing or negative: the mean {:.4} of training \
         and their size stand in for them",
        decided.mean
    ));
    let mended = weight
        .iter()
        .map(|&weight| if weight.is_finite() { weight.abs() } else { decided.mean as f32 });
    Ok(sequence.with_weight(Some(mended.collect()))?)
}

/// Weights that are not finite, and the place of the first of them.
struct Broken {
    count: usize,
    all: usize,
    /// Whether the first is missing rather than infinite.
    is_missing: bool,
    /// As the data names them.
    ends: [String; 2],
    snapshot: usize,
}

impl Broken {
    fn of(sequence: &SnapshotSequence, weight: &[f32], names: &VertexNames) -> Option<Self> {
        let first = weight.iter().position(|weight| !weight.is_finite())?;
        let ends = [sequence.src()[first], sequence.dst()[first]];
        Some(Self {
            count: weight.iter().filter(|weight| !weight.is_finite()).count(),
            all: weight.len(),
            is_missing: weight[first].is_nan(),
            ends: ends.map(|vertex| names.name(vertex).into_owned()),
            snapshot: sequence.ranges().holding(first as u64).unwrap_or(0),
        })
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, all, snapshot, ends: [src, dst], .. } = self;
        let kind = if self.is_missing { "missing" } else { "infinite" };
        write!(
            f,
            "{count} of {all} weights are {kind} (the first: the edge from {src} to {dst} in \
             snapshot {snapshot})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_apply(
        weights: Vec<f32>,
        rule: WeightRule,
    ) -> Result<(Option<Vec<f32>>, Vec<String>), TrainError> {
        let sequence =
            SnapshotSequence::new(3, vec![0, 1, 2], vec![0, 1], vec![1, 2], Some(weights)).unwrap();
        let mut warnings = Vec::new();
        let names = VertexNames::identity(3);
        let (made, _) = apply(sequence, rule, 2, None, &names, &mut warnings)?;
        Ok((made.weight().map(<[f32]>::to_vec), warnings))
    }

    fn apply_to(weights: Vec<f32>, rule: WeightRule) -> (Option<Vec<f32>>, usize) {
        let (weights, warnings) = try_apply(weights, rule).unwrap();
        (weights, warnings.len())
    }

    #[test]
    fn signed_weights_are_left_out_and_said_so_unless_the_user_decides() {
        assert_eq!(apply_to(vec![1.0, -2.0], WeightRule::Auto), (None, 1));
        assert_eq!(apply_to(vec![1.0, 2.0], WeightRule::Auto), (Some(vec![1.0, 2.0]), 0));
        assert_eq!(apply_to(vec![1.0, -2.0], WeightRule::Given), (Some(vec![1.0, -2.0]), 0));
        assert_eq!(apply_to(vec![1.0, -2.0], WeightRule::Absolute), (Some(vec![1.0, 2.0]), 0));
        assert_eq!(apply_to(vec![1.0, 2.0], WeightRule::Ones), (None, 0));
    }

    #[test]
    fn later_weights_do_not_change_what_training_decided() {
        let names = VertexNames::identity(3);
        let made = |weights: Vec<f32>, saved: Option<EdgeWeights>| {
            let ends = (vec![0, 1, 2], vec![0, 1], vec![1, 2]);
            let sequence = SnapshotSequence::new(3, ends.0, ends.1, ends.2, Some(weights)).unwrap();
            let rule = WeightRule::Auto;
            let (made, kept) = apply(sequence, rule, 1, saved, &names, &mut Vec::new()).unwrap();
            (made.weight().map(<[f32]>::to_vec), kept.unwrap())
        };
        let (good, kept) = made(vec![2.0, 3.0], None);
        assert_eq!(good, Some(vec![2.0, 3.0]));
        assert_eq!(made(vec![2.0, -3.0], None), (Some(vec![2.0, 3.0]), kept));
        assert_eq!(made(vec![2.0, f32::NAN], None), (Some(vec![2.0, 2.0]), kept));
        // A run that left weights out leaves out those of other data too, and the other way round.
        let left_out = made(vec![-2.0, 3.0], None).1;
        assert_eq!(made(vec![2.0, 3.0], Some(left_out)).0, None);
        assert_eq!(made(vec![-2.0, 3.0], Some(kept)).0, Some(vec![2.0, 3.0]));
    }

    #[test]
    fn a_weight_that_is_missing_is_not_called_negative() {
        let (weights, warnings) = try_apply(vec![1.0, f32::NAN], WeightRule::Auto).unwrap();
        assert_eq!(weights, None);
        let place = "1 of 2 weights are missing (the first: the edge from 1 to 2 in snapshot 1)";
        assert!(warnings[0].starts_with(place), "{warnings:?}");
        for rule in [WeightRule::Given, WeightRule::Absolute] {
            let error = try_apply(vec![-1.0, f32::NAN], rule).unwrap_err().to_string();
            assert!(error.contains(place) && error.contains("data.weights=ones"), "{error}");
            assert!(!error.contains("negative"), "{error}");
        }
        assert_eq!(apply_to(vec![1.0, f32::NAN], WeightRule::Ones), (None, 0));
    }
}
