//! Files of candidate pairs: which vertices might have an event, and when.
//!
//! A candidate file is a text table like an edge list (any delimiter, gzip or zstd, header or not; a
//! file, standard input or a pipe) with a source, a destination and, if it has one, a time or (under
//! the heading `snapshot`) the number of a snapshot. Vertices are named as in the graph's own file. The
//! order of the rows is kept: answers go back row by row. Further columns are read by name, if the
//! model asks with them.
//!
//! Columns are those of the graph's own table, by name, or by place if there are as many and none has a
//! name. Only columns that are not found in this way are judged by name and values.

use std::path::Path;

use zoetrope_graph::{
    EventStore, NameTable, TextTable, Time, TimeScale, TimeUnit, VertexId, VertexNames,
};

use crate::error::{DataError, Location, shorten};
use crate::given::{is_read_once, name_of};
use crate::options::{ColumnMap, ColumnRef, ReadOptions};
use crate::progress::Progress;
use crate::source::Source;
use crate::spool::Spool;
use crate::table::dialect::{self, Layout};
use crate::table::{self, Preset, Table, TableReading, TimeReading, reading};

/// Pairs in the order of their file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Candidates {
    /// The source of each pair, as the graph numbers it.
    pub src: Vec<VertexId>,
    /// The destination of each pair.
    pub dst: Vec<VertexId>,
    /// When they might meet, in the ticks of the graph or as numbers of snapshots; empty if the file
    /// says neither.
    pub time: Vec<Time>,
    /// Whether `time` holds numbers of snapshots.
    pub by_snapshot: bool,
    /// The columns that were asked for, row by row; NaN for a missing value.
    pub features: Vec<f32>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// The heading of a column that holds numbers of snapshots.
pub const SNAPSHOT: &str = "snapshot";

/// The name of the column that holds the weights of events.
const WEIGHT: &str = "weight";

/// Columns of a file of pairs that the user named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PairColumns {
    /// The source.
    pub src: Option<ColumnRef>,
    /// The destination.
    pub dst: Option<ColumnRef>,
    /// The time.
    pub time: Option<ColumnRef>,
}

/// Whose pairs are read: what the data of the model calls its vertices, times and features, and how it
/// was read.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The vertices.
    pub names: &'a VertexNames,
    /// What times mean; None if a column of times holds numbers of snapshots.
    pub scale: Option<TimeScale>,
    /// The features of events; empty if they have no names.
    pub feature_names: &'a TextTable,
    /// How the table of the data was read, if it is one.
    pub reading: Option<&'a TableReading>,
    /// What the user said about the data: columns that the file has, too, are taken.
    pub said: &'a ReadOptions,
    /// What the user said about the file of pairs.
    pub named: &'a PairColumns,
}

impl<'a> Known<'a> {
    /// What is known of a stream of events.
    pub fn of(
        graph: &'a EventStore,
        reading: Option<&'a TableReading>,
        said: &'a ReadOptions,
        named: &'a PairColumns,
    ) -> Self {
        let (names, feature_names) = (graph.names(), &graph.feature_names);
        Self { names, scale: Some(graph.scale()), feature_names, reading, said, named }
    }
}

/// Reads candidate pairs of events, with `columns` by their names in the data of the graph: `weight` is
/// the column of weights, whatever the data calls it, and a number is a feature by its place, if the
/// features have no names.
///
/// # Errors
/// If the file cannot be read as a table, names a vertex that the graph does not have, has times that
/// are none of the graph or numbers of snapshots, or lacks a column.
pub fn read(
    path: &Path,
    graph: Known<'_>,
    columns: &[String],
    progress: &dyn Progress,
) -> Result<Candidates, DataError> {
    let found = read_pairs(path, graph, columns, progress)?;
    if found.by_snapshot {
        Err(DataError::invalid(
            Location::file(path).column(SNAPSHOT),
            "times, because this model learns from events",
            "numbers of snapshots",
        ))
    } else {
        Ok(found)
    }
}

/// The same for vertices and times of any data, with numbers of snapshots if the file has a column
/// of that name, or the data no times.
///
/// # Errors
/// As [`read`], but for numbers of snapshots.
pub fn read_pairs(
    path: &Path,
    graph: Known<'_>,
    columns: &[String],
    progress: &dyn Progress,
) -> Result<Candidates, DataError> {
    let name = name_of(path.as_os_str());
    if !is_read_once(&name) {
        return read_file(path, graph, columns, progress);
    }
    let spool = Spool::read(&name, &graph.said.limits, progress)?;
    let read = read_file(spool.path(), graph, columns, progress);
    read.map_err(|error| spool.rename(error, &name))
}

