//! Runs frames: the part of the trainer that touches tapes.
//!
//! Owns the network (a model and the head of its task), the prepared graph, the kept aggregations
//! and the tapes. It executes what a plan says about frames, groups, order and reuse, and decides
//! nothing itself.

mod asked_answers;
mod beside_computing;
mod counted_copies;
mod estimate;
mod feature_windows;
mod features;
mod local_graph;
mod miniature;
mod network;
mod operators;
mod own_rows;
mod own_snapshots;
mod piece;
mod piece_exchange;
mod reuse;
mod run_piece;
mod runner;
mod sent_bytes;
mod sent_graph;
mod sharing;
mod stages;

pub(crate) use counted_copies::CountedCopies;
pub use estimate::{Extent, StateSize, StepCost, block_states, bytes_on_gpu, step_cost};
pub use features::{FeatureSource, Features};
pub(crate) use network::parameters_must_fit;
pub use network::{Head, Network};
pub use operators::operators;
pub use piece::Piece;
pub use run_piece::{PieceRun, RunPiece};
pub(crate) use runner::evaluating;
pub use runner::{FrameRunner, Layout, Output};
pub use sent_bytes::SentBytes;
pub use sharing::FrameSharing;
pub use stages::stages;
