//! TGN and DyGLib triples: `ml_X.csv`, `ml_X.npy`, `ml_X_node.npy`.
//!
//! The table has the columns `u,i,ts,label,idx`, with or without a row number in front, and
//! identifiers from 1. `ml_X.npy` holds the features of events, row `idx` for each, and
//! `ml_X_node.npy` those of vertices, row by identifier; row 0 of both is padding. Both files may
//! be missing. Every row of `ml_X_node.npy` is a vertex, even if it has no event.
//!
//! Not held: weights, removals, names other than numbers, names of classes and features.

use std::path::{Path, PathBuf};

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, TextTable};

use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::{DataError, Location};
use crate::format::Format;
use crate::formats::side_features::{Matrix, check_plain, header_names, write_matrix};
use crate::formats::text::TimeStyle;
use crate::formats::text::rows::{Field, Rows};
use crate::formats::text::times::TimeFormat;
use crate::options::ReadOptions;
use crate::progress::{Progress, Quiet};
use crate::roles::Roles;
use crate::sink::Sink;
use crate::source::{Source, bare_name};
use crate::table::{self, Preset, Table};

const COLUMNS: [&str; 5] = ["u", "i", "ts", "label", "idx"];

/// Whether a file is the table of a triple, and why.
pub fn recognises(_path: &Path, head: &[u8]) -> Option<String> {
    first_column(&header_names(head))
        .map(|_| format!("the header is {} as in ml_*.csv of TGN and DyGLib", COLUMNS.join(",")))
}

/// Where the columns start: at 1 behind a row number, or at 0.
fn first_column(names: &[String]) -> Option<usize> {
    match names {
        [number, rest @ ..] if rest == COLUMNS && (number.is_empty() || number == "Unnamed: 0") => {
            Some(1)
        }
        names if names == COLUMNS => Some(0),
        _ => None,
    }
}

/// Reads a triple from its table.
///
/// # Errors
/// If a file cannot be read or is damaged, rows are bad and `options.lenient` is off, or a
/// feature file has fewer rows than `idx` or the identifiers ask for.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let mut head = vec![0; 4 << 10];
    let filled = Source::open(path, &options.limits, &Quiet)?.fill(&mut head)?;
    head.truncate(filled);
    let names = header_names(&head);
    let Some(first) = first_column(&names) else {
        let expected = format!("the header {}", COLUMNS.join(","));
        return Err(DataError::invalid(Location::file(path).line(1), expected, names.join(",")));
    };
    let roles = Roles {
        src: first,
        dst: first + 1,
        time: Some(first + 2),
        time_parts: Vec::new(),
        weight: None,
        label: Some(first + 3),
        kind: None,
        features: vec![first + 4],
        classes: None,
    };
    let preset =
        Preset { roles: Some(roles), bipartite: false, keep_order: true, ..Preset::default() };
    // Identifiers index the rows of feature files: text is a bad row, not another kind of name.
    let numbered = ReadOptions { text_ids: options.text_ids.or(Some(false)), ..options.clone() };
    let table = table::read(path, &preset, &numbered, progress)?;
    let mut notes = Notes {
        files: vec![path.to_owned()],
        sorted: table.sorted,
        skipped_rows: table.skipped_rows,
        missing_values: table.missing_values,
        warnings: table.warnings.clone(),
        ..Notes::new(Format::MlTriple, table.reason.clone())
    };
    let [edges, nodes] = companions(path);
    let rows = if edges.exists() { Some(feature_rows(path, &table)?) } else { None };
    let mut store = without_features(path, table.store)?;
    if let Some(rows) = rows {
        let matrix = Matrix::read(&edges, options, progress)?;
        notes.missing_values += matrix.missing();
        store = matrix.into_event_features(store, &rows)?;
        notes.files.push(edges);
    }
    if nodes.exists() {
        let matrix = Matrix::read(&nodes, options, progress)?;
        notes.missing_values += matrix.missing();
        if matrix.values.iter().all(|&value| value == 0.0) {
            notes.warnings.push("the features of all vertices are 0".into());
        }
        store = matrix.into_vertex_features(store, 1)?;
        notes.files.push(nodes);
    }
    Ok(Loaded { dataset: Dataset::Events(store), notes })
}

/// `ml_X.npy` and `ml_X_node.npy` beside `ml_X.csv`.
fn companions(path: &Path) -> [PathBuf; 2] {
    let name = bare_name(path);
    let stem = name.strip_suffix(".csv").unwrap_or(name);
    [path.with_file_name(format!("{stem}.npy")), path.with_file_name(format!("{stem}_node.npy"))]
}

/// The row of features that each event's `idx` names. The table carries `idx` as a 32-bit float:
/// exact below 2^24, and beyond that good enough to see whether it just counts rows from 1.
fn feature_rows(path: &Path, table: &Table) -> Result<Vec<u64>, DataError> {
    const EXACT: f32 = (1 << 24) as f32;
    let index = table.store.features().unwrap_or_default();
    let at = |event: usize| Location::file(path).line(event as u64 + 2).column("idx");
    let row = |event: usize| table.order.as_ref().map_or(event as u64, |order| order[event]);
    let counts = (0..index.len()).all(|event| index[event] == (row(event) + 1) as f32);
    if counts {
        return Ok((0..index.len()).map(|event| row(event) + 1).collect());
    }
    index
        .iter()
        .enumerate()
        .map(|(event, &value)| {
            if value.fract() == 0.0 && (0.0..EXACT).contains(&value) {
                Ok(value as u64)
            } else {
                Err(DataError::invalid(
                    at(row(event) as usize),
                    "a row number that counts rows from 1, or one below 16777216",
                    format!("{value}"),
                ))
            }
        })
        .collect()
}

