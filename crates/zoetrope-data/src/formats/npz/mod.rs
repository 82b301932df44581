//! `npz`: snapshots as a NumPy archive.
//!
//! | array | shape | type | holds |
//! | --- | --- | --- | --- |
//! | `edge_offsets` | T + 1 | integer | where each snapshot starts in the edge arrays |
//! | `edge_src`, `edge_dst` | E | integer below 2^32 | a message goes from source to destination |
//! | `edge_weight` | E | float | optional; 1 if absent |
//! | `features` | T × N × F or N × F | number | optional |
//! | `targets` | T × N or N | float, or integer classes (-1: none) | optional |
//!
//! One stored snapshot (`edge_offsets` of length 2) with features or targets of T steps is one
//! topology that holds for all T. The vertices are those of `features` and `targets`; without
//! these, `0..=` the highest id, or only the ids that occur if those are sparse.
//!
//! Zoetrope writes more arrays if the data needs them and reads them back; other programs may
//! ignore them: `vertices` and `steps` (counts that no other array shows), `classes`, `boundaries`
//! (T + 1 times), `sides` (vertices of each side of bipartite data), names of vertices as integers
//! (`names`, `second_names`) or text (`name_ends`, `name_bytes`, `second_name_…`). An array `lags`
//! says that `features` is a measured series of which lags are to be taken, with `standardise`
//! (0 no, 1 by vertex, 2 overall; then epsilon), `log_target`, `repeat_last_target`,
//! `one_hot_sizes` and `one_hot_classes` as in [`Signal`](crate::dataset::Signal).
//!
//! Events are not held: convert them to `parquet` or `store`.

mod archive;
mod members;
mod read;
mod sink;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use archive::{Member, NpzArchive};
pub use read::read;
pub(crate) use sink::NpzSink;
pub use write::write;

use crate::source::bare_name;

/// Says why a file is an npz archive of snapshots, if it is one.
pub fn recognises(path: &Path, head: &[u8]) -> Option<String> {
    if !head.starts_with(b"PK\x03\x04") {
        return None;
    }
    // The first local header names its member at byte 30; savez writes arrays in the order given.
    let length = u16::from_le_bytes([*head.get(26)?, *head.get(27)?]) as usize;
    let first = String::from_utf8_lossy(head.get(30..30 + length)?);
    let named = bare_name(path).ends_with(".npz");
    (named || first.ends_with(".npy")).then(|| {
        format!("a zip archive that starts with the array `{}`", first.trim_end_matches(".npy"))
    })
}