fn read_file(
    path: &Path,
    graph: Known<'_>,
    columns: &[String],
    progress: &dyn Progress,
) -> Result<Candidates, DataError> {
    let layout = look(path, graph)?;
    let chosen = Chosen::of(&layout, graph, columns);
    let by_snapshot = chosen.numbered || graph.scale.is_none();
    let times = match (by_snapshot, graph.scale, graph.reading.and_then(|reading| reading.times)) {
        (false, Some(scale), Some(times)) if times.scale() == scale => times,
        (false, Some(scale), _) => TimeReading::ticks(scale),
        _ => TimeReading::ticks(TimeScale { unit: TimeUnit::Step, unix: false }),
    };
    let is_text = |names: &NameTable| matches!(names, NameTable::Text(_));
    let second = graph.names.second.as_ref().unwrap_or(&graph.names.first);
    let options = ReadOptions {
        columns: chosen.columns,
        delimiter: Some(layout.dialect.delimiter),
        header: Some(layout.header.is_some()),
        bipartite: Some(graph.names.second.is_some()),
        max_problems: graph.said.max_problems,
        limits: graph.said.limits.clone(),
        ..ReadOptions::default()
    };
    let preset = Preset {
        keep_order: true,
        text_ids: Some([is_text(&graph.names.first), is_text(second)]),
        times: Some(times),
        ..Preset::default()
    };
    let read = |options: &ReadOptions| table::read(path, &preset, options, progress);
    let table = match read(&options) {
        // A file of pairs may have no time: what cannot be read as one is said, not asked.
        Err(DataError::Uncertain { confirm, .. }) if confirm.contains("--no-time") => {
            let columns = ColumnMap { time: Some(ColumnRef::Absent), ..options.columns };
            read(&ReadOptions { columns, ..options })
        }
        read => read,
    };
    let table = table.map_err(of_pairs)?;
    let timed = table.reading.time.is_some();
    if let Some(own) = table.reading.times.filter(|own| own.scale() != times.scale()) {
        let expected = if by_snapshot {
            "numbers of snapshots".to_owned()
        } else {
            let unit = times.unit.symbol();
            format!("times in {unit} as in the data, which do not count from 1970")
        };
        let found = if own.dates { "dates" } else { "numbers that are too large" };
        return Err(DataError::invalid(Location::file(path), expected, found));
    }
    let warnings = warnings(&table, chosen.warning, graph);
    gather(path, graph, columns, &table, by_snapshot && timed, warnings)
}

/// The layout of the file: written as the data was, if its columns are there.
fn look(path: &Path, graph: Known<'_>) -> Result<Layout, DataError> {
    let mut source = Source::open(path, &graph.said.limits, &crate::progress::Quiet)?;
    let (head, whole) = table::read_head(&mut source, graph.said)?;
    if head.contains(&0) {
        return Err(DataError::Unsupported {
            at: Location::file(path),
            what: "binary content, such as Parquet, as pairs".into(),
            advice: "write them as a text table, for example csv".into(),
        });
    }
    let free = ReadOptions::default();
    let ends = |reading: &TableReading, names: Option<&[String]>, count: usize| {
        [reading.src, reading.dst].iter().all(|&end| reading.place(end, names, count).is_some())
    };
    let layout = match graph.reading {
        Some(reading) => reading.sniff(&head, whole, &free, ends),
        None => dialect::sniff(&head, whole, None, None),
    };
    layout.map_err(|found| DataError::invalid(Location::file(path), "rows of pairs", found))
}

/// The columns of the file that are read.
struct Chosen {
    columns: ColumnMap,
    /// Whether the time is a column of numbers of snapshots.
    numbered: bool,
    warning: Option<String>,
}

