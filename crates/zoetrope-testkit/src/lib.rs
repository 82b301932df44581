//! Support for tests: real data sets if they are there, measured child processes, attacks by
//! mutated inputs, faults of real runs, an emulated GPU, and JSON comparison.
//!
//! Used by tests only and never published. It knows nothing of the crates that it serves.
#![forbid(unsafe_code)]

pub mod attack;
pub mod emulator;
pub mod faults;
pub mod flags;
pub mod json;
pub mod process;
pub mod promise;
pub mod random;
pub mod real_data;
pub mod scratch;

pub use process::{Outcome, run_measured};
pub use real_data::shared_data;
