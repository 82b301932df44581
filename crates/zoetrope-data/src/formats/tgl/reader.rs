//! Reading a TGL folder.

use std::path::{Path, PathBuf};

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, TextTable};

use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::{DataError, Location};
use crate::format::Format;
use crate::formats::side_features::{Matrix, header_names};
use crate::formats::tgl::{
    EDGE_FEATURES, INDEX, LABELS, NODE_FEATURES, is_table, labels, table_path,
};
use crate::options::ReadOptions;
use crate::progress::{Progress, Quiet};
use crate::roles::Roles;
use crate::source::{self, Source, bare_name};
use crate::table::{self, Preset, Table};

/// Reads a TGL folder, given by its path or by that of its `edges.csv`.
///
/// # Errors
/// If a file cannot be read or is damaged, rows are bad and `options.lenient` is off, a feature
/// file has too few rows, or features exist only as a PyTorch pickle.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let path = table_path(path);
    let folder = path.parent().unwrap_or(Path::new(""));
    for features in [EDGE_FEATURES, NODE_FEATURES] {
        refuse_pickle(folder, features)?;
    }
    let names = column_names(&path, options)?;
    let columns = Columns::new(&path, &names)?;
    let preset = Preset {
        roles: Some(columns.roles()),
        bipartite: false,
        keep_order: true,
        ..Preset::default()
    };
    // Identifiers index the rows of feature files: text is a bad row, not another kind of name.
    let numbered = ReadOptions { text_ids: options.text_ids.or(Some(false)), ..options.clone() };
    let table = table::read(&path, &preset, &numbered, progress)?;
    let mut notes = Notes {
        files: vec![path.clone()],
        sorted: table.sorted,
        skipped_rows: table.skipped_rows,
        missing_values: table.missing_values,
        warnings: table.warnings.clone(),
        ..Notes::new(Format::Tgl, table.reason.clone())
    };
    notes.warnings.extend(columns.split(&table));
    let edge_features = folder.join(EDGE_FEATURES);
    let rows = if edge_features.exists() { Some(columns.rows(&path, &table)?) } else { None };
    let mut store = without_features(&path, table.store)?;
    if let Some(rows) = rows {
        let matrix = Matrix::read(&edge_features, options, progress)?;
        notes.missing_values += matrix.missing();
        store = matrix.into_event_features(store, &rows)?;
        notes.files.push(edge_features);
    }
    let node_features = folder.join(NODE_FEATURES);
    if node_features.exists() {
        let matrix = Matrix::read(&node_features, options, progress)?;
        notes.missing_values += matrix.missing();
        store = matrix.into_vertex_features(store, 0)?;
        notes.files.push(node_features);
    }
    let label_table = folder.join(LABELS);
    if label_table.exists() {
        store = labels::attach(&label_table, store, options, progress, &mut notes.warnings)?;
        notes.files.push(label_table);
    }
    notes.warnings.extend(unread_tables(folder, &notes.files));
    if folder.join(INDEX).is_file() {
        notes.warnings.push(format!("{INDEX} not read: the index is built from the events"));
    }
    Ok(Loaded { dataset: Dataset::Events(store), notes })
}

/// Names the tables of a folder that are none of the parts that the format knows.
fn unread_tables(folder: &Path, read: &[PathBuf]) -> Option<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| source::is_table(path) && path.is_file())
        .filter(|path| read.iter().all(|known| known.file_name() != path.file_name()))
        .map(|path| crate::error::shorten(bare_name(&path)))
        .collect();
    names.sort();
    names.truncate(5);
    (!names.is_empty())
        .then(|| format!("not read, because TGL has no such file: {}", names.join(", ")))
}

fn refuse_pickle(folder: &Path, features: &str) -> Result<(), DataError> {
    let pickle = features.replace(".npy", ".pt");
    if folder.join(features).is_file() || !folder.join(&pickle).is_file() {
        return Ok(());
    }
    Err(DataError::Unsupported {
        at: Location::file(folder.join(&pickle)),
        what: "a PyTorch pickle, which can run code when it is opened,".into(),
        advice: format!(
            "save it with numpy.save(\"{features}\", torch.load(\"{pickle}\").float().numpy()), \
             or move it away to read the events without it"
        ),
    })
}

