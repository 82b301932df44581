//! Errors of predicted quantities.
//!
//! With true values `y`, predictions `p` and n observations:
//! MSE `Σ(y-p)²/n`, RMSE its root, MAE `Σ|y-p|/n`, and MAPE `Σ|y-p|/|y| / m` over the `m`
//! observations with `|y| > near_zero`. An observation without a true value (NaN) is left out of
//! all of them.

use super::metric::Metric;
use super::undefined::{Undefined, check};

/// The largest true value that MAPE leaves out as zero, unless told otherwise; the traffic
/// literature masks at the same magnitude.
pub const NEAR_ZERO: f64 = 1e-5;

/// Errors of predictions, accumulated over chunks.
///
/// ```
/// # use zoetrope_nn::metrics::Regression;
/// let mut errors = Regression::default();
/// errors.add(&[1.0, 2.0], &[1.0, 4.0]);
/// errors.add(&[7.0], &[f32::NAN]);
/// assert_eq!((errors.mse(), errors.missing()), (Ok(2.0), 1));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    near_zero: f64,
    observations: u64,
    missing: u64,
    not_finite: u64,
    squares: f64,
    absolutes: f64,
    relatives: f64,
    relative_observations: u64,
}

impl Default for Regression {
    fn default() -> Self {
        Self::new(NEAR_ZERO)
    }
}

impl Regression {
    /// MAPE leaves out true values whose magnitude is `near_zero` or less.
    pub fn new(near_zero: f64) -> Self {
        Self {
            near_zero,
            observations: 0,
            missing: 0,
            not_finite: 0,
            squares: 0.0,
            absolutes: 0.0,
            relatives: 0.0,
            relative_observations: 0,
        }
    }

    /// Adds predictions and their true values.
    ///
    /// # Panics
    /// If there are not as many of one as of the other.
    pub fn add(&mut self, predicted: &[f32], truth: &[f32]) {
        assert_eq!(predicted.len(), truth.len(), "predictions and true values");
        for (&predicted, &truth) in predicted.iter().zip(truth) {
            self.add_one(f64::from(predicted), f64::from(truth));
        }
    }

    fn add_one(&mut self, predicted: f64, truth: f64) {
        if truth.is_nan() {
            self.missing += 1;
            return;
        }
        self.observations += 1;
        let error = (predicted - truth).abs();
        if !error.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.squares += error * error;
        self.absolutes += error;
        if truth.abs() > self.near_zero {
            self.relatives += error / truth.abs();
            self.relative_observations += 1;
        }
    }

    /// Adds what another accumulator has seen.
    pub fn merge(&mut self, other: &Self) {
        self.observations += other.observations;
        self.missing += other.missing;
        self.not_finite += other.not_finite;
        self.squares += other.squares;
        self.absolutes += other.absolutes;
        self.relatives += other.relatives;
        self.relative_observations += other.relative_observations;
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        *self = Self::new(self.near_zero);
    }

    /// How many observations count.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// How many were left out because their true value is missing.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// How many count in all measures but MAPE, because their true value is nearly 0.
    pub fn near_zero(&self) -> u64 {
        self.observations - self.not_finite - self.relative_observations
    }

    /// Mean squared error.
    ///
    /// # Errors
    /// If nothing was observed or a prediction is not finite.
    pub fn mse(&self) -> Result<f64, Undefined> {
        self.mean(self.squares)
    }

    /// Root of the mean squared error.
    ///
    /// # Errors
    /// As [`mse`](Self::mse).
    pub fn rmse(&self) -> Result<f64, Undefined> {
        self.mse().map(f64::sqrt)
    }

    /// Mean absolute error.
    ///
    /// # Errors
    /// As [`mse`](Self::mse).
    pub fn mae(&self) -> Result<f64, Undefined> {
        self.mean(self.absolutes)
    }

    /// Mean absolute error relative to the true value, as a fraction; near-zero true values are
    /// left out.
    ///
    /// # Errors
    /// As [`mse`](Self::mse), and [`Undefined::AllNearZero`] if nothing is left.
    pub fn mape(&self) -> Result<f64, Undefined> {
        check(self.observations, self.not_finite)?;
        match self.relative_observations {
            0 => Err(Undefined::AllNearZero { left_out: self.near_zero() }),
            count => Ok(self.relatives / count as f64),
        }
    }

    /// All measures with their names.
    pub fn report(&self) -> [(Metric, Result<f64, Undefined>); 4] {
        [
            (Metric::Mse, self.mse()),
            (Metric::Rmse, self.rmse()),
            (Metric::Mae, self.mae()),
            (Metric::Mape, self.mape()),
        ]
    }

    fn mean(&self, sum: f64) -> Result<f64, Undefined> {
        check(self.observations, self.not_finite)?;
        Ok(sum / self.observations as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_observed_has_no_error() {
        let mut errors = Regression::default();
        assert_eq!(errors.mse(), Err(Undefined::NoObservations));
        errors.add(&[1.0], &[f32::NAN]);
        assert!(errors.report().iter().all(|(_, value)| *value == Err(Undefined::NoObservations)));
    }

    #[test]
    fn relative_errors_leave_out_true_values_near_zero() {
        let mut errors = Regression::default();
        errors.add(&[5.0, 5.0], &[0.0, 1e-6]);
        assert_eq!(errors.mape(), Err(Undefined::AllNearZero { left_out: 2 }));
        errors.add(&[3.0], &[-2.0]);
        assert_eq!((errors.mape(), errors.near_zero()), (Ok(2.5), 2));
    }

    #[test]
    fn a_prediction_that_is_not_finite_is_reported_and_makes_no_nan() {
        let mut errors = Regression::default();
        errors.add(&[1.0, f32::NAN, f32::INFINITY], &[1.0, 1.0, 2.0]);
        assert_eq!(errors.mae(), Err(Undefined::NotFinite { count: 2 }));
        assert_eq!(errors.near_zero(), 0);
        errors.clear();
        assert_eq!(errors, Regression::default());
    }

    #[test]
    fn errors_beyond_the_range_of_f32_stay_finite() {
        let mut errors = Regression::default();
        errors.add(&[f32::MAX], &[-f32::MAX]);
        assert!(errors.mse().unwrap().is_finite());
    }
}
