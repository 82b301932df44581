//! Layers, models, optimisers, metrics and parameter naming.
//!
//! A model is blocks of a *structure encoder*, which takes a group of snapshots, and a *time
//! encoder*, which takes masked sequences. Both see matrices of `T·N` rows stacked by time.
//!
//! The crate knows neither ranks nor files of data sets: a model sees matrices on a tape and groups
//! of snapshots, nothing else.
#![forbid(unsafe_code)]

pub mod decoder;
pub mod encoder;
pub mod error;
pub mod forward;
pub mod frame;
pub mod frame_share;
pub mod graph;
pub mod initialise;
pub mod layer;
pub mod memory;
pub mod metrics;
pub mod model;
pub mod optimiser;
pub mod parameters;
pub mod stage;
pub mod state;
pub mod stream;
pub mod structure;
pub mod time;
pub mod weights;

pub use encoder::{Sequence, StructureEncoder, TimeEncoder};
pub use error::NnError;
pub use forward::Forward;
pub use frame::{Frame, Order};
pub use frame_share::{PendingRows, RowExchange, Shared, SharedLayer, Sharing, StructureRows};
pub use graph::{Adjacency, PreparedGraph};
pub use initialise::Initialise;
pub use model::{Embedding, Model};
pub use parameters::{Builder, ParameterId, Parameters, Role};
pub use stage::{Stage, StageKind, StageListener};
pub use state::State;
