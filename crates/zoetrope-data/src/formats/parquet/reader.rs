//! The Parquet reader: from roles to row groups to an event store.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Type};
use parquet::column::reader::get_column_reader;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use rayon::prelude::*;

use crate::dataset::Loaded;
use crate::error::{DataError, Location, Problem};
use crate::formats::parquet::chunk_bytes::ChunkBytes;
use crate::formats::parquet::contain::contain;
use crate::formats::parquet::decode::{DecodedColumn, Levels, Place, Values, Want, decode};
use crate::formats::parquet::footer::{self, Opened};
use crate::formats::parquet::gathered::Gathered;
use crate::formats::parquet::guard::{self, ChunkFacts};
use crate::formats::parquet::sample;
use crate::formats::parquet::schema::{Leaf, Stored, leaves};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::regular_file;
use crate::roles::{self, Judged, Roles};
use crate::table::chunk::TimeChunk;
use crate::table::date::Calendar;

/// Reads a Parquet file of events.
///
/// # Errors
/// If the file cannot be read or is damaged, no column can be the source or the destination,
/// rows are bad and `options.lenient` is off, or the content passes the expansion limit.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let opened = footer::open(path, &options.limits)?;
    let mut leaves = contain(|| leaves(opened.metadata.file_metadata().schema_descr()))
        .map_err(|found| DataError::invalid(Location::file(path), "a Parquet schema", found))?;
    let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    let sample = sample::rows(&Plan::of_sample(path, &opened, &leaves, options));
    let kinds = sample::kinds(&leaves, &sample);
    let usual = options.usual.as_deref();
    let followed = usual.map(|usual| usual.follow(&options.columns, Some(&names), kinds.len()));
    let map = followed.as_ref().map_or(&options.columns, |followed| &followed.columns);
    let Judged { mut roles, mut columns, mut warnings, apart } =
        roles::judge(path, Some(&names), &kinds, &sample, map)?;
    if let (Some(usual), Some(followed)) = (usual, followed) {
        if followed.holds {
            usual.close(&followed.columns, &mut roles, &mut columns);
        }
        warnings.extend(followed.warning);
    }
    let form = sample::date_form(path, &roles, &leaves, &kinds, &sample)?;
    if let (Some(column), true) = (roles.time, roles.time_parts.is_empty()) {
        leaves[column].form = form;
    }
    let plan = Plan::new(path, &opened, &leaves, &roles, options)?;
    progress.begin("reading", Some(plan.packed_bytes()));
    let mut gathered = Gathered::default();
    let groups = opened.metadata.num_row_groups();
    // A few row groups at a time: enough columns for every thread, bounded memory.
    let batch = rayon::current_num_threads().div_ceil(plan.wanted.len()).max(1);
    for first in (0..groups).step_by(batch) {
        let tasks: Vec<(usize, usize)> = (first..groups.min(first + batch))
            .flat_map(|group| (0..plan.wanted.len()).map(move |column| (group, column)))
            .collect();
        let parts: Vec<Result<DecodedColumn, DataError>> =
            tasks.par_iter().map(|&(group, column)| plan.decode(group, column, progress)).collect();
        let mut parts = parts.into_iter();
        for group in first..groups.min(first + batch) {
            let columns: Result<Vec<DecodedColumn>, DataError> =
                parts.by_ref().take(plan.wanted.len()).collect();
            gathered.take(&plan, group, columns?)?;
        }
    }
    let mut loaded = gathered.finish(&plan, &names, apart)?;
    let unused: Vec<String> =
        plan.unused().map(|column| plan.leaves[column].name.clone()).collect();
    loaded.notes.columns = columns;
    loaded.notes.warnings.extend(warnings);
    loaded.notes.warnings.extend(roles::unused_note(&unused));
    Ok(loaded)
}

