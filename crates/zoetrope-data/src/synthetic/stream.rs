//! Generated events in time order, chunk by chunk, for data larger than memory.

use std::path::Path;

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::store::{self, StoreAttributes, StoreColumns, StoreWriter};
use zoetrope_graph::{EventStore, TextTable, Time, TimeScale, VertexId, VertexNames};

use super::parameter::Arguments;
use crate::error::DataError;
use crate::formats::store::data_error;
use crate::progress::Progress;

/// Consecutive events of a stream, in columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventChunk {
    /// The source of each event.
    pub src: Vec<VertexId>,
    /// The destination of each event.
    pub dst: Vec<VertexId>,
    /// The time of each event; ascending, within the chunk and from chunk to chunk.
    pub time: Vec<Time>,
    /// The label of each event.
    pub label: Vec<f32>,
    /// `events × feature_width` values.
    pub features: Vec<f32>,
}

/// What generates chunks; called with the number of the chunk, in order.
pub(super) trait ChunkSource: Send {
    /// The next chunk, empty at the end.
    fn next_chunk(&mut self) -> EventChunk;
}

/// An iterator over chunks, and what the whole stream is about.
///
/// The concatenation of the chunks is what [`generate`](super::generate) makes of the same name.
pub struct EventStream {
    /// The number of events in all chunks together.
    pub events: u64,
    /// Features per event.
    pub feature_width: usize,
    /// What a tick of time means.
    pub scale: TimeScale,
    /// The vertices.
    pub names: VertexNames,
    pub(super) source: Box<dyn ChunkSource>,
}

impl Iterator for EventStream {
    type Item = EventChunk;

    fn next(&mut self) -> Option<EventChunk> {
        let chunk = self.source.next_chunk();
        (!chunk.time.is_empty()).then_some(chunk)
    }
}

impl EventStream {
    /// Writes the events as a store without holding more than a chunk of them.
    ///
    /// # Errors
    /// [`DataError::Io`] if the disk refuses; the path is then untouched.
    pub fn write_store(self, path: &Path, progress: &dyn Progress) -> Result<(), DataError> {
        progress.begin("generating", Some(self.events));
        let failed = |error| data_error(path, error, usize::MAX);
        let columns = StoreColumns {
            label: true,
            feature_width: self.feature_width,
            ..StoreColumns::default()
        };
        let names = self.names.clone();
        let mut writer = StoreWriter::create(path, self.scale, columns).map_err(failed)?;
        for chunk in self {
            let columns = store::EventChunk {
                src: &chunk.src,
                dst: &chunk.dst,
                time: &chunk.time,
                label: &chunk.label,
                features: &chunk.features,
                ..store::EventChunk::default()
            };
            writer.append(&columns).map_err(failed)?;
            progress.advance(chunk.time.len() as u64);
        }
        let nothing = TextTable::default();
        let attributes = StoreAttributes {
            names: &names,
            label_names: &nothing,
            feature_names: &nothing,
            vertex_features: None,
            vertex_labels: None,
            vertex_label_names: &nothing,
        };
        progress.begin("writing", None);
        writer.finish(&attributes, &|bytes| progress.advance(bytes)).map_err(failed)
    }

    /// All events in memory.
    pub(super) fn collect_store(
        self,
        arguments: &Arguments,
        progress: &dyn Progress,
    ) -> Result<EventStore, DataError> {
        progress.begin("generating", Some(self.events));
        let (events, width) = (self.events as usize, self.feature_width);
        let (scale, names) = (self.scale, self.names.clone());
        let mut all = EventChunk {
            src: Vec::with_capacity(events),
            dst: Vec::with_capacity(events),
            time: Vec::with_capacity(events),
            label: Vec::with_capacity(events),
            features: Vec::with_capacity(events * width),
        };
        for mut chunk in self {
            progress.advance(chunk.time.len() as u64);
            all.src.append(&mut chunk.src);
            all.dst.append(&mut chunk.dst);
            all.time.append(&mut chunk.time);
            all.label.append(&mut chunk.label);
            all.features.append(&mut chunk.features);
        }
        let columns = EventColumns {
            label: Some(all.label.into()),
            features: (width > 0).then(|| all.features.into()),
            feature_width: width,
            ..EventColumns::default()
        };
        EventStore::new(all.src, all.dst, all.time, columns, scale, names)
            .map_err(arguments.graph_error())
    }
}
