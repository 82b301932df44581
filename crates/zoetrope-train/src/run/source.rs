//! Where a run's data lies and what it is, so that it is found again when the folder was moved.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::folder::{RunFolder, write_whole};
use super::summary::DataSummary;
use crate::config::{Config, is_file};
use crate::error::TrainError;

/// The name of the file.
pub(super) const NAME: &str = "data.json";

/// What a run learns from, written when it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSource {
    /// The absolute path, or the name of a generator.
    pub path: String,
    /// The same seen from the run folder, where that is possible: holds while both move together.
    #[serde(default)]
    pub relative_path: Option<PathBuf>,
    /// Name, size and digest.
    #[serde(flatten)]
    pub data: DataSummary,
}

impl DataSource {
    /// The source of a run in a folder.
    pub(crate) fn new(config: &Config, root: &Path, data: DataSummary) -> Self {
        let path = config.with_absolute_paths().data.path;
        let relative_path = is_file(&path)
            .then(|| relative(&std::path::absolute(root).ok()?, Path::new(&path)))
            .flatten();
        Self { path, relative_path, data }
    }

    /// Reads what a run learns from; None where the run is older than this file.
    ///
    /// # Errors
    /// [`TrainError::Io`] where it cannot be read, [`TrainError::Damaged`] where it is something
    /// else.
    pub fn read(root: &Path) -> Result<Option<Self>, TrainError> {
        let path = root.join(NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(TrainError::io(&path, error)),
        };
        let damaged = |error: serde_json::Error| TrainError::Damaged {
            path: path.clone(),
            reason: error.to_string(),
        };
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }
}

impl RunFolder {
    /// Saves what the run learns from.
    ///
    /// # Errors
    /// [`TrainError::Io`] where the disk is full or fails.
    pub(crate) fn write_source(&self, source: &DataSource) -> Result<(), TrainError> {
        let mut text = serde_json::to_vec_pretty(source)
            .map_err(|error| TrainError::io(self.root().join(NAME), error.into()))?;
        text.push(b'\n');
        write_whole(&self.root().join(NAME), &text)
    }

    /// Finds the files that the saved configuration of a run names, wherever it was moved: at the
    /// recorded path, at the same place seen from the run folder, in the folder, or beside it. What
    /// the user named himself is left alone.
    ///
    /// # Errors
    /// [`TrainError::DataNotFound`] where the data is at none of these places.
    pub fn find_files(root: &Path, config: &mut Config) -> Result<(), TrainError> {
        let saved = Self::read_config(root)?;
        let saved_negatives = &saved.task.negatives_file;
        if let Some(path) = &mut config.task.negatives_file
            && saved_negatives.as_ref() == Some(path)
            && let Some(found) = places(root, path, None).into_iter().find(|place| place.exists())
        {
            *path = found;
        }
        if config.data.path != saved.data.path || !is_file(&saved.data.path) {
            return Ok(());
        }
        let source = DataSource::read(root)?;
        let relative = source.as_ref().and_then(|source| source.relative_path.as_deref());
        let looked = places(root, Path::new(&saved.data.path), relative);
        match looked.iter().find(|place| place.exists()) {
            Some(found) => {
                config.data.path = found.to_string_lossy().into_owned();
                Ok(())
            }
            None => Err(TrainError::DataNotFound {
                folder: root.to_owned(),
                name: crate::material::short_name(&saved.data.path),
                sha256: match source {
                    Some(source) => Some(source.data.sha256),
                    None => Self::read_digest(root)?,
                },
                looked,
            }),
        }
    }
}

/// Where a file of a run may lie, likeliest first.
fn places(root: &Path, recorded: &Path, relative: Option<&Path>) -> Vec<PathBuf> {
    let mut places = vec![recorded.to_owned()];
    // Before paths in files started at the folder of the file they started where the run was called.
    places.extend(recorded.strip_prefix(root).ok().map(Path::to_owned));
    places.extend(relative.map(|relative| root.join(relative)));
    if let Some(name) = recorded.file_name() {
        places.push(root.join(name));
        places.push(root.join("..").join(name));
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| !place.as_os_str().is_empty() && seen.insert(place.clone()));
    places
}

/// A path seen from a folder, both absolute; None where they have nothing in common.
fn relative(folder: &Path, path: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| -> Option<Vec<PathBuf>> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    parts.pop()?;
                }
                Component::CurDir => {}
                part => parts.push(PathBuf::from(part.as_os_str())),
            }
        }
        Some(parts)
    };
    let (folder, path) = (parts(folder)?, parts(path)?);
    let shared = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    // The root alone is nothing that two paths would move with.
    (shared > 1).then(|| {
        let up = (shared..folder.len()).map(|_| PathBuf::from(".."));
        up.chain(path[shared..].iter().cloned()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_from_a_folder_that_shares_more_than_the_root() {
        let from = |folder: &str, path: &str| relative(Path::new(folder), Path::new(path));
        assert_eq!(from("/p/runs/a", "/p/data/e.csv"), Some("../../data/e.csv".into()));
        assert_eq!(from("/p/x/../runs", "/p/./e.csv"), Some("../e.csv".into()));
        assert_eq!(from("/p/runs", "/q/e.csv"), None);
    }
}
