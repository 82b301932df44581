//! Weights of classes in the loss, from what the configuration says and the training part holds.

use zoetrope_config::ClassWeights;

use crate::error::TrainError;

/// The weight of each class, given how many examples of each the training part has; None if all
/// count the same.
///
/// # Errors
/// If there is not one given number for each class.
pub(crate) fn in_force(
    rule: &ClassWeights,
    counts: &[u64],
) -> Result<Option<Vec<f32>>, TrainError> {
    match rule {
        ClassWeights::Equal => Ok(None),
        ClassWeights::Given(weights) if weights.len() == counts.len() => {
            Ok(Some(weights.iter().map(|&weight| weight as f32).collect()))
        }
        ClassWeights::Given(weights) => Err(TrainError::Unfit {
            what: format!(
                "task.class_weights has {} numbers, but there are {} classes",
                weights.len(),
                counts.len()
            ),
            advice: "give one for each class, or use \"balanced\"".to_owned(),
        }),
        ClassWeights::Balanced => {
            let all: u64 = counts.iter().sum();
            let present = counts.iter().filter(|&&count| count > 0).count();
            let weight = |&count: &u64| match count {
                // It does not occur in training, so that nothing is multiplied by this.
                0 => 1.0,
                count => (all as f64 / (present as f64 * count as f64)) as f32,
            };
            Ok(Some(counts.iter().map(weight).collect()))
        }
    }
}

/// How often each class occurs among labels; NaN is none.
pub(crate) fn count(classes: usize, labels: impl IntoIterator<Item = f32>) -> Vec<u64> {
    let mut counts = vec![0; classes];
    for label in labels.into_iter().filter(|label| !label.is_nan()) {
        counts[label as usize] += 1;
    }
    counts
}

/// What the protocol says about them; null if all classes count the same.
pub(crate) fn declare(rule: &ClassWeights, weights: Option<&[f32]>) -> serde_json::Value {
    weights.map_or(serde_json::Value::Null, |weights| {
        serde_json::json!({
            "rule": match rule {
                ClassWeights::Balanced => "balanced: n / (classes × n_c), counted on the training part",
                _ => "given",
            },
            "weights": weights,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sklearn.utils.class_weight.compute_class_weight("balanced", classes=[0, 1, 2], y=...)` with
    /// 60, 30 and 10 examples.
    #[test]
    fn balanced_weights_are_those_of_scikit_learn() {
        let weights = in_force(&ClassWeights::Balanced, &[60, 30, 10]).unwrap().unwrap();
        for (found, expected) in weights.iter().zip([100.0 / 180.0, 100.0 / 90.0, 100.0 / 30.0]) {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} {expected}");
        }
        let absent = in_force(&ClassWeights::Balanced, &[3, 0, 1]).unwrap().unwrap();
        assert!((absent[0] - 4.0 / 6.0).abs() < 1e-6 && (absent[2] - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_number_for_each_class_is_needed() {
        let given = ClassWeights::Given(vec![1.0, 2.0]);
        assert_eq!(in_force(&given, &[5, 5]).unwrap(), Some(vec![1.0, 2.0]));
        let error = in_force(&given, &[5, 5, 5]).unwrap_err().to_string();
        assert!(error.contains("2 numbers") && error.contains("3 classes"), "{error}");
        assert_eq!(in_force(&ClassWeights::Equal, &[1, 2]).unwrap(), None);
    }

    #[test]
    fn classes_are_counted_where_they_are_known() {
        assert_eq!(count(3, [0.0, 2.0, f32::NAN, 2.0]), [1, 0, 2]);
    }
}
