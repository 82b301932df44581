//! Executes a plan: epochs, frames, evaluation, checkpoints, run folders.
//!
//! It decides no strategy: what to compute in which order is written in the plan.
#![forbid(unsafe_code)]

pub mod answers;
mod class_weights;
pub mod conformance;
mod device;
pub mod error;
pub mod events;
pub mod interrupt;
pub mod learner;
pub mod observer;
pub mod scaling;
pub mod snapshots;
mod stages;
mod task_log;
pub mod train;
pub mod training_run;
mod transport;

pub use error::TrainError;
pub use zoetrope_config as config;
pub use zoetrope_config::Config;
pub use zoetrope_nn::weights::VertexRows;
pub use zoetrope_run as run;
pub use zoetrope_run::{FailureKind, checkpoint, shell_word};
