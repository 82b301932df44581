//! Training and evaluation on streams of events.

pub mod baseline;
pub mod judge;