/// The header of a table.
pub(super) fn column_names(path: &Path, options: &ReadOptions) -> Result<Vec<String>, DataError> {
    Ok(header_names(&head(path, options)?))
}

/// Whether anything follows the header of a table.
pub(super) fn has_rows(path: &Path, options: &ReadOptions) -> Result<bool, DataError> {
    let head = head(path, options)?;
    Ok(memchr::memchr(b'\n', &head).is_none_or(|end| !head[end..].trim_ascii().is_empty()))
}

fn head(path: &Path, options: &ReadOptions) -> Result<Vec<u8>, DataError> {
    let mut head = vec![0; 4 << 10];
    let filled = Source::open(path, &options.limits, &Quiet)?.fill(&mut head)?;
    head.truncate(filled);
    Ok(head)
}

/// Where the columns of `edges.csv` stand. Row number and part come in as features.
struct Columns {
    src: usize,
    dst: usize,
    time: usize,
    number: Option<usize>,
    roll: Option<usize>,
}

impl Columns {
    fn new(path: &Path, names: &[String]) -> Result<Self, DataError> {
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let (true, Some(src), Some(dst), Some(time)) =
            (is_table(names), find("src"), find("dst"), find("time"))
        else {
            let at = Location::file(path).line(1);
            return Err(DataError::invalid(
                at,
                "the header ,src,dst,time,ext_roll",
                names.join(","),
            ));
        };
        Ok(Self { src, dst, time, number: find(""), roll: find("ext_roll") })
    }

    fn roles(&self) -> Roles {
        Roles {
            src: self.src,
            dst: self.dst,
            time: Some(self.time),
            time_parts: Vec::new(),
            weight: None,
            label: None,
            kind: None,
            features: self.number.into_iter().chain(self.roll).collect(),
            classes: None,
        }
    }

    fn feature<'a>(&self, table: &'a Table, index: usize) -> impl Iterator<Item = f32> + 'a {
        let width = table.store.feature_width().max(1);
        table.store.features().unwrap_or_default().iter().skip(index).step_by(width).copied()
    }

    /// How many events belong to each part, in words.
    fn split(&self, table: &Table) -> Option<String> {
        self.roll?;
        let mut counts = [0u64; 4];
        for part in self.feature(table, usize::from(self.number.is_some())) {
            counts[if (0.0..3.0).contains(&part) { part as usize } else { 3 }] += 1;
        }
        let [train, validation, test, other] = counts;
        let other = if other > 0 { format!(", other {other}") } else { String::new() };
        Some(format!("ext_roll: train {train}, validation {validation}, test {test}{other}"))
    }

    /// The row of the file that each event came from. If bad rows were skipped, only the row
    /// numbers in the file can tell, which are exact below 2^24.
    fn rows(&self, path: &Path, table: &Table) -> Result<Vec<u64>, DataError> {
        let events = table.store.len();
        if table.skipped_rows == 0 {
            return Ok(match &table.order {
                Some(order) => order.clone(),
                None => (0..events as u64).collect(),
            });
        }
        let exact = |row: &f32| row.fract() == 0.0 && (0.0..(1 << 24) as f32).contains(row);
        let numbers: Vec<f32> = match self.number {
            Some(_) => self.feature(table, 0).filter(exact).collect(),
            None => Vec::new(),
        };
        if numbers.len() == events {
            Ok(numbers.into_iter().map(|row| row as u64).collect())
        } else {
            Err(DataError::Unsupported {
                at: Location::file(path),
                what: "skipping bad rows of a table without row numbers, beside a feature file,"
                    .into(),
                advice: "mend the rows, so that rows and features keep together".into(),
            })
        }
    }
}

fn without_features(path: &Path, store: EventStore) -> Result<EventStore, DataError> {
    let columns = EventColumns { features: None, feature_width: 0, ..store.columns().clone() };
    let mut store = store
        .with_columns(columns)
        .map_err(|source| DataError::Graph { path: path.to_owned(), source })?;
    store.feature_names = TextTable::default();
    Ok(store)
}
