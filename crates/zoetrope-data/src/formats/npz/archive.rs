//! A zip archive of `.npy` arrays, guarded against bombs.
//!
//! Only members that are asked for by name are opened, so what else an archive holds, and how its
//! members are called, does not matter. What comes out of all members together may not exceed the
//! expansion limit over the size of the file, which also stops archives whose members overlap.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use crate::error::{DataError, Location};
use crate::npy::NpyReader;
use crate::options::Limits;
use crate::progress::Progress;
use crate::regular_file;

/// An open archive of arrays.
pub struct NpzArchive<'a> {
    path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
    guard: Guard,
    progress: &'a dyn Progress,
}

/// Counts what came out of the archive.
struct Guard {
    path: PathBuf,
    file_bytes: u64,
    produced: u64,
    expansion: u64,
    floor: u64,
}

impl<'a> NpzArchive<'a> {
    /// Opens an archive and reads its directory.
    ///
    /// # Errors
    /// [`DataError::Io`] if the file cannot be read, [`DataError::Invalid`] if it is no zip
    /// archive or names a member twice, [`DataError::Limit`] if it has too many members.
    pub fn open(
        path: &Path,
        limits: &Limits,
        progress: &'a dyn Progress,
    ) -> Result<Self, DataError> {
        let fail = |error| DataError::io(path, error);
        let file = regular_file::open(path).map_err(fail)?;
        let file_bytes = file.metadata().map_err(fail)?.len();
        progress.begin("reading", Some(file_bytes));
        let archive =
            ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(path, error))?;
        if archive.has_duplicate_names() {
            let expected = "each member of the archive once";
            return Err(DataError::invalid(Location::file(path), expected, "a name that repeats"));
        }
        if archive.len() > limits.members {
            return Err(DataError::Limit {
                at: Location::file(path),
                what: "the number of members",
                limit: limits.members as u64,
                advice: "save only the arrays that are needed",
            });
        }
        let guard = Guard {
            path: path.to_owned(),
            file_bytes,
            produced: 0,
            expansion: limits.expansion,
            floor: limits.expansion_floor_bytes,
        };
        Ok(Self { path: path.to_owned(), archive, guard, progress })
    }

    /// The archive's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the arrays, without `.npy`, in the order of the archive.
    pub fn names(&self) -> Vec<String> {
        let names = self.archive.file_names_raw();
        names
            .filter_map(|name| {
                let name = String::from_utf8_lossy(name);
                name.strip_suffix(".npy").map(str::to_owned)
            })
            .collect()
    }

    /// Whether there is an array of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.archive.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Opens an array, if there is one of this name.
    ///
    /// # Errors
    /// As [`NpyReader::new`], and [`DataError::Invalid`] if the member is damaged or encrypted.
    pub fn array(&mut self, name: &str) -> Result<Option<NpyReader<Member<'_>>>, DataError> {
        let Some(index) = self.archive.index_for_name(&format!("{name}.npy")) else {
            return Ok(None);
        };
        let entry = self.archive.by_index(index).map_err(|error| damaged(&self.path, error))?;
        self.progress.advance(entry.compressed_size().min(self.guard.file_bytes));
        let member = Member { entry, guard: &mut self.guard };
        NpyReader::new(member, Location::file(&self.path).column(name)).map(Some)
    }
}

/// The bytes of one member.
pub struct Member<'a> {
    entry: ZipFile<'a, BufReader<File>>,
    guard: &'a mut Guard,
}

impl Read for Member<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.entry.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            Err(error) => {
                let at = Location::file(&self.guard.path)
                    .column(String::from_utf8_lossy(self.entry.name_raw()).into_owned());
                let expected = "intact compressed data";
                let error = DataError::invalid(at, expected, error.to_string());
                return Err(io::Error::other(error));
            }
        };
        self.guard.produced += count as u64;
        self.guard.check().map_err(io::Error::other)?;
        Ok(count)
    }
}

impl Guard {
    fn check(&self) -> Result<(), DataError> {
        if self.produced <= self.floor || self.produced / self.file_bytes.max(1) <= self.expansion {
            return Ok(());
        }
        Err(DataError::Limit {
            at: Location::file(&self.path),
            what: "the ratio of uncompressed to compressed size",
            limit: self.expansion,
            advice: "if the file is what you expect, save it uncompressed (numpy.savez)",
        })
    }
}

fn damaged(path: &Path, error: ZipError) -> DataError {
    match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => DataError::io(path, error),
        error => {
            DataError::invalid(Location::file(path), "an intact zip archive", error.to_string())
        }
    }
}
