//! Executes a plan: epochs, frames, evaluation, checkpoints, run folders.
//!
//! It decides no strategy: what to compute in which order is written in the plan.
#![forbid(unsafe_code)]

pub mod answers;
pub mod checkpoint;
mod class_weights;
pub mod config;
pub mod conformance;
mod device;
pub mod error;
pub mod events;
mod fault;
pub mod interrupt;
pub mod learner;
pub mod observer;
pub mod run;
pub mod scaling;
mod shell;
pub mod snapshots;
mod stages;
pub mod train;
pub mod training_run;
mod transport;

pub use config::Config;
pub use error::{FailureKind, TrainError};
pub use shell::shell_word;
pub use zoetrope_nn::weights::VertexRows;
