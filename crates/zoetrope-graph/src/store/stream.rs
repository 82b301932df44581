//! Writing a store chunk by chunk, for streams that do not fit into memory.
//!
//! Each column is spooled into a file of its own beside the target and hashed as it is written; at the
//! end the columns are copied end to end into the store. The disk holds the columns twice for a
//! moment, memory never holds more than a chunk.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytemuck::cast_slice;

use super::checksum::SectionHasher;
use super::layout::Header;
use super::write::{Content, Sections, Temporary, io_error, push_names, push_text, replace};
use crate::error::GraphError;
use crate::events::{EventKind, EventStore};
use crate::ids::{TextTable, VertexId, VertexNames};
use crate::time::{Time, TimeScale};

/// Which optional columns a streamed store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreColumns {
    /// Whether events have weights.
    pub weight: bool,
    /// Whether events have labels.
    pub label: bool,
    /// Whether events have kinds.
    pub kind: bool,
    /// Features per event; 0 for none.
    pub feature_width: usize,
}

/// Consecutive events, in time order; optional columns as announced by [`StoreColumns`].
#[derive(Debug, Clone, Copy, Default)]
pub struct EventChunk<'a> {
    /// Sources.
    pub src: &'a [VertexId],
    /// Destinations.
    pub dst: &'a [VertexId],
    /// Times, ascending, none before the last of the chunk before.
    pub time: &'a [Time],
    /// Weights.
    pub weight: &'a [f32],
    /// Labels.
    pub label: &'a [f32],
    /// Kinds, as numbers of [`EventKind`].
    pub kind: &'a [u8],
    /// `events × feature_width` features.
    pub features: &'a [f32],
}

/// What a store holds besides its events.
#[derive(Debug, Clone, Copy)]
pub struct StoreAttributes<'a> {
    /// The original identifiers of the vertices.
    pub names: &'a VertexNames,
    /// Names of the classes of events.
    pub label_names: &'a TextTable,
    /// Names of the features of events.
    pub feature_names: &'a TextTable,
    /// Width and `vertices × width` constant features.
    pub vertex_features: Option<(usize, &'a [f32])>,
    /// A constant label of each vertex.
    pub vertex_labels: Option<&'a [f32]>,
    /// Names of the classes of vertices.
    pub vertex_label_names: &'a TextTable,
}

impl<'a> StoreAttributes<'a> {
    /// The attributes of a store in memory.
    pub fn of(store: &'a EventStore) -> Self {
        let features = store.vertex_features.as_ref();
        Self {
            names: store.names(),
            label_names: &store.label_names,
            feature_names: &store.feature_names,
            vertex_features: features.map(|(width, values)| (*width, &values[..])),
            vertex_labels: store.vertex_labels.as_deref(),
            vertex_label_names: &store.vertex_label_names,
        }
    }

    pub(super) fn header(
        &self,
        events: u64,
        scale: TimeScale,
        feature_width: usize,
    ) -> Result<Header, GraphError> {
        let vertices = self.names.len();
        narrow("vertices", vertices)?;
        let width = self.vertex_features.map_or(0, |(width, _)| width);
        if let Some((_, values)) = self.vertex_features {
            same("vertex features", vertices.saturating_mul(width), values.len())?;
        }
        if let Some(values) = self.vertex_labels {
            same("vertex labels", vertices, values.len())?;
        }
        Ok(Header {
            events,
            first: narrow("vertices", self.names.first.len())?,
            second: match &self.names.second {
                Some(second) => Some(narrow("vertices", second.len())?),
                None => None,
            },
            scale,
            feature_width: narrow("features per event", feature_width)?,
            vertex_feature_width: narrow("features per vertex", width)?,
        })
    }

    pub(super) fn push_sections(&self, sections: &mut Sections<'a>) {
        let first = ["first.integers", "first.ends", "first.bytes"];
        push_names(sections, first, &self.names.first);
        if let Some(second) = &self.names.second {
            push_names(sections, ["second.integers", "second.ends", "second.bytes"], second);
        }
        let tables = [
            ("labels.ends", "labels.bytes", self.label_names),
            ("feature_names.ends", "feature_names.bytes", self.feature_names),
            ("vertex_label_names.ends", "vertex_label_names.bytes", self.vertex_label_names),
        ];
        for (ends, bytes, table) in tables {
            if !table.is_empty() {
                push_text(sections, ends, bytes, table);
            }
        }
        if let Some((_, values)) = self.vertex_features {
            sections.push(("vertex_features", Content::Bytes(cast_slice(values))));
        }
        if let Some(values) = self.vertex_labels {
            sections.push(("vertex_labels", Content::Bytes(cast_slice(values))));
        }
    }
}

fn narrow(what: &'static str, count: usize) -> Result<u32, GraphError> {
    let limit = u64::from(u32::MAX);
    u32::try_from(count).map_err(|_| GraphError::TooMany { what, count: count as u64, limit })
}

fn same(column: &'static str, expected: usize, got: usize) -> Result<(), GraphError> {
    if expected == got { Ok(()) } else { Err(GraphError::LengthMismatch { column, expected, got }) }
}

/// A column that is being written to the store.
struct Spool {
    name: &'static str,
    temporary: Temporary,
    hasher: SectionHasher,
    length: u64,
}

impl Spool {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        (&self.temporary.file).write_all(bytes)
    }
}

