//! From measures that may be undefined to the metrics of a summary.

use zoetrope_nn::metrics::{Metric, Undefined};
use zoetrope_run::Metrics;

/// What stands before the name of an error in the data's own units.
const OWN: &str = "own_";

/// Puts measures under their names; NaN (null in files) if one is undefined.
pub(super) fn put(
    metrics: &mut Metrics,
    report: impl IntoIterator<Item = (Metric, Result<f64, Undefined>)>,
) {
    for (metric, value) in report {
        metrics.insert(metric.to_string(), value.unwrap_or(f64::NAN));
    }
}

/// The same for errors in the data's own units.
pub(super) fn put_own(
    metrics: &mut Metrics,
    report: impl IntoIterator<Item = (Metric, Result<f64, Undefined>)>,
) {
    for (metric, value) in report {
        metrics.insert(format!("{OWN}{metric}"), value.unwrap_or(f64::NAN));
    }
}
