//! Executes a plan: epochs, frames, evaluation, checkpoints, run folders.
//!
//! It decides no strategy: what to compute in which order is written in the plan.
#![forbid(unsafe_code)]

pub mod answers;
pub mod baseline;
pub mod checkpoint;
mod class_weights;
pub mod config;
pub mod conformance;
pub mod course;
mod device;
pub mod engine;
pub mod error;
mod fault;
pub mod interrupt;
pub mod learner;
pub mod material;
pub mod run;
pub mod sampling;
pub mod scaling;
pub mod session;
mod shell;
mod stages;
pub mod stream;
pub mod task;
pub mod train;
mod transport;

pub use config::Config;
pub use error::{FailureKind, TrainError};
pub use shell::shell_word;
pub use zoetrope_nn::weights::VertexRows;
