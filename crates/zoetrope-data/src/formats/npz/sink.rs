//! Writing an archive of NumPy arrays, whole or not at all.

use std::io::Write;
use std::path::Path;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};

use crate::error::DataError;
use crate::npy::{NpyElement, write_npy};
use crate::progress::Progress;
use crate::sink::Sink;

/// An archive that `numpy.load` opens; uncompressed, as `numpy.savez` writes it.
pub(crate) struct NpzSink<'a> {
    zip: ZipWriter<StreamWriter<Sink>>,
    path: &'a Path,
    progress: &'a dyn Progress,
}

impl<'a> NpzSink<'a> {
    /// Starts an archive; nothing is seen under `path` before [`finish`](Self::finish).
    pub(crate) fn create(path: &'a Path, progress: &'a dyn Progress) -> Result<Self, DataError> {
        let zip = ZipWriter::new_stream(Sink::create_plain(path)?);
        Ok(Self { zip, path, progress })
    }

    /// Adds an array; `values` are in row-major order. Progress counts bytes.
    pub(crate) fn put<T: NpyElement>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &[T],
    ) -> Result<(), DataError> {
        let bytes = size_of_val(values) as u64;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes + 4096 > u64::from(u32::MAX));
        let started = self.zip.start_file(format!("{name}.npy"), options);
        started.map_err(|error| DataError::io(self.path, error.into()))?;
        write_npy(&mut self.zip, shape, values)
            .and_then(|()| self.zip.flush())
            .map_err(|error| DataError::io(self.path, error))?;
        self.progress.advance(bytes);
        Ok(())
    }

    /// Puts the archive under its name.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        let finished = self.zip.finish();
        finished.map_err(|error| DataError::io(self.path, error.into()))?.into_inner().finish()
    }
}
