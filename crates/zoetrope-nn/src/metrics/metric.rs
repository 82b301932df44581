//! The names of measures, as reports spell them.

use std::fmt;

use serde::{Serialize, Serializer};

/// A measure that an accumulator reports.
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
    /// F1 of all decisions counted together; equals accuracy if each row has one class.
    F1Micro,
    /// Mean of the classes' F1, weighted by how often each class is true.
    F1Weighted,
    /// Average precision over all pairs together.
    AveragePrecision,
    /// Area under the receiver operating characteristic.
    Auc,
    /// Mean reciprocal rank.
    Mrr,
    /// Mean over steps of each step's average precision (EvolveGCN's MAP).
    MeanAp,
    /// Mean reciprocal rank of the positives of a source among all its candidates, averaged over
    /// sources and steps (EvolveGCN's MRR).
    RowMrr,
    /// Share of positives among the best k.
    HitsAt(u32),
}

impl Metric {
    /// All measures without a parameter.
    pub const PLAIN: [Self; 14] = [
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
        Self::MeanAp,
        Self::RowMrr,
    ];
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
            Self::MeanAp => "map",
            Self::RowMrr => "row_mrr",
            Self::HitsAt(k) => return write!(f, "hits@{k}"),
        })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_has_a_name_of_its_own() {
        let mut names = Metric::PLAIN.map(|metric| metric.to_string());
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(serde_json::to_string(&Metric::HitsAt(10)).unwrap(), "\"hits@10\"");
    }
}
