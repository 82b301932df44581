//! `snapshot-folder`: one edge-list file per snapshot, in a folder or a tar archive (SNAP as-733).
//!
//! A file holds `from to [weight]` rows of whole-number ids, separated by blanks, tabs, commas or
//! semicolons; `#` and `%` start comments; or it is a table with a header or with names of
//! vertices, whose columns are then chosen as those of any table. Files may be compressed, and so
//! may the archive. Order is that of the dates in the file names (`as19971108`, `2000-01-02`,
//! `31.01.2000`, `2000-01`, `2000`), which then become the window boundaries in Unix seconds; otherwise that of the numbers in them.
//! Files that are none of the snapshots (no number in their name, or named unlike the others), and
//! links and devices in an archive, are skipped with a warning that names them. The path of a
//! member is only a name: nothing is ever unpacked to disk.
//!
//! Writing loses vertices that are in no edge, and window boundaries that are not days.

mod dates;
mod layout;
mod members;
pub(crate) mod order;
mod rows;
mod table;
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
use layout::Layout;
use members::{Collected, Origin};
use rows::Snapshot;

/// Members that may wait to be parsed while the archive is read on.
const WAITING_MEMBERS: usize = 8;

/// Says why a folder or archive holds one edge list per snapshot, if it does.
pub fn recognises(path: &Path, head: &[u8]) -> Option<String> {
    if path.is_dir() {
        return match Origin::of_folder(path).ok()? {
            Origin::Folder { files, .. } => {
                let dated = order::are_dated(&files);
                let edges = || rows::looks_like_edges(&files[0], dated);
                (files.len() >= 2 && order::alike(&files) && edges())
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
/// [`DataError::Invalid`] with member and line if rows are no edges or the archive is damaged,
/// [`DataError::Limit`] if it has too many members or unpacks to far more than its size.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let origin =
        if path.is_dir() { Origin::of_folder(path)? } else { Origin::Tar(path.to_owned()) };
    let (parsed, collected) = read_members(&origin, options, progress);
    let Collected { mut skipped, names } = collected?;
    let (mut snapshots, layout) = parsed?;
    let mut notes = Notes::new(Format::SnapshotFolder, "");
    notes.files.push(path.to_owned());
    if let (Origin::Tar(_), Some(group)) = (&origin, odd_ones_out(&snapshots)) {
        let (kept, left): (Vec<_>, Vec<_>) =
            snapshots.into_iter().partition(|snapshot| order::stem(&snapshot.path) == group);
        skipped.others.extend(left.into_iter().map(|snapshot| snapshot.path));
        snapshots = kept;
    }
    notes.warnings.extend(skipped.warnings());
    if let Some(layout) = layout {
        notes.warnings.extend(layout.warnings);
        notes.columns = layout.columns;
    }
    if names == 0 {
        let expected = "files with a number in their name, one per snapshot";
        return Err(DataError::invalid(Location::file(path), expected, "none"));
    }
    let boundaries = order::sort(&mut snapshots, path)?;
    notes.warnings.extend(order::repeated_date(&snapshots));
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

/// The name without digits that nearly all members of an archive share, if a few have another
/// one: these are no snapshots but, for example, a table of labels.
fn odd_ones_out(snapshots: &[Snapshot]) -> Option<String> {
    let paths: Vec<&Path> = snapshots.iter().map(|snapshot| snapshot.path.as_path()).collect();
    let group = order::largest_group(&paths)?;
    let odd = paths.iter().filter(|path| order::stem(path) != group).count();
    (odd > 0 && 4 * odd <= paths.len()).then_some(group)
}

type Parsed = Result<(Vec<Snapshot>, Option<Layout>), DataError>;

/// Parses members in parallel while one thread reads on. The first member with rows decides how
/// all of them are read.
fn read_members(
    origin: &Origin,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> (Parsed, Result<Collected, DataError>) {
    let (sender, receiver) = sync_channel::<(PathBuf, Vec<u8>)>(WAITING_MEMBERS);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || origin.send_members(options, progress, &sender));
        let parsed = parse_members(receiver.into_iter(), options);
        let collected = match reader.join() {
            Ok(collected) => collected,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (parsed, collected)
    })
}

fn parse_members(
    mut members: impl Iterator<Item = (PathBuf, Vec<u8>)> + Send,
    options: &ReadOptions,
) -> Parsed {
    let mut first = Vec::new();
    let mut layout = None;
    for (path, bytes) in members.by_ref() {
        // A damaged member is reported by its own parser.
        let text = rows::unpacked(&path, bytes.clone(), options).unwrap_or_default();
        let has_rows = rows::has_rows(&text);
        if has_rows {
            layout = layout::of(&path, &text, options)?;
        }
        first.push((path, bytes));
        if has_rows {
            break;
        }
    }
    let parse =
        |(path, bytes): (PathBuf, Vec<u8>)| Snapshot::parse(path, bytes, layout.as_ref(), options);
    let mut snapshots: Vec<Snapshot> = first.into_iter().map(parse).collect();
    snapshots.extend(members.par_bridge().map(parse).collect::<Vec<_>>());
    Ok((snapshots, layout))
}
