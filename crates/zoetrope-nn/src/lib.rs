//! Layers, models, optimisers, metrics and parameter naming.
//!
//! A model is blocks of a *structure encoder*, which takes a group of snapshots, and a *time
//! encoder*, which takes masked sequences. Both see matrices of `T·N` rows stacked by time.
//!
//! The crate knows neither ranks nor files of data sets: a model sees matrices on a tape and groups
//! of snapshots, nothing else.
//!
//! ```
//! use zoetrope_graph::SnapshotSequence;
//! use zoetrope_nn::forward::Updates;
//! use zoetrope_nn::model::{Model, Stack};
//! use zoetrope_nn::structure::Gcn;
//! use zoetrope_nn::time::Gru;
//! use zoetrope_nn::{Builder, Forward, Frame, Parameters, PreparedGraph, State};
//! use zoetrope_tensor::{Activation, Tape};
//!
//! let mut parameters = Parameters::default();
//! let mut builder = Builder::new(&mut parameters, 42);
//! let model = Stack::new("gcn-gru").block(
//!     Gcn::new(&mut builder.child("gcn"), 1, 4, Activation::Relu),
//!     Gru::new(&mut builder.child("gru"), 4, 4),
//! )?;
//!
//! // Two snapshots of three vertices with one feature each: 0 → 1, then 1 → 2.
//! let sequence = SnapshotSequence::new(3, vec![0, 1, 2], vec![0, 1], vec![1, 2], None)?;
//! let graph = PreparedGraph::new(&sequence, &model.forms())?;
//! let (mut tape, mut updates) = (Tape::new(), Updates::default());
//! let features = tape.copied(2 * 3, 1, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
//! let mut forward = Forward::evaluating(&mut tape, &parameters, &mut updates);
//! let embedding = model.embed(&mut forward, &Frame::whole(&graph, features), State::default())?;
//! assert_eq!((tape.shape(embedding.rows).rows, tape.shape(embedding.rows).cols), (6, 4));
//! # Ok::<(), zoetrope_nn::NnError>(())
//! ```
#![forbid(unsafe_code)]

pub mod decoder;
pub mod encoder;
pub mod error;
pub mod forward;
pub mod frame;
mod frame_pieces;
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
pub use frame_pieces::Next;
pub use frame_share::{Cut, PendingRows, RowExchange, Shared, StructureRows, VertexNumbers};
pub use graph::{Adjacency, PreparedGraph};
pub use initialise::Initialise;
pub use model::{Embedding, Model};
pub use parameters::{Builder, ParameterId, Parameters, Role};
pub use stage::{Stage, StageKind, StageListener};
pub use state::State;
