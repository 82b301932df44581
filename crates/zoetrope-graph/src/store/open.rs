//! Opening a store: header, table and names are read, columns stay mapped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;

use super::StoreProblem;
use super::checksum::checksum;
use super::layout::{self, Header, Section};
use super::mapping::Mapping;
use crate::column::{Bytes, Column};
use crate::error::GraphError;
use crate::events::{EventColumns, EventStore};
use crate::ids::{NameTable, TextTable, VertexNames};
use crate::time::TimeScale;

/// A store file whose header and section table were found valid.
pub struct StoreFile {
    pub(super) path: PathBuf,
    pub(super) mapping: Arc<Mapping>,
    pub(super) header: Header,
    pub(super) sections: Vec<Section>,
}

/// Opens a store; columns stay mapped. See [`StoreFile::open`] for what is checked.
///
/// # Errors
/// As [`StoreFile::open`] and [`StoreFile::events`].
pub fn open(path: &Path) -> Result<EventStore, GraphError> {
    StoreFile::open(path)?.events()
}

impl StoreFile {
    /// Maps a file and checks its header and section table; the cost does not depend on the
    /// number of events.
    ///
    /// # Errors
    /// [`GraphError::Io`] if the system refuses, [`GraphError::Damaged`] if the header is
    /// wrong or the length is not the declared one.
    pub fn open(path: &Path) -> Result<Self, GraphError> {
        let io = |source| GraphError::Io { path: path.into(), source };
        let damaged = |problem| GraphError::Damaged { path: path.into(), problems: vec![problem] };
        if cfg!(target_endian = "big") {
            let expected = "a little-endian machine: columns are used where they lie";
            return Err(damaged(StoreProblem::new(0, "header", expected, "a big-endian one")));
        }
        // Before opening: to open a pipe would wait for a writer.
        let metadata = std::fs::metadata(path).map_err(io)?;
        if !metadata.is_file() || metadata.len() < layout::HEADER_BYTES as u64 {
            let expected = format!("a file of at least {} bytes", layout::HEADER_BYTES);
            let found = if metadata.is_file() {
                format!("{} bytes", metadata.len())
            } else {
                "something that is not a plain file".into()
            };
            return Err(damaged(StoreProblem::new(0, "header", expected, found)));
        }
        let file = File::open(path).map_err(io)?;
        let bytes = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        let held = zoetrope_heap::hold(&path.display().to_string(), bytes, "raise the limit")?;
        let mapping = Arc::new(Mapping::new(&file, held).map_err(io)?);
        let (header, sections) = layout::decode(mapping.bytes()).map_err(damaged)?;
        Ok(Self { path: path.into(), mapping, header, sections })
    }

    /// The number of events.
    pub fn len(&self) -> u64 {
        self.header.events
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.header.events == 0
    }

    /// The number of vertices.
    pub fn vertices(&self) -> u32 {
        self.header.first + self.header.second.unwrap_or(0)
    }

    /// What a tick means.
    pub fn scale(&self) -> TimeScale {
        self.header.scale
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.mapping.bytes().len() as u64
    }

    /// The events with mapped columns, and copies of the names. Columns are not looked at:
    /// [`verify`](Self::verify) does that.
    ///
    /// # Errors
    /// [`GraphError::Damaged`] if a text table does not match its checksum or its offsets do
    /// not rise.
    pub fn events(&self) -> Result<EventStore, GraphError> {
        self.assemble().map_err(|problem| self.damaged(vec![problem]))?
    }

    pub(super) fn damaged(&self, problems: Vec<StoreProblem>) -> GraphError {
        GraphError::Damaged { path: self.path.clone(), problems }
    }

