//! Lagged values as features, and standardised values: how PyG-Temporal's loaders make them.
//!
//! From a series of values per vertex, the features of step `i` are the values of steps
//! `i..i + lags` in time order and its target is the value of step `i + lags`, so `lags` steps
//! fewer remain. With several values per vertex, the lags of the first come before those of the
//! second.
//!
//! This is arithmetic only: which file holds which values is for the data crate to know.

use rayon::prelude::*;

use crate::error::GraphError;
use crate::features::{Targets, VertexFeatures};

/// What PyG-Temporal's loaders add to a deviation so that constant values can be divided by it.
pub const STANDARD_EPSILON: f64 = 1e-10;

/// Over which values mean and deviation are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardOver {
    /// All steps of one vertex and feature (the England-covid loader).
    Time,
    /// All steps and all vertices of one feature (the METR-LA loader).
    TimeAndVertices,
}

/// Features and targets from the values of earlier steps.
///
/// ```
/// # use zoetrope_graph::{VertexFeatures, lag::lagged};
/// let cases = VertexFeatures::new(4, 1, 1, vec![10.0, 20.0, 30.0, 40.0])?;
/// let (features, targets) = lagged(&cases, 2, 0)?;
/// assert_eq!((features.at(1), targets.values()), (&[20.0, 30.0][..], &[30.0, 40.0][..]));
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
///
/// The target is value `target` of a vertex, 0 if there is only one.
///
/// # Errors
/// [`GraphError::BadParameter`] if `lags` is 0, no step remains, or there is no such value.
pub fn lagged(
    values: &VertexFeatures,
    lags: usize,
    target: usize,
) -> Result<(VertexFeatures, Targets), GraphError> {
    let (steps, vertices, width) = (values.steps(), values.vertices(), values.width());
    let refuse = |parameter: &'static str, value: usize, expected: &'static str| {
        Err(GraphError::BadParameter { parameter, value: value.to_string(), expected })
    };
    if lags == 0 || lags >= steps {
        return refuse("lags", lags, "at least 1 and fewer than there are steps");
    }
    if target >= width {
        return refuse("target", target, "one of the values of a vertex");
    }
    let remaining = steps - lags;
    let row = width * lags;
    let mut features = vec![0.0; remaining * vertices * row];
    if vertices > 0 {
        features.par_chunks_mut(vertices * row).enumerate().for_each(|(step, matrix)| {
            for (vertex, row) in matrix.chunks_mut(row).enumerate() {
                for (feature, series) in row.chunks_mut(lags).enumerate() {
                    for (lag, value) in series.iter_mut().enumerate() {
                        *value = values.at(step + lag)[vertex * width + feature];
                    }
                }
            }
        });
    }
    let targets = (lags..steps)
        .flat_map(|step| values.at(step).iter().skip(target).step_by(width).copied())
        .collect();
    Ok((
        VertexFeatures::new(remaining, vertices, row, features)?,
        Targets::new(remaining, vertices, None, targets)?,
    ))
}

/// Values minus their mean, divided by their population standard deviation plus `epsilon`
/// ([`STANDARD_EPSILON`] for PyG-Temporal). Computed in f64 and rounded once.
pub fn standardise(mut values: VertexFeatures, over: StandardOver, epsilon: f64) -> VertexFeatures {
    let columns = match over {
        StandardOver::Time => values.vertices() * values.width(),
        StandardOver::TimeAndVertices => values.width(),
    };
    if columns == 0 {
        return values;
    }
    let moments = column_moments(values.values(), columns);
    let rows = BLOCK_VALUES.div_ceil(columns);
    values.values_mut().par_chunks_mut(rows * columns).for_each(|block| {
        for (value, (mean, deviation)) in block.iter_mut().zip(moments.iter().cycle()) {
            *value = ((f64::from(*value) - mean) / (deviation + epsilon)) as f32;
        }
    });
    values
}

/// Values of one task.
const BLOCK_VALUES: usize = 1 << 15;

/// Mean and population standard deviation of each column of a matrix of `columns` columns, in two
/// passes down the rows; parallel over ranges of columns.
fn column_moments(values: &[f32], columns: usize) -> Vec<(f64, f64)> {
    const RANGE: usize = 256;
    let count = (values.len() / columns) as f64;
    let mut moments = vec![(0.0, 0.0); columns];
    moments.par_chunks_mut(RANGE).enumerate().for_each(|(range, moments)| {
        let rows = || values.chunks(columns).map(|row| &row[range * RANGE..][..moments.len()]);
        let mut means = vec![0.0; moments.len()];
        for row in rows() {
            means.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        means.iter_mut().for_each(|sum| *sum /= count);
        let mut squares = vec![0.0; moments.len()];
        for row in rows() {
            for ((sum, &value), mean) in squares.iter_mut().zip(row).zip(&means) {
                *sum += (f64::from(value) - mean).powi(2);
            }
        }
        for ((moment, mean), squares) in moments.iter_mut().zip(means).zip(squares) {
            *moment = (mean, (squares / count).sqrt());
        }
    });
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_the_values_before_the_target() {
        let values = VertexFeatures::new(4, 2, 1, (0..8).map(|at| at as f32).collect()).unwrap();
        let (features, targets) = lagged(&values, 2, 0).unwrap();
        assert_eq!((features.steps(), features.width()), (2, 2));
        assert_eq!(features.at(1), [2.0, 4.0, 3.0, 5.0]);
        assert_eq!(targets.values(), [4.0, 5.0, 6.0, 7.0]);
    }

    #[test]
    fn several_values_keep_their_lags_together() {
        let values = VertexFeatures::new(3, 1, 2, vec![1.0, 10.0, 2.0, 20.0, 3.0, 30.0]).unwrap();
        let (features, targets) = lagged(&values, 2, 1).unwrap();
        assert_eq!(features.at(0), [1.0, 2.0, 10.0, 20.0]);
        assert_eq!(targets.values(), [30.0]);
    }

    #[test]
    fn lags_that_leave_no_step_are_refused() {
        let values = VertexFeatures::new(3, 1, 1, vec![1.0, 2.0, 3.0]).unwrap();
        assert!(lagged(&values, 0, 0).is_err());
        assert!(lagged(&values, 3, 0).is_err());
        assert!(lagged(&values, 1, 1).is_err());
    }

    #[test]
    fn standardised_values_have_mean_zero_and_deviation_one() {
        let values = VertexFeatures::new(4, 1, 2, vec![1.0, 7.0, 3.0, 7.0, 5.0, 7.0, 7.0, 7.0]);
        let standard = standardise(values.unwrap(), StandardOver::Time, STANDARD_EPSILON);
        let deviation = 5f32.sqrt();
        let expected = [-3.0 / deviation, 0.0, -1.0 / deviation, 0.0];
        for (got, expected) in standard.values().iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn moments_over_vertices_use_all_of_a_feature() {
        let values = VertexFeatures::new(1, 2, 1, vec![1.0, 3.0]).unwrap();
        let standard = standardise(values, StandardOver::TimeAndVertices, 0.0);
        assert_eq!(standard.values(), [-1.0, 1.0]);
    }
}
