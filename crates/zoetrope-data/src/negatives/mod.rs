//! Negatives: edges that did not happen, from which a model learns to tell those that did.
//!
//! Every draw is a function of the seed, the epoch, the event and the place among the event's
//! negatives: negatives do not depend on the batch size or the number of threads. What is
//! drawn from which pool is said by [`Strategy`]; [`NegativeSampler`] draws while training,
//! [`NegativeList`] holds fixed negatives for evaluation and is kept in a file.

mod draw;
mod file;
mod list;
mod pool;
mod positives;
mod sampler;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::DataError;

pub use list::{ListMetadata, NegativeList, events_sha256};
pub use sampler::{Negative, NegativeSampler, Tally};

/// Stands for a destination if fewer negatives exist than were asked for.
pub const MISSING: u32 = u32::MAX;

/// Where negatives come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// The source of the event and any vertex that is a destination: in the training part for
    /// training, anywhere for evaluation (TGN, DyGLib, PyG, TGB).
    #[default]
    Random,
    /// The source of the event and any vertex (TGL, TGLite).
    All,
    /// An edge of the training part that does not happen now (DGB): its own source and
    /// destination.
    Historical,
    /// An edge of the evaluated part that is not in the training part and does not happen now
    /// (DGB): its own source and destination.
    Inductive,
    /// Half of them destinations that the source had in the training part and does not have now,
    /// the rest random destinations (TGB).
    Mixed,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 5] =
        [Self::Random, Self::All, Self::Historical, Self::Inductive, Self::Mixed];

    /// The name used on the command line, in files and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::All => "all",
            Self::Historical => "historical",
            Self::Inductive => "inductive",
            Self::Mixed => "mixed",
        }
    }

    /// Whether a negative has a source of its own rather than the event's.
    pub fn draws_sources(self) -> bool {
        matches!(self, Self::Historical | Self::Inductive)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = DataError;

    fn from_str(name: &str) -> Result<Self, DataError> {
        Self::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| {
            DataError::BadParameter {
                parameter: "negatives".into(),
                value: crate::error::shorten(name),
                expected: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
            }
        })
    }
}

/// What to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NegativeOptions {
    /// Where negatives come from.
    pub strategy: Strategy,
    /// How many for each event; they differ from each other.
    pub per_event: usize,
    /// The same seed draws the same negatives.
    pub seed: u64,
    /// Whether edges that happen at the event's time (the event itself among them) are left out.
    /// Historical and inductive negatives leave them out in any case.
    pub avoid_positives: bool,
}

impl Default for NegativeOptions {
    fn default() -> Self {
        Self { strategy: Strategy::Random, per_event: 1, seed: 0, avoid_positives: true }
    }
}

impl NegativeOptions {
    /// The most negatives an event may have.
    pub const MOST_PER_EVENT: usize = 1 << 20;

    fn check(&self) -> Result<(), DataError> {
        if (1..=Self::MOST_PER_EVENT).contains(&self.per_event) {
            return Ok(());
        }
        Err(DataError::BadParameter {
            parameter: "negatives per event".into(),
            value: self.per_event.to_string(),
            expected: format!("an integer from 1 to {}", Self::MOST_PER_EVENT),
        })
    }
}

#[cfg(test)]
mod tests;
