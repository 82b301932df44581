//! The folder of a run's checkpoints: saving, finding, deleting.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::digest::state_hash;
use super::encode::encode;
use super::files::{Disk, FileLayer};
use super::load::{REPLACED, Restored, UNFINISHED, candidates, folder_name, load};
use super::manifest::{self, Manifest, Part};
use super::state::SavedState;
use crate::error::RunError;

/// The name of the file that names the newest checkpoint.
const LATEST: &str = "latest";

/// The checkpoints of a run.
#[derive(Debug, Clone)]
pub struct CheckpointStore<F = Disk> {
    folder: PathBuf,
    keep: usize,
    vector_level: Option<String>,
    files: F,
    /// Whether the name of the folder itself is on the disk.
    is_anchored: Arc<AtomicBool>,
}

/// A checkpoint that was written and read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where it stands.
    pub path: PathBuf,
    /// The hash of its state.
    pub state_hash: String,
    /// The bytes of its files.
    pub bytes: u64,
}

/// A checkpoint that was looked at.
#[derive(Debug)]
pub struct Surveyed {
    /// The name of its folder.
    pub name: String,
    /// What it holds, or how it is damaged.
    pub read: Result<Restored, RunError>,
}

impl CheckpointStore {
    /// The checkpoints in a folder of the disk; the newest `keep` are kept, at least one.
    pub fn new(folder: impl Into<PathBuf>, keep: usize) -> Self {
        Self::with_files(folder, keep, Disk)
    }
}

impl<F: FileLayer> CheckpointStore<F> {
    /// The checkpoints in a folder of another file system.
    pub fn with_files(folder: impl Into<PathBuf>, keep: usize, files: F) -> Self {
        Self {
            folder: folder.into(),
            keep: keep.max(1),
            vector_level: None,
            files,
            is_anchored: Arc::default(),
        }
    }

    /// The same, which notes with each checkpoint the vector units that it was computed with: last bits
    /// depend on them.
    pub fn computed_with(self, vector_level: impl Into<String>) -> Self {
        Self { vector_level: Some(vector_level.into()), ..self }
    }

    /// Saves a state as the newest checkpoint. When this returns it is on the disk and was read
    /// back; if it fails, what was there before is still there.
    ///
    /// # Errors
    /// [`RunError::Diverged`] if a number is not finite, [`RunError::Io`] if the disk
    /// is full or fails, [`RunError::Damaged`] if what was written does not read back.
    pub fn save(&self, state: &SavedState) -> Result<Written, RunError> {
        state.check_finite()?;
        let hash = state_hash(state);
        let name = folder_name(state.cursor.step);
        let target = self.folder.join(&name);
        // A run that was killed after the rename finds its checkpoint here already.
        let found = load(&self.files, &target).ok().filter(|found| found.state_hash == hash);
        let bytes = match found {
            Some(found) => found.bytes,
            None => self.replace(state, &hash, &target)?,
        };
        self.point_to(&name)?;
        self.flush_names()?;
        self.delete_old(&name)?;
        Ok(Written { path: target, state_hash: hash, bytes })
    }

    /// The newest checkpoint that is as it was written; `None` if there is none at all.
    ///
    /// # Errors
    /// [`RunError::AllDamaged`] if there are checkpoints and none is as it was written,
    /// [`RunError::Io`] if the folder cannot be read.
    pub fn load_latest(&self) -> Result<Option<Restored>, RunError> {
        let found = candidates(self.list()?);
        let mut rejected = Vec::new();
        for candidate in found {
            match load(&self.files, &self.folder.join(&candidate.name)) {
                Ok(restored) => return Ok(Some(Restored { rejected, ..restored })),
                Err(error) => rejected.push(error),
            }
        }
        if rejected.is_empty() {
            Ok(None)
        } else {
            Err(RunError::AllDamaged { folder: self.folder.clone(), reasons: rejected })
        }
    }

    /// All checkpoints, newest first, each read and held against its manifest.
    ///
    /// # Errors
    /// [`RunError::Io`] if the folder cannot be read.
    pub fn survey(&self) -> Result<Vec<Surveyed>, RunError> {
        let found = candidates(self.list()?).into_iter();
        Ok(found
            .map(|candidate| {
                let read = load(&self.files, &self.folder.join(&candidate.name));
                Surveyed { name: candidate.name, read }
            })
            .collect())
    }

    /// The file system underneath.
    #[cfg(test)]
    pub(super) fn files(&self) -> &F {
        &self.files
    }

    /// Writes a new checkpoint, reads it back, and puts it in its place. What does not read back never
    /// gets a name: the first checkpoint of a run would otherwise be a damaged one with none before it.
    fn replace(&self, state: &SavedState, hash: &str, target: &Path) -> Result<u64, RunError> {
        let name = folder_name(state.cursor.step);
        let unfinished = self.folder.join(format!("{name}{UNFINISHED}"));
        let written = || {
            self.write(state, hash, &unfinished)?;
            let bytes = load(&self.files, &unfinished)?.bytes;
            self.publish(&unfinished, target)?;
            Ok(bytes)
        };
        written().inspect_err(|_| {
            // The failure is on its way to the caller; what cannot be removed now is removed
            // before the next checkpoint of this step, and never read.
            let _ = self.files.remove_folder(&unfinished);
        })
    }