/// Drops `idx`, which came in as a feature.
fn without_features(path: &Path, store: EventStore) -> Result<EventStore, DataError> {
    let columns = EventColumns { features: None, feature_width: 0, ..store.columns().clone() };
    let mut store = store
        .with_columns(columns)
        .map_err(|source| DataError::Graph { path: path.to_owned(), source })?;
    store.feature_names = TextTable::default();
    Ok(store)
}

/// Writes a triple: the table at `path`, features beside it if there are any. Vertices are
/// numbered from 1.
///
/// # Errors
/// [`DataError::CannotHold`] if events have weights or removals; [`DataError::Io`] if the disk
/// is full or fails, or if an old feature file beside the table would be taken for this one's.
pub fn write(path: &Path, store: &EventStore, progress: &dyn Progress) -> Result<(), DataError> {
    check_plain(Format::MlTriple, store)?;
    let [edges, nodes] = companions(path);
    let matrices = [
        (edges, store.features().map(|values| (store.feature_width(), values))),
        (nodes, store.vertex_features.as_ref().map(|(width, values)| (*width, &values[..]))),
    ];
    for (companion, matrix) in &matrices {
        if matrix.is_none() && companion.exists() {
            let text = "an older feature file would be read as part of this data; remove it first";
            let error = std::io::Error::new(std::io::ErrorKind::AlreadyExists, text);
            return Err(DataError::io(companion, error));
        }
    }
    let time = TimeFormat::new(TimeStyle::Seconds, store.scale())?;
    let fields = vec![
        Field::Row(0),
        Field::Source(1),
        Field::Destination(1),
        Field::Time(time),
        Field::LabelNumber,
        Field::Row(1),
    ];
    let rows = Rows::new(Format::MlTriple, store, b',', fields)?;
    for (companion, matrix) in matrices {
        if let Some((width, values)) = matrix {
            write_matrix(&companion, width, values, 1)?;
        }
    }
    let mut sink = Sink::create(path)?;
    sink.put(format!(",{}\n", COLUMNS.join(",")).as_bytes())?;
    rows.write(&mut sink, progress)?;
    sink.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::{NameTable, TimeScale, VertexNames};

    fn events(loaded: &Loaded) -> &EventStore {
        match &loaded.dataset {
            Dataset::Events(store) => store,
            Dataset::Snapshots(_) => panic!("a triple holds events"),
        }
    }

    fn store() -> EventStore {
        let columns = EventColumns {
            label: Some(vec![0.0, 1.0, 0.0].into()),
            features: Some(vec![1.5, 2.5, 3.5, 4.5, 5.5, 6.5].into()),
            feature_width: 2,
            ..EventColumns::default()
        };
        let names = VertexNames { first: NameTable::Integers((1..=4).collect()), second: None };
        let mut store = EventStore::new(
            vec![0, 1, 0],
            vec![2, 2, 1],
            vec![0, 5, 9],
            columns,
            TimeScale::SECONDS,
            names,
        )
        .unwrap();
        store.vertex_features = Some((1, vec![0.5, 0.25, 0.125, 1.0].into()));
        store
    }

    #[test]
    fn a_triple_reads_back_with_features_and_vertices_without_events() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ml_x.csv.gz");
        write(&path, &store(), &Quiet).unwrap();
        let loaded = read(&path, &ReadOptions::default(), &Quiet).unwrap();
        assert_eq!(events(&loaded), &store());
        assert_eq!(loaded.notes.files.len(), 3);
    }

    #[test]
    fn features_follow_idx_when_rows_are_not_in_time_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ml_x.csv");
        std::fs::write(&path, "u,i,ts,label,idx\n1,2,9.0,0,2\n2,1,3.5,1,1\n1,1,4,0,3\n").unwrap();
        write_matrix(&folder.path().join("ml_x.npy"), 1, &[10.0, 20.0, 30.0], 1).unwrap();
        let loaded = read(&path, &ReadOptions::default(), &Quiet).unwrap();
        let store = events(&loaded);
        assert_eq!(store.time(), [3500, 4000, 9000]);
        assert_eq!(store.features().unwrap(), [10.0, 30.0, 20.0]);
        assert_eq!(store.label().unwrap(), [1.0, 0.0, 0.0]);
        assert!(!loaded.notes.sorted);
    }

    #[test]
    fn a_feature_file_that_is_too_short_names_the_rows_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ml_x.csv");
        std::fs::write(&path, ",u,i,ts,label,idx\n0,1,2,1.0,0,7\n").unwrap();
        write_matrix(&folder.path().join("ml_x.npy"), 1, &[10.0], 1).unwrap();
        let error = read(&path, &ReadOptions::default(), &Quiet).unwrap_err().to_string();
        assert!(error.contains("ml_x.npy") && error.contains("8 rows"), "{error}");
    }

    #[test]
    fn an_old_feature_file_is_not_left_to_be_mistaken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ml_x.csv");
        std::fs::write(folder.path().join("ml_x.npy"), "old").unwrap();
        let plain = store().with_columns(EventColumns::default()).unwrap();
        let error = write(&path, &plain, &Quiet).unwrap_err().to_string();
        assert!(error.contains("remove it first"), "{error}");
    }

    #[test]
    fn only_the_triples_own_header_is_recognised() {
        let known = |head: &str| recognises(Path::new("x"), head.as_bytes()).is_some();
        assert!(known(",u,i,ts,label,idx\n0,1,2,3,4,5\n"));
        assert!(known("u,i,ts,label,idx\r\n"));
        assert!(!known("u,i,ts,label\n0,8227,0,0\n"));
        assert!(!known(""));
    }
}
