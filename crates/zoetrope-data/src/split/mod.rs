//! Splits into training, validation and test: by time, by snapshots, and with vertices held out.
//!
//! Training never sees the future: an event belongs to the part in which its time falls, and
//! events of one time are never separated.

mod inductive;
mod quantile;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::{EventStore, Time};

use crate::error::DataError;

pub use inductive::{InductiveSplit, Novelty};
pub use quantile::time_quantile;

/// Where training ends and where validation ends, as fractions of the whole.
///
/// The default is 0.70 and 0.85, the convention of TGN, DyGLib, PyG and TGB.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fractions {
    /// Training is up to here.
    pub train_end: f64,
    /// Validation is from there up to here, test the rest.
    pub validation_end: f64,
}

impl Default for Fractions {
    fn default() -> Self {
        Self { train_end: 0.70, validation_end: 0.85 }
    }
}

impl Fractions {
    /// Checks that `0 ≤ train_end ≤ validation_end ≤ 1`.
    ///
    /// # Errors
    /// [`DataError::BadParameter`] if it does not hold.
    pub fn new(train_end: f64, validation_end: f64) -> Result<Self, DataError> {
        if (0.0..=1.0).contains(&train_end) && (train_end..=1.0).contains(&validation_end) {
            return Ok(Self { train_end, validation_end });
        }
        Err(DataError::BadParameter {
            parameter: "split".into(),
            value: format!("{train_end},{validation_end}"),
            expected: "two fractions from 0 to 1, the first not above the second".into(),
        })
    }
}

/// A part of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What is learned from.
    Train,
    /// What decisions during training look at.
    Validation,
    /// What is looked at once, at the end.
    Test,
}

impl Part {
    /// The name on command lines and in files: `train`, `val` or `test`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "val",
            Self::Test => "test",
        }
    }
}

/// A time-ordered stream or sequence cut in three: positions of events or snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// What is learned from.
    pub train: Range<usize>,
    /// What follows it.
    pub validation: Range<usize>,
    /// The end.
    pub test: Range<usize>,
    /// The last time that belongs to training and the last that belongs to validation; `None`
    /// if snapshots were split, and if there is no event.
    pub boundaries: Option<[Time; 2]>,
}

impl Split {
    /// Splits events at time quantiles: `t ≤ boundary` goes left. The boundary is the quantile
    /// that `numpy.quantile` computes (see [`time_quantile`]).
    pub fn by_time(store: &EventStore, fractions: Fractions) -> Self {
        let time = store.time();
        if time.is_empty() {
            return Self { train: 0..0, validation: 0..0, test: 0..0, boundaries: None };
        }
        let boundaries =
            [fractions.train_end, fractions.validation_end].map(|at| time_quantile(time, at));
        let [train, validation] =
            boundaries.map(|boundary| time.partition_point(|&time| time <= boundary));
        Self { boundaries: Some(boundaries), ..Self::at(train, validation, time.len()) }
    }

    /// Splits events after the first `train` and after the first `validation` of them, each moved
    /// behind the events of the same time.
    pub fn by_events(store: &EventStore, train: usize, validation: usize) -> Self {
        let time = store.time();
        let last_time = |events: usize| events.min(time.len()).checked_sub(1).map(|at| time[at]);
        let behind = |events: usize| {
            last_time(events).map_or(0, |last| time.partition_point(|&time| time <= last))
        };
        let train = behind(train);
        let validation = behind(validation).max(train);
        let first = time.first().map_or(0, |first| first.saturating_sub(1));
        let boundary = |events: usize| last_time(events).unwrap_or(first);
        Self {
            boundaries: (!time.is_empty()).then(|| [boundary(train), boundary(validation)]),
            ..Self::at(train, validation, time.len())
        }
    }

    /// Splits `steps` snapshots: the first `⌊train_end × steps⌋` train, as PyG-Temporal's
    /// `temporal_signal_split` has it.
    pub fn by_snapshots(steps: usize, fractions: Fractions) -> Self {
        let cut = |fraction: f64| ((fraction * steps as f64) as usize).min(steps);
        let train = cut(fractions.train_end);
        Self::at(train, cut(fractions.validation_end).max(train), steps)
    }

    fn at(train: usize, validation: usize, end: usize) -> Self {
        Self {
            train: 0..train,
            validation: train..validation,
            test: validation..end,
            boundaries: None,
        }
    }

    /// The positions of a part.
    pub fn part(&self, part: Part) -> Range<usize> {
        match part {
            Part::Train => self.train.clone(),
            Part::Validation => self.validation.clone(),
            Part::Test => self.test.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
