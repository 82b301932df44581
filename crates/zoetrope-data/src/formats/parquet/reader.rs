//! The Parquet reader: from roles to row groups to an event store.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Type};
use parquet::column::reader::get_column_reader;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use rayon::prelude::*;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, NameTable, TextTable, TimeScale, TimeUnit, VertexNames};

use crate::assemble::{RawEvents, assemble};
use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::{DataError, Location, Problem};
use crate::format::Format;
use crate::formats::parquet::chunk_bytes::ChunkBytes;
use crate::formats::parquet::columns::{Features, Ids, Keep, Labels, Times, extend};
use crate::formats::parquet::contain::contain;
use crate::formats::parquet::decode::{Levels, Part, Place, Values, Want, decode};
use crate::formats::parquet::footer::{self, Note, Opened};
use crate::formats::parquet::guard::{self, ChunkFacts};
use crate::formats::parquet::schema::{Leaf, Stored, leaves};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::roles::{self, Judged, Roles};
use crate::table::reading::{self, TableReading, TimeReading};

/// Reads a Parquet file of events.
///
/// # Errors
/// Where the file cannot be read or is damaged, no column can be the source or the destination,
/// rows are bad and `options.lenient` is off, or the content passes the expansion limit.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Loaded, DataError> {
    let opened = footer::open(path, &options.limits)?;
    let leaves = contain(|| leaves(opened.metadata.file_metadata().schema_descr()))
        .map_err(|found| DataError::invalid(Location::file(path), "a Parquet schema", found))?;
    let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    let kinds: Vec<_> = leaves.iter().map(Leaf::kind).collect();
    let usual = options.usual.as_deref();
    let followed = usual.map(|usual| usual.follow(&options.columns, Some(&names), kinds.len()));
    let map = followed.as_ref().map_or(&options.columns, |followed| &followed.columns);
    let Judged { mut roles, mut columns, mut warnings, .. } =
        roles::judge(path, Some(&names), &kinds, &[], map)?;
    if let Some(followed) = followed {
        if followed.holds {
            reading::close(&followed.columns, &mut roles, &mut columns);
        }
        warnings.extend(followed.warning);
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
        let parts: Vec<Result<Part, DataError>> =
            tasks.par_iter().map(|&(group, column)| plan.decode(group, column, progress)).collect();
        let mut parts = parts.into_iter();
        for group in first..groups.min(first + batch) {
            let columns: Result<Vec<Part>, DataError> =
                parts.by_ref().take(plan.wanted.len()).collect();
            gathered.take(&plan, group, columns?)?;
        }
    }
    let mut loaded = gathered.finish(&plan, &names)?;
    loaded.notes.columns = columns;
    loaded.notes.warnings.extend(warnings);
    Ok(loaded)
}

/// What is read from where.
struct Plan<'a> {
    path: &'a Path,
    opened: &'a Opened,
    leaves: &'a [Leaf],
    roles: &'a Roles,
    options: &'a ReadOptions,
    /// Columns and what they are wanted for: source, destination, then what there is of time,
    /// weight, label and kind, then features.
    wanted: Vec<(usize, Want)>,
    /// The first row of each row group.
    first_rows: Vec<u64>,
    rows: u64,
    budget_bytes: u64,
}

