//! Runs over snapshots: what they learn from, the part that touches tapes, tasks and what they draw, the rules
//! that a model is compared with, and the session that executes a plan of frames.
//!
//! Its counterpart is [`events`](crate::events).

pub mod baseline;
pub mod engine;
pub mod material;
pub mod sampling;
pub mod session;
pub mod task;