/// What is read from where.
pub(super) struct Plan<'a> {
    pub(super) path: &'a Path,
    pub(super) opened: &'a Opened,
    pub(super) leaves: &'a [Leaf],
    pub(super) roles: Roles,
    pub(super) options: &'a ReadOptions,
    /// The most rows of a row group that are decoded.
    pub(super) most_rows: usize,
    /// Columns and what they are wanted for: source, destination, then what there is of time,
    /// weight, label and kind, then features.
    pub(super) wanted: Vec<(usize, Want)>,
    /// The first row of each row group.
    pub(super) first_rows: Vec<u64>,
    pub(super) rows: u64,
    pub(super) budget_bytes: u64,
}

impl<'a> Plan<'a> {
    fn new(
        path: &'a Path,
        opened: &'a Opened,
        leaves: &'a [Leaf],
        roles: &Roles,
        options: &'a ReadOptions,
    ) -> Result<Self, DataError> {
        let mut wanted = vec![(roles.src, Want::Id), (roles.dst, Want::Id)];
        wanted.extend(roles.time_parts.iter().map(|&(column, _)| (column, Want::Shown)));
        let single = [
            (roles.time.filter(|_| roles.time_parts.is_empty()), Want::Time),
            (roles.weight, Want::Number),
            (roles.label, Want::Label),
            (roles.kind, Want::Kind),
        ];
        wanted.extend(single.iter().filter_map(|&(column, want)| Some((column?, want))));
        wanted.extend(roles.features.iter().map(|&column| match leaves[column].stored {
            Stored::List => (column, Want::List),
            _ => (column, Want::Number),
        }));
        for &(column, want) in &wanted {
            check_use(path, &leaves[column], want)?;
        }
        let sample = Self::of_sample(path, opened, leaves, options);
        let first_rows = Vec::new();
        let roles = roles.clone();
        let mut plan = Self { wanted, roles, first_rows, most_rows: usize::MAX, ..sample };
        plan.check_counts()?;
        Ok(plan)
    }

    /// Looks at the first rows of all columns.
    fn of_sample(
        path: &'a Path,
        opened: &'a Opened,
        leaves: &'a [Leaf],
        options: &'a ReadOptions,
    ) -> Self {
        let limits = &options.limits;
        let budget_bytes =
            opened.bytes.saturating_mul(limits.expansion).max(limits.expansion_floor_bytes);
        Self {
            path,
            opened,
            leaves,
            roles: Roles::default(),
            options,
            most_rows: sample::SAMPLE_ROWS,
            wanted: sample::wanted(leaves),
            first_rows: vec![0; opened.metadata.num_row_groups()],
            rows: 0,
            budget_bytes,
        }
    }

