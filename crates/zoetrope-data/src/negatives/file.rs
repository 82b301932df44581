//! Lists of negatives on file: a NumPy archive, no pickle.
//!
//! | array | shape | type | holds |
//! | --- | --- | --- | --- |
//! | `src`, `dst`, `time` | E | u32, u32, i64 | the events, validation before test |
//! | `negatives` | E × K | u32 | destinations; 4294967295 if there was none left |
//! | `negative_sources` | E × K | u32 | only if a negative has a source of its own |
//! | `metadata` | bytes | u8 | [`ListMetadata`](super::ListMetadata) as JSON |
//!
//! Vertices are numbered as in the store that the list was made for. In Python:
//! `z = numpy.load(path); meta = json.loads(z["metadata"].tobytes())`.

use std::path::Path;

use zoetrope_graph::VertexId;

use super::list::{ListMetadata, NegativeList};
use super::{MISSING, NegativeOptions};
use crate::error::{DataError, Location};
use crate::formats::npz::{NpzArchive, NpzSink};
use crate::options::Limits;
use crate::progress::Progress;

impl NegativeList {
    /// Writes the list; the file is replaced whole or not at all.
    ///
    /// # Errors
    /// [`DataError::Io`] if the disk refuses.
    pub fn write(&self, path: &Path, progress: &dyn Progress) -> Result<(), DataError> {
        let metadata = serde_json::to_vec_pretty(&self.metadata)
            .map_err(|error| DataError::io(path, error.into()))?;
        let cells = self.negatives.len() * if self.sources.is_some() { 2 } else { 1 };
        progress.begin("writing", Some((16 * self.src.len() + 4 * cells) as u64));
        let rows = self.src.len();
        let matrix = [rows, self.metadata.per_event];
        let mut out = NpzSink::create(path, progress)?;
        out.put("src", &[rows], &self.src)?;
        out.put("dst", &[rows], &self.dst)?;
        out.put("time", &[rows], &self.time)?;
        out.put("negatives", &matrix, &self.negatives)?;
        if let Some(sources) = &self.sources {
            out.put("negative_sources", &matrix, sources)?;
        }
        out.put("metadata", &[metadata.len()], &metadata)?;
        out.finish()
    }

    /// Reads a list and checks that it is consistent in itself; whether it belongs to the data
    /// is for [`check`](Self::check).
    ///
    /// # Errors
    /// [`DataError::Io`] if the file cannot be read, [`DataError::Invalid`] with the array and
    /// position at fault, [`DataError::Unsupported`] for a later version,
    /// [`DataError::Limit`] for an archive that unpacks to far more than its size.
    pub fn read(path: &Path, limits: &Limits, progress: &dyn Progress) -> Result<Self, DataError> {
        let mut input = In { archive: NpzArchive::open(path, limits, progress)? };
        let metadata = input.metadata()?;
        let (_, src) = input.array("src", 1, |array| array.read_u32())?;
        let (_, dst) = input.array("dst", 1, |array| array.read_u32())?;
        let (_, time) = input.array("time", 1, |array| array.read_i64())?;
        let (shape, negatives) = input.array("negatives", 2, |array| array.read_u32())?;
        let sources = if input.archive.contains("negative_sources") {
            Some(input.array("negative_sources", 2, |array| array.read_u32())?)
        } else {
            None
        };
        let rows = src.len() as u64;
        input.expect("dst", dst.len() as u64, rows)?;
        input.expect("time", time.len() as u64, rows)?;
        let announced = metadata.validation_events.checked_add(metadata.test_events);
        input.expect("metadata", announced.unwrap_or(usize::MAX) as u64, rows)?;
        let matrix = [rows, metadata.per_event as u64];
        input.expect_shape("negatives", &shape, &matrix)?;
        if let Some((shape, _)) = &sources {
            input.expect_shape("negative_sources", shape, &matrix)?;
        }
        let sources = sources.map(|(_, sources)| sources);
        if sources.is_some() != metadata.strategy.draws_sources() {
            let found = if sources.is_some() { "one" } else { "none" };
            let expected = format!(
                "such an array for historical and inductive negatives only, \
                                    not with `{}`",
                metadata.strategy
            );
            return Err(input.wrong("negative_sources", expected, found));
        }
        input.expect_vertices("src", &src, metadata.vertices, false)?;
        input.expect_vertices("dst", &dst, metadata.vertices, false)?;
        input.expect_vertices("negatives", &negatives, metadata.vertices, true)?;
        if let Some(sources) = &sources {
            input.expect_vertices("negative_sources", sources, metadata.vertices, false)?;
        }
        if let Some(at) = time.windows(2).position(|pair| pair[0] > pair[1]) {
            let expected = format!("a time not before {} at position {}", time[at], at + 1);
            return Err(input.wrong("time", expected, time[at + 1].to_string()));
        }
        Ok(Self { metadata, src, dst, time, negatives, sources })
    }
}

