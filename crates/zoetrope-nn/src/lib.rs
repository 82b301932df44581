//! Layers, models, optimisers, metrics and parameter naming.
//!
//! It knows neither ranks nor files of data sets: a model sees matrices on a tape and groups of
//! snapshots, nothing else.
#![forbid(unsafe_code)]

pub mod metrics;
