//! Runs frames: the part of the trainer that touches tapes.
//!
//! Owns the network (a model and the head of its task), the prepared graph, the kept aggregations
//! and the tapes. It executes what a plan says about frames, groups, order and reuse, and decides
//! nothing itself.

mod estimate;
mod network;
mod reuse;
mod runner;

pub use estimate::activation_cost;
pub use network::{Head, Network};
pub(crate) use runner::evaluating;
pub use runner::{FrameRunner, Layout};
