//! Times plans on machines that are described, not there.
//!
//! The simulator runs the task graphs that a plan is lowered to ([`zoetrope_plan::TaskGraph`]), which are what the
//! trainer does task by task, on a [`Machine`]: streams of every rank, links and memory that they share, messages
//! that wait for the last of their ranks. It computes nothing and decides nothing; what it knows of the data is in
//! the programs. Same input, same bits.
//!
//! Times are those that were measured of the machine's operators ([`machine::Calibration`]) if they were, otherwise
//! work by assumed fractions of its rates.
//!
//! Not here: reading files (the caller does), measuring, choosing.
#![forbid(unsafe_code)]

mod chakra;
mod classes;
mod clock;
mod engine;
mod error;
pub mod failures;
mod fluid;
mod job;
pub mod machine;
mod messages;
pub mod operators;
pub mod outcome;
pub mod papers;
mod pictures;
mod program;
mod repeat;
mod resources;
#[cfg(test)]
mod tests;
mod work;

pub use engine::Options;
pub use error::SimError;
pub use job::Job;
pub use machine::{Machine, MachineError};
pub use outcome::Outcome;
pub use pictures::Pictures;
pub use resources::ResourceKind;
pub use work::{ModelFacts, Work};
