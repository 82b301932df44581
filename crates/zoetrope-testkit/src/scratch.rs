//! A folder to work in that disappears with its owner, in memory if the machine offers it.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// A fresh folder in memory, or in the folder of temporary files.
///
/// # Errors
/// What the system says.
pub fn in_memory() -> io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir())
}