impl<'a> Plan<'a> {
    fn new(
        path: &'a Path,
        opened: &'a Opened,
        leaves: &'a [Leaf],
        roles: &'a Roles,
        options: &'a ReadOptions,
    ) -> Result<Self, DataError> {
        let mut wanted = vec![(roles.src, Want::Id), (roles.dst, Want::Id)];
        let single = [
            (roles.time, Want::Time),
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
        let limits = &options.limits;
        let budget_bytes =
            opened.bytes.saturating_mul(limits.expansion).max(limits.expansion_floor_bytes);
        let mut plan = Self {
            path,
            opened,
            leaves,
            roles,
            options,
            wanted,
            first_rows: Vec::new(),
            rows: 0,
            budget_bytes,
        };
        plan.check_counts()?;
        Ok(plan)
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

    fn within_budget(&self, bytes: u64) -> Result<(), DataError> {
        match bytes <= self.budget_bytes {
            true => Ok(()),
            false => Err(DataError::Limit {
                at: Location::file(self.path),
                what: "the decoded size that the footer declares, in bytes,",
                limit: self.budget_bytes,
                advice: "if the file is what you expect, write it uncompressed with plain encoding",
            }),
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
    fn decode(
        &self,
        group: usize,
        column: usize,
        progress: &dyn Progress,
    ) -> Result<Part, DataError> {
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
            decode(reader, place, want, rows, levels)
        })
        .and_then(|decoded| decoded)
        .map_err(|found| DataError::invalid(at(), "intact Parquet", found))
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
        let mut file = File::open(self.path).map_err(io)?;
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
        _ => 4,
    }
}

fn check_use(path: &Path, leaf: &Leaf, want: Want) -> Result<(), DataError> {
    use Stored::{Bool, Date, Int96, List, Other, Real, Signed, Text, Timestamp, Unsigned};
    let (usable, expected) = match want {
        Want::Id => (matches!(leaf.stored, Signed | Unsigned | Real | Text), "integers or text"),
        Want::Time => (
            matches!(leaf.stored, Signed | Unsigned | Real | Text | Timestamp(_) | Date | Int96),
            "integers, timestamps, dates, floats or text",
        ),
        Want::Number => (matches!(leaf.stored, Bool | Signed | Unsigned | Real), "numbers"),
        Want::Label => {
            (matches!(leaf.stored, Bool | Signed | Unsigned | Real | Text), "numbers or text")
        }
        Want::Kind => {
            (matches!(leaf.stored, Bool | Signed | Real | Text), "truth values or add and remove")
        }
        Want::List => (leaf.stored == List, "a list of numbers"),
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

/// Everything read so far.
#[derive(Default)]
struct Gathered {
    src: Ids,
    dst: Ids,
    times: Times,
    weight: Vec<f32>,
    labels: Labels,
    kind: Vec<u8>,
    features: Features,
    rows: u64,
    missing: u64,
    bad_rows: u64,
    problems: Vec<Problem>,
}

impl Gathered {
    /// Takes the columns of a row group, in the order of `plan.wanted`.
    fn take(
        &mut self,
        plan: &Plan<'_>,
        group: usize,
        mut parts: Vec<Part>,
    ) -> Result<(), DataError> {
        let rows = plan.opened.metadata.row_group(group).num_rows() as usize;
        let mut bad: Vec<usize> =
            parts.iter_mut().flat_map(|part| std::mem::take(&mut part.bad_rows)).collect();
        bad.sort_unstable();
        bad.dedup();
        self.bad_rows += bad.len() as u64;
        for part in &mut parts {
            self.missing += part.missing;
            self.problems.append(&mut part.problems);
        }
        self.problems.sort_by_key(|problem| problem.at.line);
        self.problems.truncate(plan.options.max_problems);
        if self.bad_rows != 0 && !plan.options.lenient {
            return Ok(());
        }
        let keep: Option<Vec<bool>> = (!bad.is_empty()).then(|| {
            let mut keep = vec![true; rows];
            bad.iter().for_each(|&row| keep[row] = false);
            keep
        });
        self.rows += (rows - bad.len()) as u64;
        self.append(plan, group, rows, parts, keep.as_deref())
    }

    fn append(
        &mut self,
        plan: &Plan<'_>,
        group: usize,
        rows: usize,
        parts: Vec<Part>,
        keep: Keep<'_>,
    ) -> Result<(), DataError> {
        let roles = plan.roles;
        let mut parts = parts.into_iter().map(|part| part.values);
        let mut next = |present: bool| present.then(|| parts.next()).flatten();
        next(true).into_iter().for_each(|values| self.src.push(values, keep));
        next(true).into_iter().for_each(|values| self.dst.push(values, keep));
        if let Some(values) = next(roles.time.is_some())
            && !self.times.push(values, keep)
        {
            let at = Location::file(plan.path).line(plan.first_rows[group]);
            return Err(DataError::invalid(at, "times that fit 64 bits", "more decimals"));
        }
        if let Some(Values::Numbers(values)) = next(roles.weight.is_some()) {
            extend(&mut self.weight, &values, keep);
        }
        next(roles.label.is_some()).into_iter().for_each(|values| self.labels.push(values, keep));
        if let Some(Values::Kinds(values)) = next(roles.kind.is_some()) {
            extend(&mut self.kind, &values, keep);
        }
        let features: Vec<Values> = parts.collect();
        if features.is_empty() {
            return Ok(());
        }
        self.features.push(features, rows, keep).map_err(|column| {
            let leaf = &plan.leaves[roles.features[column]];
            let at = Location::file(plan.path).line(plan.first_rows[group]).column(&leaf.name);
            let expected = format!("lists of {} numbers", self.features.widths[column]);
            DataError::invalid(at, expected, "another length in this row group")
        })?;
        let width: usize = self.features.widths.iter().sum();
        plan.within_budget(plan.rows.saturating_mul(4 * width as u64))
    }

    fn finish(self, plan: &Plan<'_>, names: &[String]) -> Result<Loaded, DataError> {
        let (path, options, roles) = (plan.path, plan.options, plan.roles);
        if self.bad_rows != 0 && !options.lenient {
            return Err(DataError::Invalid { problems: self.problems, total: self.bad_rows });
        }
        if self.rows == 0 {
            return Err(DataError::invalid(Location::file(path), "at least one event", "none"));
        }
        let mut notes = Notes::new(Format::Parquet, reason(plan, names));
        notes.files = vec![path.to_owned()];
        notes.skipped_rows = self.bad_rows;
        notes.missing_values = self.missing;
        if self.bad_rows != 0 {
            notes.warnings.push(format!("{} bad rows skipped", self.bad_rows));
        }
        let note = plan.opened.note.as_ref();
        let (time, scale) = match roles.time {
            None => {
                notes.warnings.push("no time column: events are numbered by row".into());
                ((0..self.rows as i64).collect(), TimeScale::STEPS)
            }
            Some(column) => {
                let (time, guessed, warning) = self.times.finish(options.time_unit);
                notes.warnings.extend(warning);
                let typed = match plan.leaves[column].stored {
                    Stored::Timestamp(unit) => Some(TimeScale { unit, unix: true }),
                    Stored::Date => Some(TimeScale::UNIX_SECONDS),
                    Stored::Int96 => Some(TimeScale { unit: TimeUnit::Nanosecond, unix: true }),
                    _ => None,
                };
                let noted = note.filter(|_| options.time_unit.is_none()).map(|note| note.scale);
                (time, typed.or(noted).unwrap_or(guessed))
            }
        };
        let (labels, label_names) = self.labels.finish();
        let width: usize = self.features.widths.iter().sum();
        let columns = EventColumns {
            weight: roles.weight.map(|_| self.weight.into()),
            label: roles.label.map(|_| labels.into()),
            kind: roles.kind.map(|_| self.kind.into()),
            features: (width != 0).then(|| self.features.values.into()),
            feature_width: width,
        };
        let usual = options.usual.as_deref();
        let (mut time, mut scale) = (time, scale);
        let mut times = TimeReading::ticks(scale);
        let before = usual.and_then(|usual| usual.times).filter(|_| roles.time.is_some());
        if let Some(before) = before.filter(|before| before.scale() != scale) {
            // Times know their unit here, so that only the length of a tick may differ.
            let both = before.unix && scale.unix;
            match both.then(|| before.bring(&mut time, 0, false, Some(scale.unit))).flatten() {
                Some(_) => (scale, times) = (before.scale(), before),
                None => notes.warnings.push("times are unlike those of the run's data".into()),
            }
        }
        let bipartite = options.bipartite.or(usual.map(|usual| usual.bipartite));
        let bipartite = bipartite.unwrap_or(note.is_some_and(|note| note.bipartite));
        notes.reading = Some(TableReading {
            delimiter: None,
            header: Some(names.to_vec()),
            columns: names.len(),
            src: roles.src,
            dst: roles.dst,
            time: roles.time,
            weight: roles.weight,
            label: roles.label,
            kind: roles.kind,
            features: roles.features.clone(),
            times: roles.time.map(|_| times),
            bipartite,
            text_ids: [self.src.integers().is_none(), self.dst.integers().is_none()],
        });
        let sorted = time.is_sorted();
        let identity = note.and_then(|note| identity_ids(note, bipartite, &self.src, &self.dst));
        let (mut store, _) = match identity {
            Some((src, dst, names)) => EventStore::new(src, dst, time, columns, scale, names)
                .map(|store| (store, sorted))
                .map_err(|source| DataError::Graph { path: path.to_owned(), source })?,
            None => {
                let (src, dst) = (self.src.finish(), self.dst.finish());
                assemble(path, RawEvents { src, dst, time, scale, columns, bipartite })?
            }
        };
        notes.sorted = sorted;
        store.label_names = label_names;
        if note.is_none_or(|note| note.named_features) {
            store.feature_names = feature_names(roles, names, &self.features.widths);
        }
        Ok(Loaded { dataset: Dataset::Events(store), notes })
    }
}

/// Vertices as the writer's store had them, where the identifiers were its own numbers. `None`
/// where the note does not fit the data, or declares far more vertices than events can name.
fn identity_ids(
    note: &Note,
    bipartite: bool,
    src: &Ids,
    dst: &Ids,
) -> Option<(Vec<u32>, Vec<u32>, VertexNames)> {
    let (first, second) = note.identity?;
    let (src, dst) = (src.integers()?, dst.integers()?);
    let total = u64::from(first) + u64::from(second.unwrap_or(0));
    let plausible = (8 * src.len() as u64).max(1 << 16).min(u64::from(u32::MAX));
    if second.is_some() != bipartite || total > plausible {
        return None;
    }
    let below = |ids: &[i64], count: u32, shift: u32| -> Option<Vec<u32>> {
        ids.iter()
            .map(|&id| u32::try_from(id).ok().filter(|&id| id < count).map(|id| id + shift))
            .collect()
    };
    let src = below(src, first, 0)?;
    let dst = match second {
        Some(second) => below(dst, second, first)?,
        None => below(dst, first, 0)?,
    };
    let names =
        VertexNames { first: NameTable::Identity(first), second: second.map(NameTable::Identity) };
    Some((src, dst, names))
}

fn feature_names(roles: &Roles, names: &[String], widths: &[usize]) -> TextTable {
    let mut table = TextTable::default();
    for (&column, &width) in roles.features.iter().zip(widths) {
        match width {
            1 => table.push(names[column].as_bytes()),
            _ => (0..width)
                .for_each(|index| table.push(format!("{}.{index}", names[column]).as_bytes())),
        }
    }
    table
}

fn reason(plan: &Plan<'_>, names: &[String]) -> String {
    let roles = plan.roles;
    let name = |column: usize| crate::error::shorten(&names[column]);
    let mut parts = vec![format!(
        "Parquet with {} columns; source `{}`, destination `{}`",
        names.len(),
        name(roles.src),
        name(roles.dst)
    )];
    parts.extend(roles.time.map(|column| format!("time `{}`", name(column))));
    parts.extend(roles.weight.map(|column| format!("weight `{}`", name(column))));
    parts.extend(roles.label.map(|column| format!("label `{}`", name(column))));
    if !roles.features.is_empty() {
        parts.push(format!("{} feature columns", roles.features.len()));
    }
    parts.join(", ")
}
