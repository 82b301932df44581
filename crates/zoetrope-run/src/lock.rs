//! One process a run folder.
//!
//! The lock is the kernel's, on an open file: it vanishes with its process, however that ends,
//! so a killed run never needs cleaning up. The file only says who holds it, for the message.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::files;
use crate::error::RunError;

/// The name of the lock file in a run folder.
pub(super) const NAME: &str = "run.lock";

/// A held lock; released on drop.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether the file says who holds it: one that has a name elsewhere, too, is left as it is.
    writes: bool,
}

impl Lock {
    /// Takes the lock of a folder, without waiting.
    pub(super) fn take(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join(NAME);
        let fail = |error| RunError::io(&path, error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = files::open(&path, &mut options).map_err(fail)?;
        if !try_lock(&file).map_err(fail)? {
            return Err(RunError::Busy { folder: folder.to_owned(), owner: owner(&mut file) });
        }
        let writes = has_one_name(&file);
        if writes {
            file.set_len(0).map_err(fail)?;
            file.write_all(format!("{}\n", std::process::id()).as_bytes()).map_err(fail)?;
        }
        Ok(Self { file, writes })
    }
}

/// Whether a process holds the lock of a folder now.
pub(super) fn is_held(folder: &Path) -> bool {
    let file = files::open(&folder.join(NAME), OpenOptions::new().read(true).write(true));
    file.is_ok_and(|file| matches!(try_lock(&file), Ok(false)))
}

/// The process that holds the lock. Between taking the lock and writing its number a process
/// leaves the file empty for an instant, so a few looks may be needed.
fn owner(file: &mut File) -> Option<u32> {
    (0..1_000).find_map(|_| {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(32).read_to_string(&mut text).ok()?;
        let owner = text.trim().parse().ok();
        if owner.is_none() {
            std::thread::yield_now();
        }
        owner
    })
}

#[cfg(unix)]
fn has_one_name(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|found| found.nlink() <= 1)
}

#[cfg(not(unix))]
fn has_one_name(_: &File) -> bool {
    true
}

#[cfg(unix)]
fn try_lock(file: &File) -> std::io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Elsewhere the number in the file is all there is: a run that was killed must be unlocked by
/// removing it.
#[cfg(not(unix))]
fn try_lock(file: &File) -> std::io::Result<bool> {
    Ok(file.metadata()?.len() == 0)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only the message of a later owner's rival would suffer if this fails.
        if self.writes {
            let _ = self.file.set_len(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_is_refused_at_once_and_the_first_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let held = Lock::take(folder.path()).unwrap();
        let start = std::time::Instant::now();
        let error = Lock::take(folder.path()).unwrap_err();
        assert!(start.elapsed().as_millis() < 1_000);
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        assert_eq!(error.kind().exit_code(), 4);
        drop(held);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_lock_file_left_by_a_killed_process_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NAME), "4000000\n").unwrap();
        let _lock = Lock::take(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert_eq!(text.trim(), std::process::id().to_string());
    }
}