    /// The columns that are not read.
    fn unused(&self) -> impl Iterator<Item = usize> + '_ {
        let read = |column: usize| self.wanted.iter().any(|&(wanted, _)| wanted == column);
        (0..self.leaves.len()).filter(move |&column| !read(column))
    }

    /// Adds up what the footer declares; nothing is reserved that the file could not hold.
    fn check_counts(&mut self) -> Result<(), DataError> {
        let mut bytes = 0u64;
        for (index, group) in self.opened.metadata.row_groups().iter().enumerate() {
            let rows = u64::try_from(group.num_rows()).map_err(|_| {
                let at = Location::file(self.path).column(format!("row group {index}"));
                DataError::invalid(at, "a number of rows", group.num_rows().to_string())
            })?;
            self.first_rows.push(self.rows);
            self.rows = self.rows.saturating_add(rows);
            for &(column, want) in &self.wanted {
                let values = u64::try_from(group.column(column).num_values()).unwrap_or(u64::MAX);
                let honest = if want == Want::List { values >= rows } else { values == rows };
                if !honest {
                    let at = Location::file(self.path).column(&self.leaves[column].name);
                    let expected = format!("{rows} values in row group {index}");
                    let found = group.column(column).num_values().to_string();
                    return Err(DataError::invalid(at, expected, found));
                }
                let size = if matches!(want, Want::Id | Want::Time) { 8 } else { 4 };
                bytes = bytes.saturating_add(values.saturating_mul(size));
            }
        }
        self.within_budget(bytes)
    }

    pub(super) fn within_budget(&self, bytes: u64) -> Result<(), DataError> {
        if bytes <= self.budget_bytes {
            Ok(())
        } else {
            Err(DataError::Limit {
                at: Location::file(self.path),
                what: "the decoded size that the footer declares, in bytes,",
                limit: self.budget_bytes,
                advice: "if the file is what you expect, write it uncompressed with plain encoding",
            })
        }
    }

    fn chunk(&self, group: usize, column: usize) -> &'a ColumnChunkMetaData {
        self.opened.metadata.row_group(group).column(self.wanted[column].0)
    }

    fn packed_bytes(&self) -> u64 {
        let groups = 0..self.opened.metadata.num_row_groups();
        groups
            .flat_map(|group| (0..self.wanted.len()).map(move |column| (group, column)))
            .filter_map(|(group, column)| {
                u64::try_from(self.chunk(group, column).compressed_size()).ok()
            })
            .fold(0, u64::saturating_add)
    }

    /// Reads, checks and decodes one column of one row group.
    pub(super) fn decode(
        &self,
        group: usize,
        column: usize,
        progress: &dyn Progress,
    ) -> Result<DecodedColumn, DataError> {
        let (leaf, want) = self.wanted[column];
        let leaf = &self.leaves[leaf];
        let chunk = self.chunk(group, column);
        let rows = self.opened.metadata.row_group(group).num_rows() as usize;
        let (start, bytes) = self.read_chunk(leaf, chunk)?;
        progress.advance(bytes.len() as u64);
        let at = || Location::file(self.path).byte(start).column(&leaf.name);
        let facts = ChunkFacts {
            value_bytes: plain_bytes(chunk),
            gzip: matches!(chunk.compression(), Compression::GZIP(_)),
            values: u64::try_from(chunk.num_values()).unwrap_or(0),
            page_limit_bytes: self.budget_bytes,
        };
        let end =
            guard::check_pages(&bytes, facts).map_err(|error| footer::refused(at(), error))?;
        let bytes = bytes::Bytes::from(bytes).slice(..end);
        let place = Place {
            path: self.path,
            leaf,
            first_row: self.first_rows[group],
            max_problems: self.options.max_problems,
            most_values: usize::try_from(self.budget_bytes / 4).unwrap_or(usize::MAX),
        };
        let description = chunk.column_descr_ptr();
        let levels = Levels {
            value: description.max_def_level(),
            element: description.repeated_ancestor_def_level(),
        };
        contain(|| {
            let pages =
                SerializedPageReader::new(Arc::new(ChunkBytes { start, bytes }), chunk, rows, None)
                    .map_err(|error| error.to_string())?;
            let reader = get_column_reader(description, Box::new(pages));
            decode(reader, place, want, rows.min(self.most_rows), levels)
        })
        .and_then(|decoded| decoded)
        .map_err(|found| DataError::invalid(at(), "intact Parquet", found))
    }

    /// One time a row out of the columns that make it.
    pub(super) fn join_times(
        &self,
        group: usize,
        rows: usize,
        shown: Vec<DecodedColumn>,
    ) -> DecodedColumn {
        let texts: Vec<Vec<String>> = shown
            .into_iter()
            .map(|part| match part.values {
                Values::Shown(texts) => texts,
                _ => Vec::new(),
            })
            .collect();
        let mut times = TimeChunk::default();
        let (mut bad_rows, mut problems) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let mut calendar = Calendar::default();
            let cell = |texts: &Vec<String>| texts.get(row).cloned().unwrap_or_default();
            let wrong = texts
                .iter()
                .zip(&self.roles.time_parts)
                .find(|(texts, (_, part))| !calendar.take(*part, cell(texts).as_bytes()));
            let stamp = calendar.stamp().filter(|_| wrong.is_none());
            if stamp.is_some_and(|stamp| times.push(stamp)) {
                continue;
            }
            times.ticks.push(0);
            bad_rows.push(row);
            if problems.len() < self.options.max_problems {
                let (column, expected, found) = match wrong {
                    Some((texts, &(column, part))) => (column, part.expected(), cell(texts)),
                    None => {
                        let (column, _) = self.roles.time_parts[0];
                        (column, "a day that the calendar has", "another one".to_owned())
                    }
                };
                let at = Location::file(self.path)
                    .line(self.first_rows[group] + row as u64)
                    .column(&self.leaves[column].name);
                problems.push(Problem::new(at, expected, format!("`{found}`")));
            }
        }
        DecodedColumn { values: Values::Stamps(times), missing: 0, bad_rows, problems }
    }

    /// The bytes of a column chunk, which must lie inside the file.
    fn read_chunk(
        &self,
        leaf: &Leaf,
        chunk: &ColumnChunkMetaData,
    ) -> Result<(u64, Vec<u8>), DataError> {
        let known = matches!(
            chunk.compression(),
            Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::ZSTD(_)
                | Compression::LZ4_RAW
        );
        let at = Location::file(self.path).column(&leaf.name);
        if !known {
            return Err(DataError::Unsupported {
                at,
                what: format!("compression with {}", chunk.compression()),
                advice: "write the file with zstd, snappy or gzip".into(),
            });
        }
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
        let range = range.filter(|(start, size)| {
            start.checked_add(*size).is_some_and(|end| end <= self.opened.bytes)
        });
        let Some((start, size)) = range else {
            let found = format!("{} bytes at {start}", chunk.compressed_size());
            return Err(DataError::invalid(at, "a column inside the file", found));
        };
        // A handle of its own: clones of one handle share their position.
        let io = |error| DataError::io(self.path, error);
        let mut file = regular_file::open(self.path).map_err(io)?;
        file.seek(SeekFrom::Start(start)).map_err(io)?;
        let mut bytes = vec![0; size as usize];
        file.read_exact(&mut bytes).map_err(io)?;
        Ok((start, bytes))
    }
}

