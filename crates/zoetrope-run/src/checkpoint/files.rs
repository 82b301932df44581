//! What checkpoints ask of a file system, as a seam: tests fail any operation there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::anchor::anchored;
use crate::fault;
use crate::files::{fresh, open as open_file};

/// The operations that checkpoints are made of.
pub trait FileLayer {
    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Writes a new file. Until it is flushed, a power cut may leave any part of it.
    ///
    /// # Errors
    /// What the system says; the file may then be there in part.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Flushes what was written into a file to the disk.
    ///
    /// # Errors
    /// What the system says, also of what went wrong behind a write.
    fn flush(&self, path: &Path) -> io::Result<()>;

    /// Flushes the names in a folder to the disk.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Gives a file or folder another name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a folder with what is in it; none there is fine.
    ///
    /// # Errors
    /// What the system says; a part may then be gone.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder; none if there is no such folder.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Reads a file that is at most `most` bytes long.
    ///
    /// # Errors
    /// What the system says, and [`io::ErrorKind::FileTooLarge`] if it is longer.
    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>>;
}

/// The file system of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileLayer for Disk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fault::point("disk.create")?;
        // A folder of checkpoints that is a link would have others deleted at its target.
        match anchored(path, |path| std::fs::create_dir(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), |parent| self.create_folder(parent))?;
                anchored(path, |path| std::fs::create_dir(path))
            }
            outcome => outcome,
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = anchored(path, fresh)?;
        let (bytes, whole) = fault::writing("disk.write", bytes)?;
        file.write_all(&bytes)?;
        if !whole {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn flush(&self, path: &Path) -> io::Result<()> {
        fault::point("disk.flush")?;
        // Windows flushes only what may be written.
        open_file(path, OpenOptions::new().read(cfg!(unix)).write(!cfg!(unix)))?.sync_all()
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // Folders can be opened and flushed on Unix only; elsewhere renames are journalled.
        fault::point("disk.flush-folder")?;
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fault::point("disk.rename")?;
        // Both are in the same folder.
        anchored(from, |from| {
            let to = to.file_name().and_then(|name| Some(from.parent()?.join(name)));
            std::fs::rename(from, to.ok_or(io::ErrorKind::InvalidInput)?)
        })
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fault::point("disk.remove")?;
        match anchored(path, |path| std::fs::remove_dir_all(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = match std::fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = open_file(path, OpenOptions::new().read(true))?;
        let length = file.metadata()?.len();
        if length > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // A byte more, so that the end of the file is seen without another allocation.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1));
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
