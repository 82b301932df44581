//! What can be read only once (standard input, pipes), kept in a temporary file.
//!
//! Detection looks at the beginning and readers go back and forth, so the bytes are put into a
//! file of the system's temporary folder, which is gone when the data has been read.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{DataError, Location};
use crate::given::is_standard_input;
use crate::options::Limits;
use crate::progress::Progress;

/// A temporary file, removed when dropped.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    bytes: u64,
}

impl Spool {
    /// Reads a pipe to its end.
    ///
    /// # Errors
    /// Where it is a terminal, reading or writing fails, or there is more than the limit.
    pub(crate) fn read(
        name: &str,
        limits: &Limits,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let shown = Path::new(name);
        progress.begin("reading", None);
        if !is_standard_input(name) {
            let file = File::open(shown).map_err(|error| DataError::io(shown, error))?;
            return Self::copy(shown, file, limits, progress);
        }
        let stdin = io::stdin();
        if stdin.is_terminal() {
            let at = Location::file(shown);
            return Err(DataError::invalid(at, "data on standard input", "a terminal"));
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
        let mut spool = Self { path, bytes: 0 };
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

    /// How many bytes there were.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An error about the temporary file as one about what was read.
    pub(crate) fn rename(&self, error: DataError, name: &str) -> DataError {
        let shown = match is_standard_input(name) {
            true => PathBuf::from("standard input"),
            false => PathBuf::from(name),
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

impl Drop for Spool {
    fn drop(&mut self) {
        // Nothing can be done about a file that is gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}