/// Writes a store chunk by chunk. Dropping it before [`finish`](Self::finish) leaves nothing
/// behind.
pub struct StoreWriter {
    path: PathBuf,
    scale: TimeScale,
    columns: StoreColumns,
    spools: Vec<Spool>,
    events: u64,
    last_time: Option<Time>,
    highest: Option<(&'static str, u64, VertexId)>,
}

impl StoreWriter {
    /// Starts a store that will stand at `path`.
    ///
    /// # Errors
    /// [`GraphError::Io`] if temporary files cannot be created beside it.
    pub fn create(
        path: &Path,
        scale: TimeScale,
        columns: StoreColumns,
    ) -> Result<Self, GraphError> {
        let wanted = [
            ("src", true),
            ("dst", true),
            ("time", true),
            ("weight", columns.weight),
            ("label", columns.label),
            ("kind", columns.kind),
            ("features", columns.feature_width > 0),
        ];
        let spools: Result<Vec<Spool>, std::io::Error> = wanted
            .into_iter()
            .filter(|&(_, present)| present)
            .map(|(name, _)| {
                let temporary = Temporary::create(path, name)?;
                Ok(Spool { name, temporary, hasher: SectionHasher::new(), length: 0 })
            })
            .collect();
        Ok(Self {
            path: path.into(),
            scale,
            columns,
            spools: spools.map_err(|source| io_error(path, source))?,
            events: 0,
            last_time: None,
            highest: None,
        })
    }

    /// How many events were appended.
    pub fn len(&self) -> u64 {
        self.events
    }

    /// Whether no event was appended.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Appends events; nothing is appended if the chunk is refused.
    ///
    /// # Errors
    /// [`GraphError::LengthMismatch`] if columns differ in length,
    /// [`GraphError::NotInTimeOrder`], [`GraphError::BadParameter`] for an unknown kind,
    /// [`GraphError::Io`] if the disk refuses; after the last the writer is of no further use.
    pub fn append(&mut self, chunk: &EventChunk<'_>) -> Result<(), GraphError> {
        self.check(chunk)?;
        for spool in &mut self.spools {
            let bytes: &[u8] = match spool.name {
                "src" => cast_slice(chunk.src),
                "dst" => cast_slice(chunk.dst),
                "time" => cast_slice(chunk.time),
                "weight" => cast_slice(chunk.weight),
                "label" => cast_slice(chunk.label),
                "kind" => chunk.kind,
                _ => cast_slice(chunk.features),
            };
            spool.append(bytes).map_err(|source| io_error(&self.path, source))?;
        }
        for (column, values) in [("src", chunk.src), ("dst", chunk.dst)] {
            let highest = values.iter().copied().max();
            if let Some(vertex) = highest.filter(|&v| self.highest.is_none_or(|h| v > h.2)) {
                let at = values.iter().position(|&v| v == vertex).unwrap_or(0) as u64;
                self.highest = Some((column, self.events + at, vertex));
            }
        }
        self.events += chunk.src.len() as u64;
        self.last_time = chunk.time.last().copied().or(self.last_time);
        Ok(())
    }

    fn check(&self, chunk: &EventChunk<'_>) -> Result<(), GraphError> {
        let events = chunk.src.len();
        let present = |present: bool| if present { events } else { 0 };
        same("dst", events, chunk.dst.len())?;
        same("time", events, chunk.time.len())?;
        same("weight", present(self.columns.weight), chunk.weight.len())?;
        same("label", present(self.columns.label), chunk.label.len())?;
        same("kind", present(self.columns.kind), chunk.kind.len())?;
        let features = events.saturating_mul(self.columns.feature_width);
        same("features", features, chunk.features.len())?;
        if let Some(&kind) = chunk.kind.iter().find(|&&kind| kind > EventKind::Remove as u8) {
            return Err(GraphError::BadParameter {
                parameter: "event kind",
                value: kind.to_string(),
                expected: "0 (add) or 1 (remove)",
            });
        }
        let mut before = self.last_time.unwrap_or(Time::MIN);
        for (position, &time) in chunk.time.iter().enumerate() {
            if time < before {
                let event = self.events + position as u64;
                return Err(GraphError::NotInTimeOrder { event, time, before });
            }
            before = time;
        }
        Ok(())
    }

    /// Completes the store: it stands at its path when this returns. `advance` hears the bytes
    /// written.
    ///
    /// # Errors
    /// [`GraphError::VertexOutOfRange`] if an event named a vertex that the names do not have,
    /// [`GraphError::LengthMismatch`] if vertex attributes do not fit the vertices,
    /// [`GraphError::Io`] if the disk refuses.
    pub fn finish(
        self,
        attributes: &StoreAttributes<'_>,
        advance: &dyn Fn(u64),
    ) -> Result<(), GraphError> {
        let header = attributes.header(self.events, self.scale, self.columns.feature_width)?;
        let vertices = header.first + header.second.unwrap_or(0);
        if let Some((column, position, vertex)) = self.highest.filter(|h| h.2 >= vertices) {
            let position = position as usize;
            return Err(GraphError::VertexOutOfRange { column, position, vertex, vertices });
        }
        let path = self.path;
        let mut sections: Sections<'_> = Vec::new();
        // Kept until the end: dropping a temporary removes its file.
        let mut temporaries = Vec::new();
        for spool in self.spools {
            let Spool { name, temporary, hasher, length } = spool;
            let file: File =
                temporary.file.try_clone().map_err(|source| io_error(&path, source))?;
            sections.push((name, Content::Spooled { file, length, checksum: hasher.finish() }));
            temporaries.push(temporary);
        }
        attributes.push_sections(&mut sections);
        replace(&path, &header, sections, advance).map_err(|source| io_error(&path, source))
    }
}
