//! Files of computed numbers for other programs: arrays as `.npy`, tables as `.parquet` or `.csv`.
//!
//! Owns what `predict` and `embed` write. Whole or not at all, like every file of ours.

mod columns;
mod comma_table;
mod parquet_table;

use std::path::Path;

use crate::error::DataError;
use crate::npy::write_npy;
use crate::sink::Sink;

pub use columns::{Column, Values};

/// The kinds of files that numbers are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A NumPy array: the numbers alone.
    Npy,
    /// A Parquet table: the numbers with whom and when they are about.
    Parquet,
    /// The same as comma-separated text under a header.
    Csv,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Npy, Self::Parquet, Self::Csv];

    /// The suffix of its files.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Npy => ".npy",
            Self::Parquet => ".parquet",
            Self::Csv => ".csv",
        }
    }

    /// The kind that a file name asks for; None if its suffix is of no kind.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|kind| kind.suffix()[1..].eq_ignore_ascii_case(extension))
    }
}

/// Writes an array of f32 as a NumPy file.
///
/// # Errors
/// [`DataError::Io`] if the disk is full or fails.
///
/// # Panics
/// If `values` does not have as many elements as `shape` says.
pub fn write_array(path: &Path, shape: &[usize], values: &[f32]) -> Result<(), DataError> {
    let mut sink = Sink::create_plain(path)?;
    write_npy(&mut sink, shape, values).map_err(|error| DataError::io(path, error))?;
    sink.finish()
}

/// Writes columns as a table: Parquet for [`FileKind::Parquet`], comma-separated text otherwise.
///
/// # Errors
/// [`DataError::Io`] if the disk is full or fails.
///
/// # Panics
/// If the columns are not equally long.
pub fn write_table(path: &Path, kind: FileKind, columns: &[Column]) -> Result<(), DataError> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    assert!(columns.iter().all(|column| column.values.len() == rows), "columns of equal length");
    match kind {
        FileKind::Parquet => parquet_table::write(path, columns, rows),
        FileKind::Csv | FileKind::Npy => comma_table::write(path, columns, rows),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use zoetrope_graph::TimeScale;

    use super::*;

    #[test]
    fn names_that_are_not_known_are_empty_as_text_and_null_in_parquet() {
        let folder = tempfile::tempdir().unwrap();
        let names = Values::names(vec!["ok".into(), "fraud".into()], vec![1, Values::NO_NAME, 0]);
        let columns =
            [Column::new("row", Values::Whole(vec![7, 8, 9])), Column::new("truth", names)];
        let text = folder.path().join("t.csv");
        write_table(&text, FileKind::Csv, &columns).unwrap();
        assert_eq!(std::fs::read_to_string(text).unwrap(), "row,truth\n7,fraud\n8,\n9,ok\n");
        let packed = folder.path().join("t.parquet");
        write_table(&packed, FileKind::Parquet, &columns).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(packed).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let truth: Vec<Option<&String>> = rows.iter().map(|row| row.get_string(1).ok()).collect();
        assert_eq!(truth, [Some(&"fraud".to_owned()), None, Some(&"ok".to_owned())]);
    }

    fn columns() -> Vec<Column> {
        let dates = Values::Dates { ticks: vec![0, 86_400], scale: TimeScale::UNIX_SECONDS };
        vec![
            Column::new("vertex", Values::names(vec!["a, b".into(), "c".into()], vec![1, 0])),
            Column::new("time", Values::Whole(vec![0, 86_400])),
            Column::new("date", dates),
            Column::new("value", Values::Numbers(vec![0.25, f32::NAN])),
        ]
    }

    #[test]
    fn a_suffix_names_a_kind_whatever_its_case() {
        let of = |name: &str| FileKind::of(Path::new(name));
        assert_eq!(of("a.npy"), Some(FileKind::Npy));
        assert_eq!(of("a.b.PARQUET"), Some(FileKind::Parquet));
        assert_eq!(of("a.csv"), Some(FileKind::Csv));
        assert_eq!((of("a.csv.gz"), of("a"), of("npy")), (None, None, None));
    }

    #[test]
    fn a_text_table_quotes_names_and_leaves_missing_numbers_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        write_table(&path, FileKind::Csv, &columns()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let expected = "vertex,time,date,value\nc,0,1970-01-01T00:00:00Z,0.25\n\
                        \"a, b\",86400,1970-01-02T00:00:00Z,\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_parquet_table_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        write_table(&path, FileKind::Parquet, &columns()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_string(0).unwrap(), "a, b");
        assert_eq!(rows[1].get_long(1).unwrap(), 86_400);
        assert_eq!(rows[1].get_timestamp_millis(2).unwrap(), 86_400_000);
        assert_eq!(rows[0].get_float(3).unwrap(), 0.25);
        assert!(rows[1].get_float(3).unwrap().is_nan());
    }
}
