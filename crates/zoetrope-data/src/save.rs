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

/// Writes a data set; the format comes from the name of the file where it is not given.
///
/// # Errors
/// Where no format fits the name, the format cannot hold the data, or writing fails.
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
        Dataset::Events(store) => {
            progress.begin("writing", Some(store.len() as u64));
            let writer = find(
                EVENT_WRITERS,
                format,
                "a stream of events",
                "give --window to cut snapshots",
            )?;
            writer(path, store, progress)?;
        }
        Dataset::Snapshots(data) => {
            progress.begin("writing", Some(data.sequence.stored_edges() as u64));
            let writer = find(SNAPSHOT_WRITERS, format, "snapshots", "write npz or pygt-json")?;
            writer(path, data, progress)?;
        }
    }
    Ok(format)
}

fn find<W: Copy>(
    writers: &[(Format, W)],
    format: Format,
    what: &'static str,
    advice: &'static str,
) -> Result<W, DataError> {
    let writer = writers.iter().find(|(known, _)| *known == format).map(|(_, writer)| *writer);
    writer.ok_or(DataError::CannotHold { format, what, advice })
}

/// The format that a file name stands for.
///
/// # Errors
/// [`DataError::BadParameter`] where the name says nothing.
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
