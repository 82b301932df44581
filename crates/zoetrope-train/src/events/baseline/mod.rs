//! What an event model must beat: predictions that need no training.
//!
//! | task | baselines |
//! | --- | --- |
//! | link prediction | [`LinkBaselines`]: EdgeBank, EdgeBank with a window, popularity, popularity in a window, last destination |
//! | node classification | [`compare_classes`]: majority class, last label of the vertex |
//! | edge classification | [`compare_classes`]: majority class, last label of the pair |
//! | edge regression | [`compare_values`]: mean, last value of the pair |
//!
//! A baseline is told the stream event by event, and asked about an event before it is told any
//! event of the same time (or, if equal times count as past, before it is told the event itself).
//! So it cannot look ahead. It scores the very pairs that the model scores and is judged by the same
//! accumulators ([`judge`](super::judge)).

mod labels;
mod links;
mod past;

pub use labels::{LabelStream, compare_classes, compare_values};
pub use links::{LinkBaselineOptions, LinkBaselines};
pub use past::{Past, SCORES};

#[cfg(test)]
mod tests;