impl Chosen {
    fn of(layout: &Layout, graph: Known<'_>, wanted: &[String]) -> Self {
        let names = reading::names(layout);
        let count = layout.kinds.len();
        let place_of = |name: &str| names.as_ref()?.iter().position(|other| other == name);
        let usual = |role: fn(&TableReading) -> Option<usize>| {
            let reading = graph.reading?;
            reading.place(role(reading)?, names.as_deref(), count)
        };
        // What was said about the data holds here if there is such a column.
        let said = |column: &Option<ColumnRef>| match column.as_ref()? {
            ColumnRef::Absent => None,
            ColumnRef::Name(name) => place_of(name),
            ColumnRef::Position(place) => {
                let same = graph.reading.is_some_and(|reading| reading.columns == count);
                Some(*place).filter(|_| names.is_none() && same)
            }
        };
        let map = &graph.said.columns;
        let src = said(&map.src).or_else(|| usual(|reading| Some(reading.src)));
        let dst = said(&map.dst).or_else(|| usual(|reading| Some(reading.dst)));
        let heading = |name: &String| name.trim().eq_ignore_ascii_case(SNAPSHOT);
        let numbered = names.as_ref().and_then(|names| names.iter().position(heading));
        let time =
            numbered.or_else(|| said(&map.time)).or_else(|| usual(TableReading::single_time));
        let named = graph.named;
        let place = |place: Option<usize>| place.map(ColumnRef::Position);
        // One end alone says nothing about the other.
        let (src, dst) = if src.is_some() && dst.is_some() { (src, dst) } else { (None, None) };
        let given = named.src.is_some() && named.dst.is_some();
        let warning = (src.is_none() && !given).then(|| Self::other_columns(graph)).flatten();
        let weight = wanted.iter().any(|name| name == WEIGHT && place_of(name).is_none());
        let weight = weight.then(|| said(&map.weight).or_else(|| usual(|reading| reading.weight)));
        let features: Vec<ColumnRef> = match &names {
            Some(_) => {
                let mut places: Vec<usize> =
                    wanted.iter().filter_map(|name| feature(name, &place_of)).collect();
                places.dedup();
                places.into_iter().map(ColumnRef::Position).collect()
            }
            None => {
                let features = graph.reading.map(|reading| reading.features.iter());
                let place = |at: &usize| graph.reading?.place(*at, None, count);
                features.into_iter().flatten().filter_map(place).map(ColumnRef::Position).collect()
            }
        };
        // Without names, what is neither named nor known by its place is judged by its values.
        let features = (names.is_some() || !features.is_empty()).then_some(features);
        let columns = ColumnMap {
            src: named.src.clone().or(place(src)),
            dst: named.dst.clone().or(place(dst)),
            time: named.time.clone().or(place(time)),
            weight: place(weight.flatten()),
            features,
            ..ColumnMap::default()
        };
        let numbered = numbered.is_some() && named.time.is_none();
        Self { columns, numbered, warning }
    }

    /// That the file has other columns than the data.
    fn other_columns(graph: Known<'_>) -> Option<String> {
        let reading = graph.reading?;
        let name = |column| reading.name(column).map(shorten);
        let (src, dst) = (name(reading.src)?, name(reading.dst)?);
        Some(format!(
            "there are no columns `{src}` and `{dst}` as in the data: which columns are the pair was \
             judged (--pairs-src and --pairs-dst name them)"
        ))
    }
}

/// The place of a feature by its name in the data; `embedding.3` is a part of a column `embedding`.
fn feature(name: &str, place_of: &impl Fn(&str) -> Option<usize>) -> Option<usize> {
    let whole = || {
        let (column, index) = name.rsplit_once('.')?;
        index.parse::<usize>().ok().and_then(|_| place_of(column))
    };
    place_of(name).or_else(whole)
}

/// A question about the columns of pairs is answered by flags of their own.
fn of_pairs(error: DataError) -> DataError {
    match error {
        DataError::Uncertain { path, what, columns, confirm } => {
            let words: Vec<&str> = confirm.split(" --").collect();
            let ends = words.iter().map(|word| word.trim_start_matches("--"));
            let ends = ends
                .filter(|word| ["src ", "dst ", "time "].iter().any(|role| word.starts_with(role)));
            let confirm: Vec<String> = ends.map(|word| format!("--pairs-{word}")).collect();
            DataError::Uncertain { path, what, columns, confirm: confirm.join(" ") }
        }
        other => other,
    }
}

/// What the reader of tables says, as far as it is about pairs.
fn warnings(table: &Table, other: Option<String>, graph: Known<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = other
        .map(|other| {
            let (src, dst) = (&table.reading.name(table.reading.src), table.reading.dst);
            let ends = src.zip(table.reading.name(dst));
            ends.map_or(other.clone(), |(src, dst)| {
                format!("{other}: source `{}`, destination `{}`", shorten(src), shorten(dst))
            })
        })
        .into_iter()
        .collect();
    let of_data = |warning: &&String| {
        ["no time column", "columns not used"].iter().any(|start| warning.starts_with(start))
    };
    warnings.extend(table.warnings.iter().filter(|warning| !of_data(warning)).cloned());
    let left: Vec<&str> = table
        .columns
        .iter()
        .filter(|column| column.role == "not used")
        .map(|column| column.name.as_str())
        .collect();
    // Rows of the data may have more than a question needs.
    let known = graph.reading.and_then(|reading| reading.header.as_deref()).unwrap_or_default();
    let unknown = |name: &&&str| !known.iter().any(|known| shorten(known) == **name);
    let unknown: Vec<&str> = left.iter().filter(unknown).copied().collect();
    if !unknown.is_empty() {
        warnings.push(format!("columns not used: {}", unknown.join(", ")));
    }
    if table.reading.time.is_none() && !left.is_empty() {
        let after = if graph.scale.is_some() { "last event or snapshot" } else { "last snapshot" };
        warnings.push(format!(
            "no column was taken for a time: pairs are asked about after the {after} (--pairs-time \
             names a column)"
        ));
    }
    warnings
}

