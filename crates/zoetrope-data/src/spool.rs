//! What can be read only once (standard input, pipes), kept in a temporary file.
//!
//! Detection looks at the beginning and readers go back and forth, so the bytes are put into a
//! file of the system's temporary folder, which is gone when the data has been read.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::dataset::Piped;
use crate::error::{DataError, Location};
use crate::given::is_standard_input;
use crate::options::Limits;
use crate::progress::Progress;

/// A temporary file, removed when dropped.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    bytes: u64,
    digest: Sha256,
}

impl Spool {
    /// Reads a pipe to its end.
    ///
    /// # Errors
    /// If it is a terminal, reading or writing fails, or there is more than the limit.
    pub(crate) fn read(
        name: &str,
        limits: &Limits,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let shown = Path::new(name);
        progress.begin("reading", None);
        if !is_standard_input(name) {
            let (file, first) = open_pipe(shown)?;
            return Self::copy(shown, first.as_slice().chain(file), limits, progress);
        }
        let stdin = io::stdin();
        if stdin.is_terminal() {
            let at = Location::file(shown);
            return Err(DataError::invalid(at, "data on standard input", "a terminal"));
        }
        #[cfg(unix)]
        {
            use rustix::fs::{FileType, fstat};
            let kind = fstat(&stdin).map(|found| FileType::from_raw_mode(found.st_mode));
            if let Ok(FileType::CharacterDevice | FileType::BlockDevice) = kind {
                let at = Location::file(shown);
                return Err(DataError::invalid(at, "data on standard input", "a device"));
            }
        }
        Self::copy(shown, stdin.lock(), limits, progress)
    }

    fn copy(
        shown: &Path,
        mut from: impl Read,
        limits: &Limits,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("zoetrope-{}-{number}-input", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(|error| DataError::io(&path, error))?;
        let mut spool = Self { path, bytes: 0, digest: Sha256::new() };
        let mut buffer = vec![0; 256 << 10];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(DataError::io(shown, error)),
            };
            spool.bytes += count as u64;
            if spool.bytes > limits.piped_bytes {
                return Err(DataError::Limit {
                    at: Location::file(shown),
                    what: "the number of bytes from a pipe",
                    limit: limits.piped_bytes,
                    advice: "save it to a file and name that",
                });
            }
            spool.digest.update(&buffer[..count]);
            let written = file.write_all(&buffer[..count]);
            written.map_err(|error| DataError::io(&spool.path, error))?;
            progress.advance(count as u64);
        }
        Ok(spool)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What came through the pipe.
    pub(crate) fn piped(&self) -> Piped {
        Piped { bytes: self.bytes, sha256: self.digest.clone().finalize().into() }
    }

    /// An error about the temporary file as one about what was read.
    pub(crate) fn rename(&self, error: DataError, name: &str) -> DataError {
        let shown = if is_standard_input(name) {
            PathBuf::from("standard input")
        } else {
            PathBuf::from(name)
        };
        let mend = |path: &mut PathBuf| {
            if *path == self.path {
                path.clone_from(&shown);
            }
        };
        let mut error = error;
        match &mut error {
            DataError::Io { path, .. }
            | DataError::Unrecognised { path, .. }
            | DataError::Uncertain { path, .. }
            | DataError::Graph { path, .. } => mend(path),
            DataError::Limit { at, .. } | DataError::Unsupported { at, .. } => mend(&mut at.path),
            DataError::Invalid { problems, .. } => {
                problems.iter_mut().for_each(|problem| mend(&mut problem.at.path));
            }
            _ => {}
        }
        error
    }
}

/// How long a pipe may have no writer: whoever started both ends at once needs a moment, on a busy
/// machine seconds.
#[cfg(unix)]
const WRITER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Opens a pipe and takes its first bytes, without waiting for a writer that never comes.
///
/// # Errors
/// If it cannot be opened, or nobody writes to it.
#[cfg(unix)]
fn open_pipe(path: &Path) -> Result<(File, Vec<u8>), DataError> {
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;
    let fail = |error| DataError::io(path, error);
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut pipe = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(fail)?;
    let begun = std::time::Instant::now();
    let mut first = vec![0; 4096];
    loop {
        match pipe.read(&mut first) {
            // Without a writer a pipe is at its end at once.
            Ok(0) if begun.elapsed() < WRITER_TIMEOUT => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Ok(0) => {
                let at = Location::file(path);
                return Err(DataError::invalid(at, "data", "a pipe that nobody writes to"));
            }
            Ok(count) => {
                first.truncate(count);
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                first.clear();
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
    // From here on reading waits for the writer.
    fcntl_setfl(&pipe, OFlags::empty()).map_err(|error| fail(error.into()))?;
    Ok((pipe, first))
}

#[cfg(not(unix))]
fn open_pipe(path: &Path) -> Result<(File, Vec<u8>), DataError> {
    let file = File::open(path).map_err(|error| DataError::io(path, error))?;
    Ok((file, Vec::new()))
}

impl Drop for Spool {
    fn drop(&mut self) {
        // Nothing can be done about a file that is gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}
