//! Why a measure has no value.

use thiserror::Error;

/// Why the observations do not define a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Undefined {
    /// Nothing was observed, or everything was left out as missing.
    #[error("nothing was measured: no observation has a known true value")]
    NoObservations,
    /// Every true value is so near 0 that a relative error means nothing.
    #[error("all {left_out} true values are nearly 0, so there is no relative error")]
    AllNearZero {
        /// How many true values were left out.
        left_out: u64,
    },
    /// There is no positive to find.
    #[error("none of the {negatives} pairs is a positive")]
    NoPositives {
        /// How many negatives there are.
        negatives: u64,
    },
    /// There is no negative to tell positives from.
    #[error("all {positives} pairs are positives")]
    NoNegatives {
        /// How many positives there are.
        positives: u64,
    },
    /// The class is neither among the predictions nor among the true classes.
    #[error("class {class} occurs neither in the predictions nor in the true classes")]
    AbsentClass {
        /// The class that was asked for.
        class: u32,
    },
    /// The measure was not asked for when the observations came.
    #[error("hits@{k} was not counted; name it when the ranking is made")]
    NotCounted {
        /// The place that was asked for.
        k: u32,
    },
    /// Predictions (or true values) are infinite or NaN.
    #[error("{count} predictions are not finite numbers; the model has diverged")]
    NotFinite {
        /// How many observations have one.
        count: u64,
    },
}

/// Passes if no observation was broken and there is at least one.
pub(super) fn check(observations: u64, not_finite: u64) -> Result<(), Undefined> {
    match (not_finite, observations) {
        (0, 0) => Err(Undefined::NoObservations),
        (0, _) => Ok(()),
        (count, _) => Err(Undefined::NotFinite { count }),
    }
}
