//! Where the members come from: the files of a folder, or a tar archive read as a stream.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use crate::error::{DataError, Location};
use crate::options::{Limits, ReadOptions};
use crate::progress::Progress;
use crate::regular_file;
use crate::source::{Source, bare_name};

use super::order;

/// A folder or an archive.
pub(super) enum Origin {
    Folder { folder: PathBuf, files: Vec<PathBuf>, others: Vec<PathBuf> },
    Tar(PathBuf),
}

/// What was passed over.
#[derive(Default)]
pub(super) struct Skipped {
    /// Files that are none of the snapshots.
    pub(super) others: Vec<PathBuf>,
    special: u64,
}

impl Skipped {
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.others.is_empty() {
            let names = self.others.iter().map(|path| crate::error::shorten(bare_name(path)));
            let mut shown: Vec<String> = names.take(5).collect();
            if let more @ 1.. = self.others.len() - shown.len() {
                shown.push(format!("{more} more"));
            }
            let names = shown.join(", ");
            warnings.push(format!("not read, because they are none of the snapshots: {names}"));
        }
        if self.special > 0 {
            let count = self.special;
            warnings.push(format!("{count} links or special files in the archive were skipped"));
        }
        warnings
    }
}

/// What sending the members found.
pub(super) struct Collected {
    pub(super) skipped: Skipped,
    /// How many members were sent.
    pub(super) names: usize,
}

/// Whether a name is that of a snapshot: visible, and with a number in it.
fn is_snapshot(path: &Path) -> bool {
    let name = bare_name(path);
    !name.starts_with('.') && name.bytes().any(|byte| byte.is_ascii_digit())
}

impl Origin {
    /// The numbered files of a folder in the order of their names, or the one archive it holds.
    ///
    /// # Errors
    /// [`DataError::Io`] if the folder cannot be listed.
    pub(super) fn of_folder(folder: &Path) -> Result<Self, DataError> {
        let fail = |error| DataError::io(folder, error);
        let mut files = Vec::new();
        let mut others = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            let is_member = is_snapshot(&path) || bare_name(&path).ends_with(".tar");
            if is_member {
                regular_file::refuse_special(&path)?;
            }
            if !path.is_file() || bare_name(&path).starts_with('.') {
                continue;
            }
            if is_member { files.push(path) } else { others.push(path) }
        }
        files.sort();
        if let Some(group) = order::largest_group(&files) {
            let (kept, left) = files.into_iter().partition(|file| order::stem(file) == group);
            files = kept;
            others.extend::<Vec<PathBuf>>(left);
        }
        others.sort();
        match files.as_slice() {
            [only] if bare_name(only).ends_with(".tar") => Ok(Self::Tar(only.clone())),
            _ => Ok(Self::Folder { folder: folder.to_owned(), files, others }),
        }
    }

    /// Sends every snapshot's path and raw bytes.
    ///
    /// # Errors
    /// [`DataError::Io`], [`DataError::Invalid`] for a damaged archive, [`DataError::Limit`].
    pub(super) fn send_members(
        &self,
        options: &ReadOptions,
        progress: &dyn Progress,
        sender: &SyncSender<(PathBuf, Vec<u8>)>,
    ) -> Result<Collected, DataError> {
        match self {
            Self::Folder { folder, files, others } => {
                let sizes = files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
                progress.begin("reading", Some(sizes.sum()));
                check_count(files.len(), &options.limits, folder)?;
                for path in files {
                    let bytes =
                        regular_file::read(path).map_err(|error| DataError::io(path, error))?;
                    progress.advance(bytes.len() as u64);
                    // The receiver is gone only if the whole read is being given up.
                    if sender.send((path.clone(), bytes)).is_err() {
                        break;
                    }
                }
                let skipped = Skipped { others: others.clone(), special: 0 };
                Ok(Collected { skipped, names: files.len() })
            }
            Self::Tar(path) => send_archive(path, options, progress, sender),
        }
    }
}

fn check_count(count: usize, limits: &Limits, path: &Path) -> Result<(), DataError> {
    if count > limits.members {
        Err(DataError::Limit {
            at: Location::file(path),
            what: "the number of files or members",
            limit: limits.members as u64,
            advice: "merge snapshots, or convert the data to npz",
        })
    } else {
        Ok(())
    }
}

fn send_archive(
    path: &Path,
    options: &ReadOptions,
    progress: &dyn Progress,
    sender: &SyncSender<(PathBuf, Vec<u8>)>,
) -> Result<Collected, DataError> {
    let file = regular_file::open(path).map_err(|error| DataError::io(path, error))?;
    progress.begin("reading", file.metadata().ok().map(|data| data.len()));
    let mut archive = tar::Archive::new(Source::new(path, file, &options.limits, progress)?);
    let damaged = |error| damaged(path, error);
    let mut collected = Collected { skipped: Skipped::default(), names: 0 };
    let mut entries = 0;
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        entries += 1;
        check_count(entries, &options.limits, path)?;
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        // Sparse members could unpack to any size from nothing, so only plain files are read.
        if !kind.is_file() {
            collected.skipped.special += 1;
            continue;
        }
        let name = PathBuf::from(String::from_utf8_lossy(&entry.path_bytes()).into_owned());
        if !is_snapshot(&name) {
            collected.skipped.others.push(name);
            continue;
        }
        let declared = entry.size();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        let member = member_path(path, &name);
        if (bytes.len() as u64) < declared {
            let found = format!("{} bytes", bytes.len());
            let at = Location::file(member).byte(bytes.len() as u64);
            return Err(DataError::invalid(at, format!("{declared} bytes"), found));
        }
        collected.names += 1;
        if sender.send((member, bytes)).is_err() {
            break;
        }
    }
    Ok(collected)
}

/// `archive/member`, for messages; the member's own name is never used as a path.
fn member_path(archive: &Path, member: &Path) -> PathBuf {
    PathBuf::from(format!("{}/{}", archive.display(), member.display()))
}

fn damaged(path: &Path, error: io::Error) -> DataError {
    if error.raw_os_error().is_some() {
        return DataError::io(path, error);
    }
    error.downcast::<DataError>().unwrap_or_else(|error| {
        // The archive reader wraps errors of the stream below it once more.
        let text = error.to_string();
        match error.into_inner().and_then(|inner| inner.downcast::<io::Error>().ok()) {
            Some(inner) if inner.get_ref().is_some_and(|inner| inner.is::<DataError>()) => {
                DataError::reading(path, *inner)
            }
            _ => DataError::invalid(Location::file(path), "an intact tar archive", text),
        }
    })
}
