//! Events, snapshots and the structures that dynamic-graph training stands on.
//!
//! This crate owns identifiers, exact 64-bit time, the columnar event store, the temporal index,
//! the snapshot sequence and everything that can be derived from them by pure computation:
//! normalised CSR matrices and slices of their rows, differences, overlaps, smoothing, window
//! statistics.
//!
//! It deliberately does not parse files that come from outside (that is `zoetrope-data`) and
//! knows no device. The one file format it owns is its own memory-mappable store ([`store`]).
//!
//! Invariants: results do not depend on the number of threads; times stay 64-bit integers; edges
//! of a snapshot are ordered by (destination, source), ties in input order.
//!
//! ```
//! use std::num::NonZeroU64;
//! use zoetrope_graph::{
//!     DiscretiseOptions, EventStore, TimeScale, VertexNames, Windowing, Windows, discretise,
//! };
//!
//! // Four events among three vertices, in any order of time.
//! let (src, dst, time) = (vec![0, 1, 0, 2], vec![1, 2, 1, 0], vec![5, 0, 7, 9]);
//! let names = VertexNames::identity(3);
//! let columns = Default::default();
//! let events = EventStore::new(src, dst, time, columns, TimeScale::SECONDS, names)?;
//! assert_eq!(events.time(), [0, 5, 7, 9]);
//!
//! // Two windows with two events each become two snapshots.
//! let windows = Windows::cut(&events, &Windowing::Events(NonZeroU64::new(2).unwrap()))?;
//! let snapshots = discretise(&events, &windows, &DiscretiseOptions::default())?;
//! assert_eq!(snapshots.steps(), 2);
//! assert_eq!((snapshots.at(0).src, snapshots.at(0).dst), (&[0, 1][..], &[1, 2][..]));
//! # Ok::<(), zoetrope_graph::GraphError>(())
//! ```
#![deny(unsafe_code)]

pub mod boundaries;
pub mod calendar;
pub mod change;
pub mod column;
pub mod counted;
pub mod csr;
pub mod degree;
pub mod difference;
pub mod discretise;
pub mod distinct;
pub mod duration;
pub mod error;
pub mod event_view;
pub mod events;
pub mod features;
pub mod ids;
mod intersect;
mod key_blocks;
pub mod lag;
pub mod laplacian;
pub mod link_set;
pub mod made;
pub mod matrix_rows;
pub mod normalise;
pub mod overlap;
pub mod presence;
pub mod random;
pub mod ranges;
mod row_blocks;
pub mod row_slices;
pub mod sampler;
pub mod smooth;
mod smooth_arena;
pub mod smooth_features;
pub mod snapshot;
pub mod spelling;
pub mod store;
pub mod temporal_index;
pub mod time;
mod time_order;
mod transpose;
pub mod window;

pub use boundaries::Boundaries;
pub use calendar::CalendarUnit;
pub use change::StepChange;
pub use column::Column;
pub use counted::SnapshotCounts;
pub use csr::Csr;
pub use difference::Difference;
pub use discretise::{DiscretiseOptions, Lifetime, Merge, WindowSource, discretise};
pub use distinct::Distinct;
pub use duration::Duration;
pub use error::GraphError;
pub use event_view::{Event, EventView};
pub use events::{EventKind, EventStore};
pub use features::{Targets, VertexFeatures};
pub use ids::{EventId, NameTable, TextTable, VertexId, VertexNames};
pub use link_set::LinkSet;
pub use made::SnapshotSource;
pub use matrix_rows::MatrixRows;
pub use overlap::Overlap;
pub use presence::Presence;
pub use ranges::Ranges;
pub use row_slices::RowSlices;
pub use sampler::{EqualTimes, Moment, Sampled, Sampler};
pub use snapshot::{SnapshotSequence, SnapshotView};
pub use temporal_index::{Direction, TemporalIndex, TemporalView};
pub use time::{Time, TimeScale, TimeUnit};
pub use time_order::TimeOrder;
pub use window::{Origin, Suggestion, Windowing, Windows, suggest_cut, suggest_window};
