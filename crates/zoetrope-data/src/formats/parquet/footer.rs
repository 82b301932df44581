//! The footer of a Parquet file, checked and decoded, and the note that our own files carry.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use serde::{Deserialize, Serialize};
use zoetrope_graph::TimeScale;

use crate::error::{DataError, Location};
use crate::formats::parquet::contain::contain;
use crate::formats::parquet::guard::{self, Refusal};
use crate::options::Limits;
use crate::regular_file;

/// The key under which the writer leaves a [`Note`].
pub(crate) const NOTE_KEY: &str = "zoetrope";

/// What an event store knows that Parquet has no words for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The version of this note.
    pub(crate) version: u32,
    /// What a tick of the time column means.
    pub(crate) scale: TimeScale,
    /// Whether destinations have identifiers of their own.
    pub(crate) bipartite: bool,
    /// The number of vertices on each side whose identifiers were `0..n`, so that vertices
    /// without an event are not lost.
    pub(crate) identity: Option<(u32, Option<u32>)>,
    /// Whether the features had names, rather than getting `f0`, `f1`, … for the file.
    pub(crate) named_features: bool,
}

/// An open file and what its footer says.
pub(crate) struct Opened {
    pub(crate) metadata: ParquetMetaData,
    pub(crate) bytes: u64,
    pub(crate) note: Option<Note>,
}

/// Reads and checks the footer.
pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Opened, DataError> {
    let io = |error| DataError::io(path, error);
    let mut file = regular_file::open(path).map_err(io)?;
    let bytes = file.metadata().map_err(io)?.len();
    let at_end = |back: u64| Location::file(path).byte(bytes.saturating_sub(back));
    if bytes < 12 {
        return Err(DataError::invalid(at_end(0), "a Parquet file", format!("{bytes} bytes")));
    }
    let mut tail = [0; 8];
    file.seek(SeekFrom::End(-8)).map_err(io)?;
    file.read_exact(&mut tail).map_err(io)?;
    let [l0, l1, l2, l3, magic @ ..] = tail;
    if &magic == b"PARE" {
        return Err(DataError::Unsupported {
            at: Location::file(path),
            what: "an encrypted footer".into(),
            advice: "write the file without encryption".into(),
        });
    }
    if &magic != b"PAR1" {
        let found = format!("{:?}", String::from_utf8_lossy(&magic));
        return Err(DataError::invalid(at_end(4), "PAR1 at the end of the file", found));
    }
    let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    if length > bytes - 12 {
        let expected = format!("a footer of at most {} bytes", bytes - 12);
        return Err(DataError::invalid(at_end(8), expected, format!("{length}")));
    }
    file.seek(SeekFrom::End(-8 - length as i64)).map_err(io)?;
    // The length is below that of the file, so this reserves no more than is there.
    let mut footer = vec![0; length as usize];
    file.read_exact(&mut footer).map_err(io)?;
    guard::check_footer(&footer, limits.columns)
        .map_err(|refusal| refused(at_end(8 + length), refusal))?;
    let metadata = contain(|| ParquetMetaDataReader::decode_metadata(&footer))
        .and_then(|decoded| decoded.map_err(|error| error.to_string()))
        .map_err(|found| DataError::invalid(at_end(8 + length), "Parquet metadata", found))?;
    let note = note(&metadata);
    Ok(Opened { metadata, bytes, note })
}

/// A refusal as an error at a place.
pub(crate) fn refused(at: Location, refusal: Refusal) -> DataError {
    match refusal {
        Refusal::Damaged(found) => DataError::invalid(at, "intact Parquet", found),
        Refusal::Unsupported(what) => DataError::Unsupported {
            at,
            what: what.into(),
            advice: "write the column with plain or dictionary encoding".into(),
        },
        Refusal::TooLarge(limit) => DataError::Limit {
            at,
            what: "the unpacked size of a page in bytes",
            limit,
            advice: "if the file is what you expect, write it with smaller pages or uncompressed",
        },
    }
}

/// A note that cannot be read is as good as none: the file is then read as anybody's.
fn note(metadata: &ParquetMetaData) -> Option<Note> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    let value = pairs.iter().find(|pair| pair.key == NOTE_KEY)?.value.as_ref()?;
    serde_json::from_str::<Note>(value).ok().filter(|note| note.version == 1)
}
