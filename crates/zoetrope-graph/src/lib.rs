//! Events, snapshots and the structures that dynamic-graph training stands on.
//!
//! This crate owns identifiers, exact 64-bit time, the columnar event store, the temporal index,
//! the snapshot sequence and everything that can be derived from them by pure computation:
//! normalised CSR matrices, sliced CSR, differences, overlaps, smoothing, window statistics.
//!
//! It deliberately does not parse files that come from outside (that is `zoetrope-data`) and
//! knows no device. The one file format it owns is its own memory-mappable store ([`store`]).
//!
//! Invariants: results do not depend on the number of threads; times stay 64-bit integers; edges
//! of a snapshot are ordered by (destination, source), ties in input order.
#![deny(unsafe_code)]

pub mod calendar;
pub mod column;
pub mod discretise;
pub mod duration;
pub mod error;
pub mod events;
pub mod features;
pub mod ids;
pub mod random;
pub mod snapshot;
pub mod time;
pub mod window;

pub use calendar::CalendarUnit;
pub use column::Column;
pub use discretise::{DiscretiseOptions, Lifetime, Merge, discretise};
pub use duration::Duration;
pub use error::GraphError;
pub use events::{EventKind, EventStore};
pub use features::{Targets, VertexFeatures};
pub use ids::{EventId, NameTable, TextTable, VertexId, VertexNames};
pub use snapshot::{SnapshotSequence, SnapshotView};
pub use time::{Time, TimeScale, TimeUnit};
pub use window::{Origin, Windowing, Windows, suggest_window};
