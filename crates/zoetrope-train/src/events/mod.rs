//! Training on streams of events: batches in time order, memory that goes on from batch to batch.
//!
//! Owns what is particular to events: the material, the schedule of batches, their preparation
//! (questions, sampling, unique rows) on a thread of its own, the session, evaluation and replay.
//! What models compute is in `zoetrope_nn::stream`; how answers are judged is in [`judge`].
//!
//! All questions of a batch see the memory as it was before the batch, with the mails that were
//! waiting then (batch-stale). By default a batch ends before an event of a later time, so that memory knows no
//! event of a question's own time (`schedule`). Which events of neighbours they see is a choice of
//! the task: those before the question's own time, or those before the batch.
//!
//! Its counterpart is [`snapshots`](crate::snapshots): files of the same name do the same for the other kind.

mod ask;
pub mod baseline;
mod baselines;
mod best;
mod cost;
mod epoch;
mod estimate;
mod evaluate;
mod features;
mod identity;
pub mod judge;
mod material;
mod memory_source;
mod network;
mod own_answers;
mod own_features;
mod part_judge;
mod pieces;
mod planning;
mod predict;
mod prefetch;
mod prepare;
mod program;
mod recall;
mod replay;
mod restore;
mod schedule;
mod session;
mod start;
mod target;

pub use material::EventInput;
pub use memory_source::{MemorySource, MemoryUse};
pub use network::{StreamHead, StreamNetwork};
pub use own_answers::OwnAnswers;
pub use predict::Candidate;
pub use recall::SavedRun;
pub use session::EventSession;
