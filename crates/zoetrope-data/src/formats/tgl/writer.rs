//! Writing a TGL folder.
//!
//! Everything is written into a folder beside the target, which is then renamed into place: the
//! target is whole or not there. Vertices are numbered from 0; `ext_roll` cuts the events at the
//! 0.70 and 0.85 quantiles of time.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hashbrown::HashSet;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};
use zoetrope_graph::{EventStore, Time, VertexId};

use crate::error::DataError;
use crate::format::Format;
use crate::formats::side_features::{check_plain, write_matrix};
use crate::formats::text::TimeStyle;
use crate::formats::text::rows::{Field, Rows, float};
use crate::formats::text::times::{TimeFormat, unsigned};
use crate::formats::tgl::{EDGE_FEATURES, EDGES, INDEX, LABELS, NODE_FEATURES};
use crate::npy::{NpyElement, write_npy};
use crate::progress::Progress;
use crate::sink::{Sink, sync_folder, temporary_name};
use crate::split::{Fractions, Split};

/// Writes a TGL folder at `path`, which must not exist or be an empty folder.
///
/// # Errors
/// [`DataError::CannotHold`] if events have weights or removals; [`DataError::Io`] if
/// something stands at `path` or the disk is full or fails.
pub fn write(path: &Path, store: &EventStore, progress: &dyn Progress) -> Result<(), DataError> {
    check_plain(Format::Tgl, store)?;
    let io = |error| DataError::io(path, error);
    let occupied = match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    };
    if occupied {
        let text = "something stands there already; name a new folder";
        return Err(io(io::Error::new(io::ErrorKind::AlreadyExists, text)));
    }
    let folder = NewFolder::create(path).map_err(io)?;
    let split = Split::by_time(store, Fractions::default());
    let split = Field::Split(split.train.end, split.validation.end);
    let time = TimeFormat::new(TimeStyle::Seconds, store.scale())?;
    write_edges(&folder.path.join(EDGES), store, time, split, progress)?;
    if store.label().is_some() {
        write_labels(&folder.path.join(LABELS), store, time, split)?;
    }
    if let Some(features) = store.features() {
        write_matrix(&folder.path.join(EDGE_FEATURES), store.feature_width(), features, 0)?;
    }
    if let Some((width, features)) = &store.vertex_features {
        write_matrix(&folder.path.join(NODE_FEATURES), *width, features, 0)?;
    }
    write_index(&folder.path.join(INDEX), store)?;
    folder.finish(path).map_err(io)
}

/// A folder that vanishes unless it is finished.
struct NewFolder {
    path: PathBuf,
    finished: bool,
}

impl NewFolder {
    fn create(target: &Path) -> io::Result<Self> {
        let path = temporary_name(target);
        std::fs::create_dir(&path)?;
        Ok(Self { path, finished: false })
    }