/// The rows of a table in the order of the file, with the numbers of the graph's vertices.
fn gather(
    path: &Path,
    graph: Known<'_>,
    columns: &[String],
    table: &Table,
    by_snapshot: bool,
    warnings: Vec<String>,
) -> Result<Candidates, DataError> {
    let store = &table.store;
    let timed = table.reading.time.is_some();
    let sources = known(path, store, graph.names, store.src(), true)?;
    let destinations = known(path, store, graph.names, store.dst(), false)?;
    let rows = store.len();
    let picked = columns
        .iter()
        .map(|column| pick(path, table, graph, column))
        .collect::<Result<Vec<Picked<'_>>, DataError>>()?;
    let mut found = Candidates {
        features: vec![0.0; rows * picked.len()],
        src: vec![0; rows],
        dst: vec![0; rows],
        time: vec![0; if timed { rows } else { 0 }],
        by_snapshot,
        warnings,
    };
    let picked_count = picked.len();
    for place in 0..rows {
        let row = table.order.as_ref().map_or(place, |order| order[place] as usize);
        found.src[row] = sources[store.src()[place] as usize];
        found.dst[row] = destinations[store.dst()[place] as usize];
        if timed {
            found.time[row] = store.time()[place];
        }
        for (at, picked) in picked.iter().enumerate() {
            found.features[row * picked_count + at] = picked.at(place);
        }
    }
    Ok(found)
}

/// A column of the file.
#[derive(Debug, Clone, Copy)]
struct Picked<'a> {
    values: &'a [f32],
    /// Numbers in a row of the values, and which one it is.
    stride: usize,
    offset: usize,
}

impl Picked<'_> {
    fn at(&self, place: usize) -> f32 {
        self.values[place * self.stride + self.offset]
    }
}

/// The column that the graph knows by a name.
fn pick<'a>(
    path: &Path,
    table: &'a Table,
    graph: Known<'_>,
    column: &str,
) -> Result<Picked<'a>, DataError> {
    let store = &table.store;
    let names = &store.feature_names;
    let stride = store.feature_width();
    let named = (0..names.len().min(stride)).find(|&at| names.get(at) == column.as_bytes());
    let placed = || {
        let unnamed = graph.feature_names.is_empty();
        column.parse().ok().filter(|&place: &usize| unnamed && place < stride)
    };
    if let (Some(offset), Some(values)) = (named.or_else(placed), store.features()) {
        return Ok(Picked { values, stride, offset });
    }
    if let (WEIGHT, Some(values)) = (column, store.weight()) {
        return Ok(Picked { values, stride: 1, offset: 0 });
    }
    let has: Vec<String> = table
        .columns
        .iter()
        .filter(|column| !["source", "destination", "time"].contains(&column.role))
        .map(|column| column.name.clone())
        .collect();
    let found = if has.is_empty() {
        "no columns besides source, destination and time".to_owned()
    } else {
        format!("columns {}", has.join(", "))
    };
    // People know the weight by the name that the data gives it.
    let weight = graph.reading.and_then(|reading| reading.name(reading.weight?));
    let shown = weight.filter(|_| column == WEIGHT).unwrap_or(column);
    let expected = format!("a column \"{}\", which the model reads of each pair", shorten(shown));
    Err(DataError::invalid(Location::file(path), &expected, found))
}

/// What the graph calls each vertex of the file that stands on one side of a pair.
fn known(
    path: &Path,
    store: &EventStore,
    names: &VertexNames,
    side: &[VertexId],
    is_source: bool,
) -> Result<Vec<VertexId>, DataError> {
    let mut found = vec![VertexId::MAX; store.vertices() as usize];
    for &vertex in side {
        if found[vertex as usize] != VertexId::MAX {
            continue;
        }
        let name = store.names().name(vertex);
        let there =
            if is_source { names.find_source(&name) } else { names.find_destination(&name) };
        found[vertex as usize] = there.ok_or_else(|| {
            let kind = if is_source { "source" } else { "destination" };
            let expected = format!("a {kind} that the graph has");
            DataError::invalid(Location::file(path), &expected, format!("vertex {name}"))
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