struct In<'p> {
    archive: NpzArchive<'p>,
}

type Opened<'a> = crate::npy::NpyReader<crate::formats::npz::Member<'a>>;

impl In<'_> {
    fn wrong(&self, name: &str, expected: impl Into<String>, found: impl AsRef<str>) -> DataError {
        DataError::invalid(Location::file(self.archive.path()).column(name), expected, found)
    }

    fn array<T>(
        &mut self,
        name: &str,
        dimensions: usize,
        read: impl Fn(Opened<'_>) -> Result<Vec<T>, DataError>,
    ) -> Result<(Vec<u64>, Vec<T>), DataError> {
        let Some(array) = self.archive.array(name)? else {
            return Err(self.wrong(name, "an array of this name in a list of negatives", "none"));
        };
        let shape = array.shape().to_vec();
        if shape.len() != dimensions {
            let (at, found) = (array.location().clone(), format!("shape {shape:?}"));
            return Err(DataError::invalid(at, format!("{dimensions} dimension(s)"), found));
        }
        read(array).map(|values| (shape, values))
    }

    fn metadata(&mut self) -> Result<ListMetadata, DataError> {
        let (_, bytes) = self.array("metadata", 1, |array| array.read_u8())?;
        let metadata: ListMetadata = serde_json::from_slice(&bytes)
            .map_err(|error| self.wrong("metadata", "JSON metadata", error.to_string()))?;
        if metadata.schema != 1 {
            return Err(DataError::Unsupported {
                at: Location::file(self.archive.path()).column("metadata"),
                what: format!("schema {}", metadata.schema),
                advice: "make the list with this version of Zoetrope".into(),
            });
        }
        if !(1..=NegativeOptions::MOST_PER_EVENT).contains(&metadata.per_event) {
            let expected = format!("per_event from 1 to {}", NegativeOptions::MOST_PER_EVENT);
            return Err(self.wrong("metadata", expected, metadata.per_event.to_string()));
        }
        Ok(metadata)
    }

    fn expect(&self, name: &str, found: u64, rows: u64) -> Result<(), DataError> {
        if found == rows {
            Ok(())
        } else {
            Err(self.wrong(name, format!("{rows} events as in `src`"), found.to_string()))
        }
    }

    fn expect_shape(&self, name: &str, found: &[u64], wanted: &[u64]) -> Result<(), DataError> {
        if found == wanted {
            Ok(())
        } else {
            Err(self.wrong(name, format!("shape {wanted:?}"), format!("{found:?}")))
        }
    }

    fn expect_vertices(
        &self,
        name: &str,
        values: &[VertexId],
        vertices: u32,
        may_miss: bool,
    ) -> Result<(), DataError> {
        let bad = |&&value: &&VertexId| value >= vertices && !(may_miss && value == MISSING);
        match values.iter().position(|value| bad(&value)) {
            None => Ok(()),
            Some(at) => {
                let expected = format!("a vertex below {vertices} at position {at}");
                Err(self.wrong(name, expected, values[at].to_string()))
            }
        }
    }
}
