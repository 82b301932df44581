//! Writing one edge list per snapshot, as a folder or a tar archive.

use std::fmt::Write as _;
use std::path::Path;

use jiff::ToSpan;
use jiff::civil::Date;
use zoetrope_graph::{NameTable, SnapshotSequence, SnapshotView};

use crate::dataset::SnapshotDataset;
use crate::error::DataError;
use crate::format::Format;
use crate::formats::folder_sink::FolderSink;
use crate::progress::Progress;
use crate::sink::Sink;
use crate::source::bare_name;

/// Writes a tar archive if the path ends in `.tar` (and `.gz`, `.zst`, `.xz`), else a folder.
///
/// # Errors
/// [`DataError::CannotHold`] if the data has features, targets, a series or names that are not
/// whole numbers; [`DataError::Io`] if the disk refuses. Nothing is left behind then.
pub fn write(
    path: &Path,
    data: &SnapshotDataset,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    check(data)?;
    progress.begin("writing", Some(data.sequence.steps() as u64));
    if bare_name(path).ends_with(".tar") {
        write_archive(path, data, progress)
    } else {
        write_folder(path, data, progress)
    }
}

fn check(data: &SnapshotDataset) -> Result<(), DataError> {
    let refuse =
        |what, advice| Err(DataError::CannotHold { format: Format::SnapshotFolder, what, advice });
    if data.features.is_some() || data.targets.is_some() || data.signal.is_some() {
        return refuse("features, targets or a series", "use npz or pygt-json");
    }
    if data.names.second.is_some() || matches!(data.names.first, NameTable::Text(_)) {
        return refuse("names that are not whole numbers", "use npz or pygt-json");
    }
    Ok(())
}

fn write_archive(
    path: &Path,
    data: &SnapshotDataset,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    let fail = |error| DataError::io(path, error);
    let mut archive = tar::Builder::new(Sink::create(path)?);
    for (name, view) in file_names(&data.sequence).into_iter().zip(data.sequence.iter()) {
        let text = text_of(&view, &data.names.first);
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, &name, text.as_bytes()).map_err(fail)?;
        progress.advance(1);
    }
    archive.into_inner().map_err(fail)?.finish()
}

fn write_folder(
    path: &Path,
    data: &SnapshotDataset,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    let folder = FolderSink::create(path)?;
    for (name, view) in file_names(&data.sequence).into_iter().zip(data.sequence.iter()) {
        let mut file = Sink::create_plain(&folder.file(name))?;
        file.put(text_of(&view, &data.names.first).as_bytes())?;
        file.finish()?;
        progress.advance(1);
    }
    folder.finish()
}

/// Names by date if every boundary is a day and the last snapshot lasts one, else by number.
fn file_names(sequence: &SnapshotSequence) -> Vec<String> {
    let dates =
        sequence.boundaries().and_then(|times| dates_of(&times.iter().collect::<Vec<i64>>()));
    let width = sequence.steps().to_string().len();
    match dates {
        Some(dates) => dates.iter().map(|date| format!("snapshot{date}.txt")).collect(),
        None => (0..sequence.steps()).map(|step| format!("snapshot{step:0width$}.txt")).collect(),
    }
}

fn dates_of(boundaries: &[i64]) -> Option<Vec<String>> {
    const DAY_SECONDS: i64 = 86_400;
    let (last, starts) = boundaries.split_last()?;
    if starts.last().is_some_and(|start| start + DAY_SECONDS != *last) {
        return None;
    }
    let date = |&start: &i64| {
        let days = (start % DAY_SECONDS == 0).then_some(start / DAY_SECONDS)?;
        let span = i32::try_from(days).ok()?.days();
        let date = Date::constant(1970, 1, 1).checked_add(span).ok()?;
        let (year, month, day) = (date.year(), date.month(), date.day());
        (1900..2200).contains(&year).then(|| format!("{year:04}{month:02}{day:02}"))
    };
    starts.iter().map(date).collect()
}

fn text_of(view: &SnapshotView<'_>, names: &NameTable) -> String {
    let id = |vertex: u32| match names {
        NameTable::Integers(names) => names[vertex as usize],
        _ => i64::from(vertex),
    };
    let mut text = String::from("# from\tto\tweight\n");
    if view.weight.is_none() {
        text = String::from("# from\tto\n");
    }
    for edge in 0..view.len() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\t{}", id(view.src[edge]), id(view.dst[edge]));
        if let Some(weight) = view.weight {
            let _ = write!(text, "\t{}", weight[edge]);
        }
        text.push('\n');
    }
    text
}
