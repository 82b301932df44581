//! Numbers of events.

use zoetrope_nn::metrics::Regression;
use zoetrope_run::Metrics;

/// Errors of predicted numbers.
#[derive(Debug, Clone, Default)]
pub struct ValueJudge {
    errors: Regression,
}

impl ValueJudge {
    /// Forgets everything.
    pub fn begin(&mut self) {
        self.errors.clear();
    }

    /// Adds predictions and true values, NaN if there is none.
    ///
    /// # Panics
    /// If there are not as many of one as of the other.
    pub fn add(&mut self, predicted: &[f32], truth: &[f32]) {
        self.errors.add(predicted, truth);
    }

    /// All measures by name; NaN if one is not defined.
    pub fn metrics(&self) -> Metrics {
        let measures =
            [("mse", self.errors.mse()), ("rmse", self.errors.rmse()), ("mae", self.errors.mae())];
        let named = measures.map(|(name, value)| (name.to_owned(), value.unwrap_or(f64::NAN)));
        Metrics::from(named)
    }
}
