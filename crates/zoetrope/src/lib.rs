//! Neural networks on graphs that change over time.
//!
//! This crate contains nothing of its own: each room of the house is a module here, and [`prelude`] has what
//! most programs need. From a file to a trained model:
//!
//! ```
//! use zoetrope::prelude::*;
//!
//! let folder = tempfile::tempdir()?;
//! let rides = folder.path().join("rides.csv");
//! let rows: String = (0..60).map(|t| format!("{},{},{t}\n", t % 7, 7 + t % 5)).collect();
//! std::fs::write(&rides, format!("bike,station,time\n{rows}"))?;
//!
//! let config = Config::builder()
//!     .flag("data", "data.path", rides.display().to_string())
//!     .flag("out", "output.dir", folder.path().join("run").display().to_string())
//!     .set("model.name=jodie")
//!     .set("train.epochs=1")
//!     .build()?;
//! let finished = train_unobserved(config)?;
//! assert!(finished.summary.test["ap"] > 0.0);
//!
//! // Later, or elsewhere: the model from its folder.
//! let mut run = open_run(&finished.folder, &Quiet)?;
//! assert_eq!(run.session_mut().evaluate(Part::Test)?["ap"], finished.summary.test["ap"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/` has a program each for training on a CSV file, a model of one's own, a training loop of one's
//! own, ranks, and reading what a run left. The command line is the crate `zoetrope-cli`.
#![forbid(unsafe_code)]

pub mod prelude;

pub use zoetrope_config as config;
pub use zoetrope_data as data;
pub use zoetrope_dist as dist;
pub use zoetrope_graph as graph;
pub use zoetrope_heap as heap;
pub use zoetrope_nn as nn;
pub use zoetrope_plan as plan;
pub use zoetrope_run as run;
pub use zoetrope_sim as sim;
pub use zoetrope_tensor as tensor;
pub use zoetrope_train as train;
