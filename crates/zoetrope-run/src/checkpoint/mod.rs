//! Checkpoints: whole or invisible, checked when read, and enough to continue to the same bits.
//!
//! Owns what a checkpoint holds ([`SavedState`], listed in [`entries`]), its canonical [`state_hash`], and the protocol
//! by which it reaches the disk. A checkpoint is a folder `step-N`:
//!
//! | file | holds |
//! | --- | --- |
//! | `weights.safetensors` | parameters under their state_dict names; also good for `--weights` |
//! | `optimiser.safetensors` | moments and the like |
//! | `hidden.safetensors` | hidden state that is carried between frames |
//! | `cursor.json` | epoch, frame, counters of random streams, schedules, metrics so far |
//! | `MANIFEST` | length and SHA-256 of each of them, and a SHA-256 of itself |
//!
//! Saving writes `step-N.tmp`, flushes its files and the folder, reads everything back, renames the
//! folder, moves `latest`, flushes the folder of both names, and only then deletes what is older. Killed or
//! failing at any point, the checkpoint before still loads. Each flush guards one thing:
//!
//! | flushed | so that after a power cut |
//! | --- | --- |
//! | the five files of `step-N.tmp` | a folder named `step-N` has every byte of them |
//! | `step-N.tmp` | it has their names |
//! | the folder of checkpoints | the new name is there before an older checkpoint is deleted |
//! | the run folder, at the first save of a process | so is the folder of checkpoints |
//!
//! Loading trusts nothing but manifests: it takes the newest folder whose every byte is as it was
//! written. `latest` is for people and scripts; it is not flushed by itself, and a power cut may leave it
//! empty or with the name of another checkpoint.
//!
//! Numbers that are not finite are refused before anything is written.
//!
//! It does not know tapes, models or optimisers: the trainer fills and takes apart a state.

mod cursor;
mod digest;
mod encode;
pub mod entries;
mod exact;
mod files;
mod load;
mod manifest;
mod state;
mod store;

pub use cursor::Cursor;
pub use digest::state_hash;
pub use files::{Disk, FileLayer};
pub use load::Restored;
pub use state::{SavedState, SavedTensor, Tensors};
pub use store::{CheckpointStore, Surveyed, Written};

#[cfg(test)]
mod tests;
