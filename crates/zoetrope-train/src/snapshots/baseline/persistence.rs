//! Tomorrow is like today: the last known value of each vertex.

use zoetrope_data::dataset::Signal;

use super::StepBaseline;

/// Predicts the value that each vertex had when it was last known.
///
/// The target of lagged data at sample `i - 1` is the newest lag of sample `i`, already on the
/// target's scale, so the previous target is the right value for lagged and for other data alike. If
/// a value is missing the last known one stays, here as among the features.
/// Before anything is known the prediction is the start value, 0 or what
/// [`starting_from`](Self::starting_from) gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Persistence {
    last: Vec<f32>,
}

impl Persistence {
    /// Nothing is known yet: 0 for every vertex, which is the mean of standardised values.
    pub fn new(vertices: usize) -> Self {
        Self { last: vec![0.0; vertices] }
    }

    /// Values known before the first step: for lagged data the column of
    /// [`last_lag_column`] in the first sample's features.
    pub fn starting_from(known: Vec<f32>) -> Self {
        Self { last: known }
    }
}

impl StepBaseline for Persistence {
    fn name(&self) -> &'static str {
        "persistence"
    }

    fn predict(&self, out: &mut [f32]) {
        out.copy_from_slice(&self.last);
    }

    fn observe(&mut self, truth: &[f32]) {
        assert_eq!(truth.len(), self.last.len(), "vertices");
        for (last, &truth) in self.last.iter_mut().zip(truth) {
            if !truth.is_nan() {
                *last = truth;
            }
        }
    }
}

/// The column of lagged features that holds the newest value of the target on its own scale;
/// `None` if the features are not lags of the target (one-hot columns, another series, or a
/// target on a logarithmic scale).
///
/// Lags lie oldest first, the channels of a step together, and the target is channel 0.
pub fn last_lag_column(signal: &Signal, lags: usize) -> Option<usize> {
    let of_target = signal.target.is_none() && signal.one_hot.is_none() && !signal.log_target;
    let newest = lags.checked_sub(1)? * signal.values.width();
    of_target.then_some(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::VertexFeatures;

    #[test]
    fn the_last_known_value_stays_where_a_value_is_missing() {
        let mut baseline = Persistence::starting_from(vec![5.0, 6.0]);
        let mut out = [0.0; 2];
        baseline.predict(&mut out);
        assert_eq!(out, [5.0, 6.0]);
        baseline.observe(&[1.0, f32::NAN]);
        baseline.observe(&[f32::NAN, f32::NAN]);
        baseline.predict(&mut out);
        assert_eq!(out, [1.0, 6.0]);
    }

    #[test]
    fn the_newest_lag_is_a_column_only_where_features_are_lags_of_the_target() {
        let series = || VertexFeatures::new(3, 1, 2, vec![0.0; 6]).unwrap();
        let plain = Signal::new(series(), 2);
        assert_eq!(last_lag_column(&plain, 2), Some(2));
        assert_eq!(last_lag_column(&plain, 0), None);
        let logarithmic = Signal { log_target: true, ..Signal::new(series(), 2) };
        assert_eq!(last_lag_column(&logarithmic, 2), None);
        let other = Signal { target: Some(series()), ..Signal::new(series(), 2) };
        assert_eq!(last_lag_column(&other, 2), None);
    }
}