/// Bytes of a plainly encoded value, or of the length of a byte array.
fn plain_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => {
            u64::try_from(chunk.column_descr().type_length()).unwrap_or(1)
        }
        _ => 4,
    }
}

fn check_use(path: &Path, leaf: &Leaf, want: Want) -> Result<(), DataError> {
    use Stored::{
        Bool, Date, Decimal, Int96, List, Other, Real, Signed, Text, Timestamp, Unsigned,
    };
    let (usable, expected) = match want {
        Want::Id => (matches!(leaf.stored, Signed | Unsigned | Real | Text), "integers or text"),
        Want::Time => (
            matches!(leaf.stored, Signed | Unsigned | Real | Text | Timestamp(_) | Date | Int96),
            "integers, timestamps, dates, floats or text",
        ),
        Want::Number => {
            (matches!(leaf.stored, Bool | Signed | Unsigned | Real | Decimal { .. }), "numbers")
        }
        Want::Label => (
            matches!(leaf.stored, Bool | Signed | Unsigned | Real | Decimal { .. } | Text),
            "numbers or text",
        ),
        Want::Kind => {
            (matches!(leaf.stored, Bool | Signed | Real | Text), "truth values or add and remove")
        }
        Want::List => (leaf.stored == List, "a list of numbers"),
        Want::Shown => (true, "anything"),
    };
    if usable {
        return Ok(());
    }
    let what = match &leaf.stored {
        Other(what) => (*what).to_owned(),
        List => "a list column".to_owned(),
        other => format!("a column of type {other:?}"),
    };
    Err(DataError::Unsupported {
        at: Location::file(path).column(&leaf.name),
        what,
        advice: format!("it must hold {expected} here; convert it, or name another column"),
    })
}
