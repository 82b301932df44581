//! `snapshot-folder`: one edge-list file per snapshot, in a folder or a tar archive (SNAP as-733).
//!
//! A file holds `from to [weight]` rows of whole-number ids, separated by blanks, tabs, commas or
//! semicolons; `#` and `%` start comments. Files may be compressed, and so may the archive. Order
//! is that of the dates in the file names (`as19971108`, `2000-01-02`), which then become the
//! window boundaries in Unix seconds; otherwise that of the numbers in them. Files without a
//! number in their name, and links and devices in an archive, are skipped with a warning. The path
//! of a member is only a name: nothing is ever unpacked to disk.
//!
//! Writing loses vertices that are in no edge, and window boundaries that are not days.

mod members;
mod order;
mod rows;
mod vertices;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use rayon::prelude::*;
use zoetrope_graph::SnapshotSequence;

pub use write::write;

use crate::dataset::{Dataset, Loaded, Notes, SnapshotDataset};
use crate::error::{DataError, Location};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::source::bare_name;
use members::{Collected, Origin};
use rows::Snapshot;

/// Members that may wait to be parsed while the archive is read on.
const WAITING_MEMBERS: usize = 8;

/// Says why a folder or archive holds one edge list per snapshot, where it does.
pub fn recognises(path: &Path, head: &[u8]) -> Option<String> {
    if path.is_dir() {
        return match Origin::of_folder(path).ok()? {
            Origin::Folder { files, .. } => {
                (files.len() >= 2 && order::alike(&files) && rows::looks_like_edges(&files[0]))
                    .then(|| format!("a folder of {} numbered edge lists", files.len()))
            }
            Origin::Tar(archive) => {
                let name = archive.file_name()?.to_string_lossy().into_owned();
                Some(format!("a folder with one tar archive, {name}"))
            }
        };
    }
    // A POSIX header says `ustar` at byte 257; older ones are known by the file name only.
    let posix = head.get(257..262) == Some(b"ustar");
    (posix || bare_name(path).ends_with(".tar")).then(|| "a tar archive".to_owned())
}

/// Reads a folder or a tar archive.
///
/// # Errors
/// [`DataError::Invalid`] with member and line where rows are no edges or the archive is damaged,
/// [`DataError::Limit`] where it has too many members or unpacks to far more than its size.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let origin = match path.is_dir() {
        true => Origin::of_folder(path)?,
        false => Origin::Tar(path.to_owned()),
    };
    let (parsed, collected) = read_members(&origin, options, progress);
    let Collected { skipped, names } = collected?;
    let mut notes = Notes::new(Format::SnapshotFolder, "");
    notes.files.push(path.to_owned());
    notes.warnings.extend(skipped.warnings());
    if names == 0 {
        let expected = "files with a number in their name, one per snapshot";
        return Err(DataError::invalid(Location::file(path), expected, "none"));
    }
    let mut snapshots = parsed;
    let boundaries = order::sort(&mut snapshots, path)?;
    rows::check(&snapshots, options)?;
    notes.skipped_rows = snapshots.iter().map(|snapshot| snapshot.skipped).sum();
    notes.reason = match boundaries {
        Some(_) => format!("{} edge lists, ordered by the dates in their names", snapshots.len()),
        None => format!("{} edge lists, ordered by the numbers in their names", snapshots.len()),
    };
    let (names, offsets, src, dst, weight) = vertices::renumber(snapshots, path)?;
    let graph = |source| DataError::Graph { path: path.to_owned(), source };
    let mut sequence =
        SnapshotSequence::new(names.len() as u32, offsets, src, dst, weight).map_err(graph)?;
    if let Some(boundaries) = boundaries {
        sequence = sequence.with_boundaries(boundaries).map_err(graph)?;
    }
    let data = SnapshotDataset { sequence, names, features: None, targets: None, signal: None };
    Ok(Loaded { dataset: Dataset::Snapshots(data), notes })
}

/// Parses members in parallel while one thread reads on.
fn read_members(
    origin: &Origin,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> (Vec<Snapshot>, Result<Collected, DataError>) {
    let (sender, receiver) = sync_channel::<(PathBuf, Vec<u8>)>(WAITING_MEMBERS);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || origin.send_members(options, progress, &sender));
        let parsed: Vec<Snapshot> = receiver
            .into_iter()
            .par_bridge()
            .map(|(path, bytes)| Snapshot::parse(path, bytes, options))
            .collect();
        let collected = match reader.join() {
            Ok(collected) => collected,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (parsed, collected)
    })
}
