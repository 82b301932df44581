//! Features that stand in `.npy` files of their own, beside a table of events.
//!
//! TGL and TGN keep the features of events and vertices in matrices that are indexed by row
//! number and by vertex identifier. This module reads such a matrix and lays its rows out in the
//! order of an event store; which file holds what is the format's business.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, NameTable, VertexNames};

use crate::error::{DataError, Location};
use crate::format::Format;
use crate::npy::{NpyReader, write_npy_parts};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::sink::Sink;

/// A matrix as read.
pub(crate) struct Matrix {
    path: PathBuf,
    pub(crate) rows: usize,
    pub(crate) width: usize,
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    /// Reads a matrix; a plain vector counts as a matrix of one column.
    pub(crate) fn read(
        path: &Path,
        options: &ReadOptions,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let reader = NpyReader::open(path, &options.limits, progress)?;
        let shape: Vec<u64> = reader.shape().to_vec();
        if !(1..=2).contains(&shape.len()) {
            let expected = "a matrix of rows of features";
            return Err(DataError::invalid(
                Location::file(path),
                expected,
                format!("shape {shape:?}"),
            ));
        }
        let values = reader.read_f32()?;
        // All elements that the shape declares were read, so these fit.
        let rows = shape[0] as usize;
        let width = shape.get(1).map_or(1, |&width| width as usize);
        Ok(Self { path: path.to_owned(), rows, width, values })
    }

    /// How many values are NaN.
    pub(crate) fn missing(&self) -> u64 {
        self.values.par_iter().filter(|value| value.is_nan()).count() as u64
    }

    fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..][..self.width]
    }

    fn too_short(&self, needed: u64) -> DataError {
        let expected = format!("at least {needed} rows");
        DataError::invalid(Location::file(&self.path), expected, format!("{}", self.rows))
    }

    /// Makes row `rows[event]` the features of each event.
    pub(crate) fn into_event_features(
        self,
        store: EventStore,
        rows: &[u64],
    ) -> Result<EventStore, DataError> {
        let largest = rows.par_iter().copied().max().unwrap_or(0);
        if largest >= self.rows as u64 {
            return Err(self.too_short(largest + 1));
        }
        let width = self.width;
        let mut features = vec![0.0; rows.len() * width];
        if width != 0 {
            features
                .par_chunks_mut(width)
                .zip(rows)
                .for_each(|(to, &row)| to.copy_from_slice(self.row(row as usize)));
        }
        let columns = EventColumns {
            features: (width != 0).then(|| features.into()),
            feature_width: width,
            ..store.columns().clone()
        };
        let failed = |source| DataError::Graph { path: self.path.clone(), source };
        store.with_columns(columns).map_err(failed)
    }

    /// Makes the row of each vertex's identifier its constant features. Every row from `first`
    /// on is a vertex, even if it has no event.
    pub(crate) fn into_vertex_features(
        self,
        store: EventStore,
        first: usize,
    ) -> Result<EventStore, DataError> {
        let failed = |source| DataError::Graph { path: self.path.clone(), source };
        let ids = identifiers(&store).ok_or_else(|| DataError::Unsupported {
            at: Location::file(&self.path),
            what: "a matrix of vertex features beside text identifiers".into(),
            advice: "number the vertices as the rows are".into(),
        })?;
        let within = |id: &i64| (first as i64..self.rows as i64).contains(id);
        if let Some(&outside) = ids.iter().find(|id| !within(id)) {
            return Err(if outside < first as i64 {
                DataError::invalid(
                    Location::file(&self.path),
                    format!("vertices numbered from {first}"),
                    format!("{outside}"),
                )
            } else {
                self.too_short(outside as u64 + 1)
            });
        }
        let mut store = if self.rows - first > ids.len() {
            renumber(&store, &ids, first, self.rows).map_err(failed)?
        } else {
            store
        };
        // The vertices are now exactly the rows from `first` on, in ascending order.
        let values = self.values[first * self.width..].to_vec();
        store.vertex_features = (self.width != 0).then(|| (self.width, values.into()));
        Ok(store)
    }
}

/// The integer identifiers of the vertices.
fn identifiers(store: &EventStore) -> Option<Vec<i64>> {
    match &store.names().first {
        _ if store.names().second.is_some() => None,
        NameTable::Identity(count) => Some((0..i64::from(*count)).collect()),
        NameTable::Integers(names) => Some(names.clone()),
        NameTable::Text(_) => None,
    }
}

/// The same events over the vertices `first..end`.
fn renumber(
    store: &EventStore,
    ids: &[i64],
    first: usize,
    end: usize,
) -> Result<EventStore, zoetrope_graph::GraphError> {
    let vertex = |old: &u32| (ids[*old as usize] - first as i64) as u32;
    let names = match first {
        0 => NameTable::Identity(end as u32),
        _ => NameTable::Integers((first as i64..end as i64).collect()),
    };
    let mut renumbered = EventStore::new(
        store.src().par_iter().map(vertex).collect(),
        store.dst().par_iter().map(vertex).collect(),
        store.time().to_vec(),
        store.columns().clone(),
        store.scale(),
        VertexNames { first: names, second: None },
    )?;
    renumbered.label_names = store.label_names.clone();
    renumbered.feature_names = store.feature_names.clone();
    Ok(renumbered)
}

/// Writes a matrix of `width` columns, under `padding` rows of zeros.
pub(crate) fn write_matrix(
    path: &Path,
    width: usize,
    values: &[f32],
    padding: usize,
) -> Result<(), DataError> {
    let mut sink = Sink::create_plain(path)?;
    let zeros = vec![0.0; padding * width];
    let rows = values.len().checked_div(width).unwrap_or(0) + padding;
    write_npy_parts(&mut sink, &[rows, width], &[&zeros, values])
        .map_err(|error| DataError::io(path, error))?;
    sink.finish()
}

/// Refuses what a table of source, destination, time and label has no column for.
pub(crate) fn check_plain(format: Format, store: &EventStore) -> Result<(), DataError> {
    let refuse =
        |what| Err(DataError::CannotHold { format, what, advice: "write edge-list or parquet" });
    if store.weight().is_some() {
        return refuse("weights");
    }
    if store.kind().is_some_and(|kind| kind.iter().any(|&kind| kind != 0)) {
        return refuse("removals");
    }
    Ok(())
}

/// The names in the first row of a table.
pub(crate) fn header_names(head: &[u8]) -> Vec<String> {
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    String::from_utf8_lossy(first)
        .trim_end()
        .split(',')
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect()
}
