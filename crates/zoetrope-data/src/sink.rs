//! Bytes to a path: plain, gzip, zstd or xz, whole or invisible.
//!
//! Everything is written to a temporary file in the same folder, flushed to the disk and renamed
//! into place by [`Sink::finish`]. A writer that fails or is dropped before that leaves neither a
//! half-written file nor the temporary one, and whatever stood at the path stays as it was.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::DataError;
use crate::source::Compression;

const BUFFER_BYTES: usize = 256 << 10;

/// The compression that a file name asks for by its suffix.
pub fn compression_of_name(path: &Path) -> Compression {
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstd,
        Some("xz") => Compression::Xz,
        _ => Compression::None,
    }
}

/// A file in the making.
pub struct Sink {
    path: PathBuf,
    temporary: Temporary,
    // `None` only while `finish` takes it apart.
    encoder: Option<Encoder>,
}

enum Encoder {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    Xz(liblzma::write::XzEncoder<BufWriter<File>>),
}

/// Removes the file on drop unless it was renamed away.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing is left to tell the caller here: the failure that brought us is on its way.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Sink {
    /// Starts a file, compressed as its suffix asks for.
    ///
    /// # Errors
    /// [`DataError::Io`] if the folder cannot be written to.
    pub fn create(path: &Path) -> Result<Self, DataError> {
        Self::with_compression(path, compression_of_name(path))
    }

    /// Starts a file that is never compressed here, whatever its suffix.
    ///
    /// # Errors
    /// [`DataError::Io`] if the folder cannot be written to.
    pub fn create_plain(path: &Path) -> Result<Self, DataError> {
        Self::with_compression(path, Compression::None)
    }

    fn with_compression(path: &Path, compression: Compression) -> Result<Self, DataError> {
        let fail = |error| DataError::io(path, error);
        let (file, temporary) = create_beside(path).map_err(fail)?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let encoder = match compression {
            Compression::None => Encoder::Plain(file),
            Compression::Gzip => {
                Encoder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Compression::Zstd => {
                Encoder::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(fail)?)
            }
            Compression::Xz => Encoder::Xz(liblzma::write::XzEncoder::new(file, 6)),
        };
        Ok(Self { path: path.to_owned(), temporary, encoder: Some(encoder) })
    }

    /// Where the file will stand.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// [`DataError::Io`] if the disk is full or fails.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        self.write_all(bytes).map_err(|error| DataError::io(&self.path, error))
    }

    /// Flushes to the disk and puts the file in its place.
    ///
    /// # Errors
    /// [`DataError::Io`] if the disk is full or fails; the path is then untouched.
    pub fn finish(mut self) -> Result<(), DataError> {
        self.conclude().map_err(|error| DataError::io(&self.path, error))
    }

    fn conclude(&mut self) -> io::Result<()> {
        let Some(encoder) = self.encoder.take() else { return Ok(()) };
        let buffered = match encoder {
            Encoder::Plain(file) => file,
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
            Encoder::Xz(encoder) => encoder.finish()?,
        };
        let file = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&self.temporary.path, &self.path)?;
        self.temporary.renamed = true;
        sync_folder(&self.path)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.encoder.as_mut() {
            Some(Encoder::Plain(writer)) => writer.write(bytes),
            Some(Encoder::Gzip(writer)) => writer.write(bytes),
            Some(Encoder::Zstd(writer)) => writer.write(bytes),
            Some(Encoder::Xz(writer)) => writer.write(bytes),
            None => Err(io::Error::other("the file is finished")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.encoder.as_mut() {
            Some(Encoder::Plain(writer)) => writer.flush(),
            Some(Encoder::Gzip(writer)) => writer.flush(),
            Some(Encoder::Zstd(writer)) => writer.flush(),
            Some(Encoder::Xz(writer)) => writer.flush(),
            None => Ok(()),
        }
    }
}

/// A name beside `path` that no other writer of this or another process uses.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()))
}

fn create_beside(path: &Path) -> io::Result<(File, Temporary)> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder stands there"));
    }
    loop {
        let name = temporary_name(path);
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Ok(file) => return Ok((file, Temporary { path: name, renamed: false })),
            // Left behind by a killed process that had our process number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Makes a rename survive a power cut, if the system lets a folder be opened.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match File::open(folder.unwrap_or(Path::new("."))) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Limits;
    use crate::progress::Quiet;
    use crate::source::Source;

    #[test]
    fn what_is_written_reads_back_through_every_compression() {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..100_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for suffix in ["csv", "csv.gz", "csv.zst", "csv.xz"] {
            let path = folder.path().join(format!("a.{suffix}"));
            let mut sink = Sink::create(&path).unwrap();
            sink.put(&content).unwrap();
            sink.finish().unwrap();
            let mut source = Source::open(&path, &Limits::default(), &Quiet).unwrap();
            assert!(source.read_all(1 << 20).unwrap() == content, "{suffix}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn an_abandoned_file_leaves_the_old_one_and_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "old").unwrap();
        let mut sink = Sink::create(&path).unwrap();
        sink.put(b"new").unwrap();
        drop(sink);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error_with_the_path() {
        let error = Sink::create(Path::new("/nonexistent-folder/a.csv")).err().unwrap();
        assert!(error.to_string().starts_with("/nonexistent-folder/a.csv: "), "{error}");
    }
}