    fn finish(mut self, target: &Path) -> io::Result<()> {
        sync_folder(&self.path.join(EDGES))?;
        std::fs::rename(&self.path, target)?;
        self.finished = true;
        sync_folder(target)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.finished {
            // The failure that brought us here is on its way to the caller.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn write_edges(
    path: &Path,
    store: &EventStore,
    time: TimeFormat,
    split: Field,
    progress: &dyn Progress,
) -> Result<(), DataError> {
    let fields =
        vec![Field::Row(0), Field::Source(0), Field::Destination(0), Field::Time(time), split];
    let rows = Rows::new(Format::Tgl, store, b',', fields)?;
    let mut sink = Sink::create_plain(path)?;
    sink.put(b",src,dst,time,ext_roll\n")?;
    rows.write(&mut sink, progress)?;
    sink.finish()
}

/// Labels of sources. An event without a label is left out, unless its source has a labelled
/// event at the same time: then its place must be kept for labels to find their events.
fn write_labels(
    path: &Path,
    store: &EventStore,
    time: TimeFormat,
    split: Field,
) -> Result<(), DataError> {
    let labels = store.label().unwrap_or_default();
    let key = |event: usize| -> (VertexId, Time) { (store.src()[event], store.time()[event]) };
    let is_labelled = |event: &usize| !labels[*event].is_nan();
    let some_missing = labels.iter().any(|label| label.is_nan());
    let keep: HashSet<(VertexId, Time)> = if some_missing {
        (0..store.len()).filter(is_labelled).map(key).collect()
    } else {
        HashSet::new()
    };
    let Field::Split(train, validation) = split else { return Ok(()) };
    let mut sink = Sink::create_plain(path)?;
    sink.put(b",node,time,label,ext_roll\n")?;
    let mut line = Vec::new();
    let mut row = 0;
    for (event, &label) in labels.iter().enumerate() {
        if !is_labelled(&event) && !keep.contains(&key(event)) {
            continue;
        }
        line.clear();
        unsigned(row, &mut line);
        line.push(b',');
        unsigned(store.src()[event].into(), &mut line);
        line.push(b',');
        time.append(store.time()[event], &mut line);
        line.push(b',');
        float(label, &mut line);
        line.push(b',');
        line.push(b'0' + u8::from(event >= train) + u8::from(event >= validation));
        line.push(b'\n');
        sink.put(&line)?;
        row += 1;
    }
    sink.finish()
}

/// The index that TGL's own script makes: for each vertex, its outgoing events in time order
/// (`indptr`, `indices`, `ts`, `eid`).
fn write_index(path: &Path, store: &EventStore) -> Result<(), DataError> {
    let vertices = store.vertices() as usize;
    let mut starts = vec![0u64; vertices + 1];
    store.src().iter().for_each(|&vertex| starts[vertex as usize + 1] += 1);
    (0..vertices).for_each(|vertex| starts[vertex + 1] += starts[vertex]);
    let mut at = starts.clone();
    let mut indices = vec![0i64; store.len()];
    let mut times = vec![0f64; store.len()];
    let mut events = vec![0i64; store.len()];
    let per_second = store.scale().unit.ticks_per_second().unwrap_or(1) as f64;
    for event in 0..store.len() {
        let slot = &mut at[store.src()[event] as usize];
        indices[*slot as usize] = store.dst()[event].into();
        times[*slot as usize] = store.time()[event] as f64 / per_second;
        events[*slot as usize] = event as i64;
        *slot += 1;
    }
    let mut archive = Archive::create(path)?;
    // 32 bits as in TGL's script, unless there are more events than that.
    let narrow: Option<Vec<i32>> = starts.iter().map(|&start| i32::try_from(start).ok()).collect();
    match narrow {
        Some(starts) => archive.put("indptr", &starts)?,
        None => archive.put("indptr", &starts)?,
    }
    archive.put("indices", &indices)?;
    archive.put("ts", &times)?;
    archive.put("eid", &events)?;
    archive.finish()
}

/// A `.npz` in the making, inside a folder that is not visible yet.
struct Archive<'a> {
    path: &'a Path,
    zip: ZipWriter<File>,
}

impl<'a> Archive<'a> {
    fn create(path: &'a Path) -> Result<Self, DataError> {
        let file = File::create(path).map_err(|error| DataError::io(path, error))?;
        Ok(Self { path, zip: ZipWriter::new(file) })
    }

    fn put<T: NpyElement>(&mut self, name: &str, values: &[T]) -> Result<(), DataError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(values.len() as u64 * 8 >= u64::from(u32::MAX) / 2);
        let started = self.zip.start_file(format!("{name}.npy"), options);
        let mut out = io::BufWriter::new(&mut self.zip);
        started
            .map_err(io::Error::other)
            .and_then(|()| write_npy(&mut out, &[values.len()], values))
            .and_then(|()| out.flush())
            .map_err(|error| DataError::io(self.path, error))
    }

    fn finish(self) -> Result<(), DataError> {
        let file = self.zip.finish().map_err(io::Error::other);
        file.and_then(|file| file.sync_all()).map_err(|error| DataError::io(self.path, error))
    }
}