    fn assemble(&self) -> Result<Result<EventStore, GraphError>, StoreProblem> {
        let required = |name| self.section(name).ok_or_else(|| missing(name));
        required("src").and(required("dst")).and(required("time"))?;
        if self.header.feature_width > 0 {
            required("features")?;
        }
        if self.header.vertex_feature_width > 0 {
            required("vertex_features")?;
        }
        let columns = EventColumns {
            weight: self.column("weight")?,
            label: self.column("label")?,
            kind: self.column("kind")?,
            features: self.column("features")?,
            feature_width: self.header.feature_width as usize,
        };
        let names = VertexNames {
            first: self
                .names(["first.integers", "first.ends", "first.bytes"], self.header.first)?,
            second: match self.header.second {
                Some(count) => {
                    Some(self.names(["second.integers", "second.ends", "second.bytes"], count)?)
                }
                None => None,
            },
        };
        let width = self.header.vertex_feature_width as usize;
        let vertex_features = self.column("vertex_features")?.map(|column| (width, column));
        let vertex_labels = self.column("vertex_labels")?;
        let label_names = self.text("labels.ends", "labels.bytes")?.unwrap_or_default();
        let feature_names =
            self.text("feature_names.ends", "feature_names.bytes")?.unwrap_or_default();
        let vertex_label_names =
            self.text("vertex_label_names.ends", "vertex_label_names.bytes")?.unwrap_or_default();
        let [src, dst] = [self.column("src")?, self.column("dst")?].map(Option::unwrap_or_default);
        let time = self.column("time")?.unwrap_or_default();
        let scale = self.header.scale;
        Ok(EventStore::from_columns(src, dst, time, columns, scale, names).map(|mut store| {
            store.label_names = label_names;
            store.feature_names = feature_names;
            store.vertex_features = vertex_features;
            store.vertex_labels = vertex_labels;
            store.vertex_label_names = vertex_label_names;
            store
        }))
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn content(&self, section: &Section) -> &[u8] {
        &self.mapping.bytes()[section.offset as usize..section.end() as usize]
    }

    /// A section as a mapped column.
    pub(super) fn column<T: Pod>(&self, name: &str) -> Result<Option<Column<T>>, StoreProblem> {
        let Some(section) = self.section(name) else { return Ok(None) };
        let bytes: Arc<dyn Bytes> = self.mapping.clone();
        let column = Column::mapped(bytes, section.offset as usize, section.end() as usize);
        column.map(Some).ok_or_else(|| {
            StoreProblem::new(section.offset, name, "whole, aligned values", "others")
        })
    }

    /// The values of a section, checked and copied.
    fn copied<T: Pod>(&self, name: &str) -> Result<Option<Vec<T>>, StoreProblem> {
        let Some(section) = self.section(name) else { return Ok(None) };
        let computed = checksum(self.content(section));
        if computed != section.checksum {
            return Err(StoreProblem::new(
                section.offset,
                name,
                format!("content with checksum {:016x}", section.checksum),
                format!("{computed:016x}"),
            ));
        }
        Ok(self.column(name)?.map(Column::into_vec))
    }

    fn text(&self, ends: &str, bytes: &str) -> Result<Option<TextTable>, StoreProblem> {
        let byte = self.section(ends).map_or(0, |section| section.offset);
        match (self.copied(ends)?, self.copied(bytes)?) {
            (None, None) => Ok(None),
            (Some(offsets), Some(content)) => {
                let found = "other offsets";
                TextTable::from_parts(offsets, content).map(Some).ok_or_else(|| {
                    StoreProblem::new(
                        byte,
                        ends,
                        format!("offsets that rise to the end of `{bytes}`"),
                        found,
                    )
                })
            }
            (Some(_), None) => Err(missing(bytes)),
            (None, Some(_)) => Err(missing(ends)),
        }
    }

    fn names(
        &self,
        [integers, ends, bytes]: [&str; 3],
        count: u32,
    ) -> Result<NameTable, StoreProblem> {
        match (self.copied(integers)?, self.text(ends, bytes)?) {
            (None, None) => Ok(NameTable::Identity(count)),
            (Some(names), None) => Ok(NameTable::Integers(names)),
            (None, Some(names)) => Ok(NameTable::Text(names)),
            (Some(_), Some(_)) => {
                let byte = self.section(ends).map_or(0, |section| section.offset);
                Err(StoreProblem::new(byte, ends, format!("no text beside `{integers}`"), "both"))
            }
        }
    }
}

fn missing(name: &str) -> StoreProblem {
    StoreProblem::new(12, name, "the section", "none")
}
