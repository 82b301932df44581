//! A folder in the making: whole or invisible, as a [`Sink`](crate::sink::Sink) is for a file.

use std::path::{Path, PathBuf};

use crate::error::DataError;

/// A folder that stands under a temporary name until it is finished, and is removed if it never
/// is.
pub(crate) struct FolderSink {
    path: PathBuf,
    folder: PathBuf,
}

impl FolderSink {
    /// Starts a folder beside the place where it will stand.
    ///
    /// # Errors
    /// [`DataError::Io`] if it cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Self, DataError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let folder = path.with_file_name(name);
        std::fs::create_dir(&folder).map_err(|error| DataError::io(&folder, error))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Where a file of the folder is to be written.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts the folder in its place.
    ///
    /// # Errors
    /// [`DataError::Io`] if something other than an empty folder stands there already.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        std::fs::rename(&self.folder, &self.path).map_err(|error| DataError::io(&self.path, error))
    }
}

impl Drop for FolderSink {
    fn drop(&mut self) {
        // Gone already after success; after a failure, that failure is on its way to the caller.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
