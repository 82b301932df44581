//! Bytes from a path: plain, gzip, zstd or xz, guarded against decompression bombs.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{DataError, Location};
use crate::options::Limits;
use crate::progress::Progress;
use crate::regular_file;

/// How a file is compressed, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, also of several members.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
}

impl Compression {
    /// Recognises a compression by its magic number.
    pub fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::None,
        }
    }
}

/// The file name without a compression suffix.
pub fn bare_name(path: &Path) -> &str {
    let name = path.file_name().unwrap_or_default();
    let name = name.to_str().unwrap_or_else(|| text_of_suffixes(name));
    [".gz", ".zst", ".xz"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// The end of a name that is not UTF-8, from its first dot behind the last odd byte on.
fn text_of_suffixes(name: &std::ffi::OsStr) -> &str {
    let bytes = name.as_encoded_bytes();
    let dots = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    let mut texts = dots.filter_map(|at| std::str::from_utf8(&bytes[at..]).ok());
    texts.next().unwrap_or_default()
}

/// Whether the name of a file is that of a table, compressed or not.
pub(crate) fn is_table(path: &Path) -> bool {
    let name = bare_name(path).to_ascii_lowercase();
    [".csv", ".tsv", ".parquet"].iter().any(|suffix| name.ends_with(suffix))
}

/// A stream of uncompressed bytes.
pub struct Source<'a> {
    path: PathBuf,
    reader: Box<dyn Read + Send + 'a>,
    consumed: Arc<AtomicU64>,
    produced: u64,
    guard: Option<(u64, u64)>,
    content_bytes: Option<u64>,
    file_bytes: u64,
}

impl<'a> Source<'a> {
    /// Opens a file and sees through its compression. Progress counts bytes of the file itself.
    ///
    /// # Errors
    /// [`DataError::Io`] if the file cannot be opened or read.
    pub fn open(
        path: &Path,
        limits: &Limits,
        progress: &'a dyn Progress,
    ) -> Result<Self, DataError> {
        let file = regular_file::open(path).map_err(|error| DataError::io(path, error))?;
        let length = file.metadata().ok().map(|metadata| metadata.len());
        let source = Self::new(path, file, limits, progress)?;
        let content_bytes = length.filter(|_| source.guard.is_none());
        Ok(Self { content_bytes, file_bytes: length.unwrap_or(0), ..source })
    }

    /// As [`open`](Self::open) for bytes that are in memory already (a member of an archive).
    ///
    /// # Errors
    /// [`DataError::Io`] if the first bytes cannot be read.
    pub fn new(
        path: &Path,
        bytes: impl Read + Send + 'a,
        limits: &Limits,
        progress: &'a dyn Progress,
    ) -> Result<Self, DataError> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: bytes, consumed: Arc::clone(&consumed), progress };
        let mut buffered = BufReader::with_capacity(128 << 10, counted);
        let fail = |error| DataError::io(path, error);
        let compression = Compression::of(buffered.fill_buf().map_err(fail)?);
        let reader: Box<dyn Read + Send + 'a> = match compression {
            Compression::None => Box::new(buffered),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
            Compression::Zstd => {
                let mut decoder =
                    zstd::stream::read::Decoder::with_buffer(buffered).map_err(fail)?;
                // 2^27 = 128 MiB windows are what the zstd tool itself accepts by default.
                decoder.window_log_max(27).map_err(fail)?;
                Box::new(decoder)
            }
            Compression::Xz => {
                // Preset 9 needs 65 MiB to decode; more is a dictionary made to exhaust memory.
                let stream = liblzma::stream::Stream::new_stream_decoder(
                    80 << 20,
                    liblzma::stream::CONCATENATED,
                )
                .map_err(|error| fail(io::Error::other(error)))?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(buffered, stream))
            }
        };
        let guard = (compression != Compression::None)
            .then_some((limits.expansion, limits.expansion_floor_bytes));
        Ok(Self {
            path: path.to_owned(),
            reader,
            consumed,
            produced: 0,
            guard,
            content_bytes: None,
            file_bytes: 0,
        })
    }

    /// Where the bytes come from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the whole content, if the file is not compressed.
    pub fn content_bytes(&self) -> Option<u64> {
        self.content_bytes
    }

    /// What the content has at least: the bytes of the file, compressed or not; 0 if unknown.
    pub fn least_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Fills as much of `buffer` as the stream still has; less than all of it only at the end.
    ///
    /// # Errors
    /// [`DataError::Io`] if reading or decompressing fails, [`DataError::Limit`] if the
    /// content grows beyond the expansion limit.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, DataError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.damaged(error)),
            }
        }
        self.produced += filled as u64;
        self.check_expansion()?;
        Ok(filled)
    }

    /// All bytes up to the end, at most `limit` of them.
    ///
    /// # Errors
    /// As [`fill`](Self::fill), and [`DataError::Limit`] beyond `limit`.
    pub fn read_all(&mut self, limit: u64) -> Result<Vec<u8>, DataError> {
        let mut content = Vec::new();
        let mut step = 64 << 10;
        loop {
            let start = content.len();
            content.resize(start + step, 0);
            let filled = self.fill(&mut content[start..])?;
            content.truncate(start + filled);
            if content.len() as u64 > limit {
                return Err(DataError::Limit {
                    at: Location::file(&self.path),
                    what: "the size of the content in bytes",
                    limit,
                    advice: "split the file, or convert it to a format that is read in pieces",
                });
            }
            if filled < step {
                return Ok(content);
            }
            step = (step * 2).min(8 << 20);
        }
    }

    fn check_expansion(&self) -> Result<(), DataError> {
        let Some((expansion, floor)) = self.guard else { return Ok(()) };
        let consumed = self.consumed.load(Ordering::Relaxed).max(1);
        if self.produced > floor && self.produced / consumed > expansion {
            return Err(DataError::Limit {
                at: Location::file(&self.path).byte(self.produced),
                what: "the ratio of uncompressed to compressed size",
                limit: expansion,
                advice: "if the file is what you expect, decompress it first",
            });
        }
        Ok(())
    }

    fn damaged(&self, error: io::Error) -> DataError {
        match self.guard {
            None => DataError::io(&self.path, error),
            Some(_) => DataError::invalid(
                Location::file(&self.path).byte(self.produced),
                "intact compressed data",
                error.to_string(),
            ),
        }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.reader.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(io::Error::other(self.damaged(error))),
        };
        self.produced += count as u64;
        self.check_expansion().map_err(io::Error::other)?;
        Ok(count)
    }
}

struct Counted<'a, R> {
    inner: R,
    consumed: Arc<AtomicU64>,
    progress: &'a dyn Progress,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        self.progress.advance(count as u64);
        Ok(count)
    }
}
