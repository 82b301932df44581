//! The names of measures, as configuration and reports spell them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A measure that a task may report and that training may watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Mean squared error.
    Mse,
    /// Root of the mean squared error.
    Rmse,
    /// Mean absolute error.
    Mae,
    /// Mean absolute error relative to the true value, near-zero true values left out; a fraction.
    Mape,
    /// Share of right classes.
    Accuracy,
    /// F1 of class 1.
    F1,
    /// Mean of the classes' F1.
    F1Macro,
    /// F1 of all decisions counted together; equals accuracy where each row has one class.
    F1Micro,
    /// Mean of the classes' F1, weighted by how often each class is true.
    F1Weighted,
    /// Average precision over all pairs together.
    AveragePrecision,
    /// Area under the receiver operating characteristic.
    Auc,
    /// Mean reciprocal rank.
    Mrr,
    /// Share of positives among the best k.
    HitsAt(u32),
}

impl Metric {
    /// All measures without a parameter.
    pub const PLAIN: [Self; 12] = [
        Self::Mse,
        Self::Rmse,
        Self::Mae,
        Self::Mape,
        Self::Accuracy,
        Self::F1,
        Self::F1Macro,
        Self::F1Micro,
        Self::F1Weighted,
        Self::AveragePrecision,
        Self::Auc,
        Self::Mrr,
    ];

    /// The measure of a name such as `mse` or `hits@10`.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(k) = name.strip_prefix("hits@") {
            let digits = !k.is_empty() && k.bytes().all(|byte| byte.is_ascii_digit());
            return k.parse().ok().filter(|&k| digits && k > 0).map(Self::HitsAt);
        }
        Self::PLAIN.into_iter().find(|metric| metric.to_string() == name)
    }

    /// Whether more is better; errors are better when they are less.
    pub fn higher_is_better(self) -> bool {
        !matches!(self, Self::Mse | Self::Rmse | Self::Mae | Self::Mape)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mse => "mse",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::Mape => "mape",
            Self::Accuracy => "accuracy",
            Self::F1 => "f1",
            Self::F1Macro => "f1_macro",
            Self::F1Micro => "f1_micro",
            Self::F1Weighted => "f1_weighted",
            Self::AveragePrecision => "ap",
            Self::Auc => "auc",
            Self::Mrr => "mrr",
            Self::HitsAt(k) => return write!(f, "hits@{k}"),
        })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| {
            let known = Self::PLAIN.map(|metric| metric.to_string()).join(", ");
            serde::de::Error::custom(format!("{name:?} is no measure: use {known} or hits@K"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_measure() {
        for metric in Metric::PLAIN.into_iter().chain([1, 10, u32::MAX].map(Metric::HitsAt)) {
            assert_eq!(Metric::from_name(&metric.to_string()), Some(metric));
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(serde_json::from_str::<Metric>(&json).unwrap(), metric);
        }
    }

    #[test]
    fn names_that_mean_nothing_are_refused() {
        for name in ["", "hits@", "hits@0", "hits@+3", "hits@4294967296", "MSE"] {
            assert_eq!(Metric::from_name(name), None, "{name}");
        }
        let error = serde_json::from_str::<Metric>("\"hits@x\"").unwrap_err().to_string();
        assert!(error.contains("hits@x") && error.contains("hits@K"), "{error}");
    }

    #[test]
    fn errors_are_better_when_less_and_everything_else_when_more() {
        assert!(!Metric::Mape.higher_is_better());
        assert!(Metric::Mrr.higher_is_better() && Metric::HitsAt(3).higher_is_better());
    }
}
