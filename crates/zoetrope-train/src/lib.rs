//! Executes a plan: epochs, frames, evaluation, checkpoints, run folders.
//!
//! It decides no strategy: what to compute in which order is written in the plan.
//!
//! ```
//! use zoetrope_data::Quiet;
//! use zoetrope_data::split::Part;
//! use zoetrope_train::{Config, open_run, train_unobserved};
//!
//! let base = tempfile::tempdir().unwrap();
//! let config = Config::builder()
//!     .set("data.path=synthetic:demo?vertices=20&steps=40")
//!     .set("model.hidden=4")
//!     .set("train.epochs=2")
//!     .flag("--out", "output.dir", base.path().join("run").display().to_string())
//!     .build()?;
//! let finished = train_unobserved(config)?;
//! assert_eq!(finished.summary.epochs.len(), 2);
//!
//! // The folder is all that is needed to go on with the model, here or elsewhere.
//! let mut run = open_run(&finished.folder, &Quiet)?;
//! let test = run.session_mut().evaluate(Part::Test)?;
//! assert_eq!(test["mse"], finished.summary.test["mse"]);
//! # Ok::<(), zoetrope_train::TrainError>(())
//! ```
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
mod planned_machine;
mod saved_model;
pub mod scaling;
pub mod snapshots;
mod stages;
mod task_log;
pub mod train;
pub mod training_run;
mod transport;
mod unobserved;

pub use error::TrainError;
pub use saved_model::{open_run, put_run_weights};
pub use unobserved::train_unobserved;
pub use zoetrope_config::Config;
pub use zoetrope_nn::weights::VertexRows;
