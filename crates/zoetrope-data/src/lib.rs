//! Readers, writers, splits, negatives and generators for dynamic graphs.
//!
//! This is the only place that parses bytes from outside. Every reader validates while it reads,
//! reports problems with file, line or byte and column, never allocates from a size that a file
//! merely declares, and never panics, whatever the bytes.
//!
//! It does not know models, devices or ranks.
//!
//! ```
//! use zoetrope_data::{DataError, Dataset, Quiet, ReadOptions, open};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("rides.csv");
//! std::fs::write(&path, "from,to,time\nWest,East,10\nEast,Port,12\nWest,Port,12\n").unwrap();
//! let loaded = open(path.to_str().unwrap(), &ReadOptions::default(), &Quiet)?;
//! let Dataset::Events(events) = loaded.dataset else { panic!("a list of edges is events") };
//! assert_eq!((events.len(), events.vertices()), (3, 3));
//! assert_eq!(events.names().name(events.src()[0]), "West");
//!
//! // What is wrong is told with its place.
//! std::fs::write(&path, "from,to,time\nWest,East,10\nEast,Port,noon\n").unwrap();
//! let error = open(path.to_str().unwrap(), &ReadOptions::default(), &Quiet).unwrap_err();
//! assert!(matches!(error, DataError::Invalid { .. }) && error.to_string().contains("rides.csv:3"));
//! # Ok::<(), DataError>(())
//! ```
#![forbid(unsafe_code)]

pub mod assemble;
pub mod candidates;
pub mod dataset;
pub mod error;
pub mod facts;
pub mod format;
pub mod formats;
pub mod given;
pub mod inspect;
pub mod lagged;
pub mod negatives;
pub mod npy;
mod numbering;
pub mod numbers_file;
pub mod open;
pub mod options;
pub mod parts;
pub mod progress;
pub mod regular_file;
pub mod roles;
pub mod save;
pub mod scaling;
pub mod sink;
pub mod source;
pub mod split;
mod spool;
pub mod synthetic;
pub mod table;
mod time_text;
pub mod unroll;

pub use dataset::{Dataset, Loaded, Notes, SnapshotDataset};
pub use error::{DataError, Location, Problem};
pub use facts::{FactTargets, GraphFacts, facts_file};
pub use format::Format;
pub use open::open;
pub use options::{ColumnMap, Limits, ReadOptions};
pub use progress::{Progress, Quiet};
pub use roles::ColumnNote;
pub use save::save;
pub use time_text::parse_time;