    /// Writes all files of a checkpoint, the manifest last, and then flushes them: the system may
    /// write to the disk what came first while the rest is encoded.
    fn write(&self, state: &SavedState, hash: &str, folder: &Path) -> Result<(), RunError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| RunError::io(path, error)
        };
        let encoding = |reason: String| RunError::io(folder, std::io::Error::other(reason));
        self.files.remove_folder(folder).map_err(at(folder))?;
        self.files.create_folder(folder).map_err(at(folder))?;
        let mut parts = Vec::new();
        for (index, name) in manifest::FILES.into_iter().enumerate() {
            let content = match state.groups().get(index) {
                Some((_, tensors)) => encode(tensors),
                None => serde_json::to_vec(&state.cursor).map_err(|error| error.to_string()),
            };
            let content = content.map_err(encoding)?;
            let path = folder.join(name);
            self.files.write(&path, &content).map_err(at(&path))?;
            parts.push(Part::new(name, &content));
        }
        let manifest =
            Manifest::new(state.cursor.step, hash.to_owned(), self.vector_level.clone(), parts);
        let path = folder.join(manifest::NAME);
        let content = manifest.encode().map_err(encoding)?;
        self.files.write(&path, &content).map_err(at(&path))?;
        for name in manifest::FILES.into_iter().chain([manifest::NAME]) {
            let path = folder.join(name);
            self.files.flush(&path).map_err(at(&path))?;
        }
        self.files.sync_folder(folder).map_err(at(folder))
    }

    /// Renames a finished folder to its final name, which is not yet synced. An older folder of that
    /// name is removed first if it is damaged. If it is whole (another run's), it is moved aside and
    /// stays readable until the new one is.
    fn publish(&self, unfinished: &Path, target: &Path) -> Result<(), RunError> {
        let fail = |error| RunError::io(target, error);
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if self.list()?.contains(&name) {
            if load(&self.files, target).is_ok() {
                let aside = self.folder.join(format!("{name}{REPLACED}"));
                self.files.remove_folder(&aside).map_err(fail)?;
                self.files.rename(target, &aside).map_err(fail)?;
            } else {
                self.files.remove_folder(target).map_err(fail)?;
            }
        }
        self.files.rename(unfinished, target).map_err(fail)
    }

    /// Brings the names in the folder to the disk; what is older may be deleted afterwards.
    fn flush_names(&self) -> Result<(), RunError> {
        let fail = |error| RunError::io(&self.folder, error);
        self.files.sync_folder(&self.folder).map_err(fail)?;
        // The first save of a process may have made the folder, whose own name must be on the disk.
        if !self.is_anchored.load(Ordering::Relaxed) {
            let parent = self.folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            self.files.sync_folder(parent.unwrap_or(Path::new("."))).map_err(fail)?;
            self.is_anchored.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Moves `latest`. It is not flushed: nothing here reads it, and a power cut may leave it empty or
    /// with another name.
    fn point_to(&self, name: &str) -> Result<(), RunError> {
        let path = self.folder.join(LATEST);
        let fail = |error| RunError::io(&path, error);
        let unfinished = self.folder.join(format!("{LATEST}{UNFINISHED}"));
        self.files.write(&unfinished, format!("{name}\n").as_bytes()).map_err(fail)?;
        self.files.rename(&unfinished, &path).map_err(fail)
    }

    /// Deletes all but the newest checkpoints up to the one that was just read back, and what
    /// killed processes left unfinished. Checkpoints of later steps are of a run that was resumed
    /// from before them: they would win over this one, so they go, too.
    fn delete_old(&self, verified: &str) -> Result<(), RunError> {
        let names = self.list()?;
        let unfinished = |name: &&String| name.starts_with("step-") && name.ends_with(UNFINISHED);
        let mut doomed: Vec<String> = names.iter().filter(unfinished).cloned().collect();
        let found = candidates(names);
        let place = found.iter().position(|candidate| candidate.name == verified).unwrap_or(0);
        let kept: Vec<&str> = found[place..]
            .iter()
            .filter(|candidate| candidate.is_current)
            .take(self.keep)
            .map(|candidate| candidate.name.as_str())
            .collect();
        let names = found.iter().map(|candidate| &candidate.name);
        doomed.extend(names.filter(|name| !kept.contains(&name.as_str())).cloned());
        for name in doomed {
            let path = self.folder.join(name);
            self.files.remove_folder(&path).map_err(|error| RunError::io(path, error))?;
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>, RunError> {
        self.files.list(&self.folder).map_err(|error| RunError::io(&self.folder, error))
    }
}
