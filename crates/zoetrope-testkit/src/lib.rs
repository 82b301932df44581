//! Support for tests: real data sets where they are at hand, measured child processes, an emulated
//! card, and JSON comparison.
//!
//! Used by tests only and never published. It knows nothing of the crates that it serves.
#![forbid(unsafe_code)]

pub mod emulator;
pub mod json;
pub mod process;
pub mod real_data;

pub use process::{Outcome, run_measured};
pub use real_data::shared_data;
