//! One door out: a graph to a file, in the format that the name or the user says.

use std::path::Path;

use zoetrope_graph::EventStore;

use crate::dataset::{Dataset, SnapshotDataset};
use crate::error::DataError;
use crate::format::Format;
use crate::formats::text::{edge_list_writer, jodie_writer};
use crate::formats::{ml_triple, npz, parquet, pygt_json, snapshot_folder, store, tgl, traffic};
use crate::progress::Progress;
use crate::source::bare_name;
use crate::unroll::events_of;

type EventWriter = fn(&Path, &EventStore, &dyn Progress) -> Result<(), DataError>;
type SnapshotWriter = fn(&Path, &SnapshotDataset, &dyn Progress) -> Result<(), DataError>;

const EVENT_WRITERS: &[(Format, EventWriter)] = &[
    (Format::EdgeList, edge_list_writer::write),
    (Format::JodieCsv, jodie_writer::write),
    (Format::MlTriple, ml_triple::write),
    (Format::Parquet, parquet::write),
    (Format::Store, store::write),
    (Format::Tgl, tgl::write),
];

const SNAPSHOT_WRITERS: &[(Format, SnapshotWriter)] = &[
    (Format::Npz, npz::write),
    (Format::PygtJson, pygt_json::write),
    (Format::SnapshotFolder, snapshot_folder::write),
    (Format::Traffic, traffic::write),
];

/// Writes a data set; the format comes from the name of the file if it is not given.
///
/// # Errors
/// If no format fits the name, the format cannot hold the data, or writing fails.
pub fn save(
    path: &Path,
    format: Option<Format>,
    dataset: &Dataset,
    progress: &dyn Progress,
) -> Result<Format, DataError> {
    let format = match format {
        Some(format) => format,
        None => format_of_name(path)?,
    };
    match dataset {
        Dataset::Events(store) => save_events(path, format, store, progress)?,
        Dataset::Snapshots(data) => match find(SNAPSHOT_WRITERS, format) {
            Some(writer) => {
                progress.begin("writing", Some(data.sequence.stored_edges() as u64));
                writer(path, data, progress)?;
            }
            None => save_events(path, format, &unrolled(path, format, data)?, progress)?,
        },
    }
    Ok(format)
}

fn save_events(
    path: &Path,
    format: Format,
    store: &EventStore,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    let Some(writer) = find(EVENT_WRITERS, format) else {
        let advice = "give --window to cut snapshots";
        return Err(DataError::CannotHold { format, what: "a stream of events", advice });
    };
    let advice = "write a .zoe store";
    let holds_features = [Format::Store, Format::MlTriple, Format::Tgl].contains(&format);
    if store.vertex_features.is_some() && !holds_features {
        return Err(DataError::CannotHold { format, what: "features of vertices", advice });
    }
    if store.vertex_labels.is_some() && format != Format::Store {
        return Err(DataError::CannotHold { format, what: "labels of vertices", advice });
    }
    progress.begin("writing", Some(store.len() as u64));
    writer(path, store, progress)
}

/// Snapshots as events, for formats that hold nothing else.
fn unrolled(path: &Path, format: Format, data: &SnapshotDataset) -> Result<EventStore, DataError> {
    let parts = [
        (data.features.is_some(), "features of vertices"),
        (data.targets.is_some(), "targets"),
        (data.signal.is_some(), "a measured series"),
    ];
    if let Some((_, what)) = parts.into_iter().find(|(present, _)| *present) {
        return Err(DataError::CannotHold { format, what, advice: "write npz or pygt-json" });
    }
    events_of(data).map_err(|source| DataError::Graph { path: path.to_owned(), source })
}

fn find<W: Copy>(writers: &[(Format, W)], format: Format) -> Option<W> {
    writers.iter().find(|(known, _)| *known == format).map(|(_, writer)| *writer)
}

/// The format that a file name stands for.
///
/// # Errors
/// [`DataError::BadParameter`] if the name says nothing.
pub fn format_of_name(path: &Path) -> Result<Format, DataError> {
    let name = bare_name(path).to_lowercase();
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    match suffix {
        "zoe" => Ok(Format::Store),
        "parquet" | "pq" => Ok(Format::Parquet),
        "npz" => Ok(Format::Npz),
        "json" => Ok(Format::PygtJson),
        "tar" => Ok(Format::SnapshotFolder),
        "csv" if name.starts_with("ml_") => Ok(Format::MlTriple),
        "csv" | "tsv" | "txt" | "edges" => Ok(Format::EdgeList),
        _ => Err(DataError::BadParameter {
            parameter: "output".into(),
            value: path.display().to_string(),
            expected: format!(
                "a name that ends in .zoe, .parquet, .npz, .json, .tar, .csv, .tsv or .txt (also with \
                 .gz, .zst or .xz), or --to with one of {}",
                Format::list()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Quiet, ReadOptions, open, synthetic};

    #[test]
    fn snapshots_are_unrolled_into_a_format_of_events() {
        let name = "synthetic:uniform?steps=3&vertices=10&density=2";
        let loaded = synthetic::generate(name, &Quiet).unwrap();
        let Dataset::Snapshots(mut data) = loaded.dataset else { panic!("snapshots") };
        (data.features, data.targets, data.signal) = (None, None, None);
        let edges = data.sequence.stored_edges();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.csv");
        assert_eq!(save(&path, None, &Dataset::Snapshots(data), &Quiet).unwrap(), Format::EdgeList);
        let read = open(&path.to_string_lossy(), &ReadOptions::default(), &Quiet).unwrap();
        let Dataset::Events(store) = read.dataset else { panic!("events") };
        assert_eq!((store.len(), store.time().last()), (edges, Some(&2)));
    }

    #[test]
    fn parts_that_a_format_cannot_hold_are_not_lost_silently() {
        let loaded = synthetic::generate("synthetic:demo", &Quiet).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo.csv");
        let outcome = save(&path, None, &loaded.dataset, &Quiet);
        assert!(matches!(outcome, Err(DataError::CannotHold { .. })));
        assert!(!path.exists());
    }
}
