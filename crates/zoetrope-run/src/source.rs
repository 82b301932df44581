//! Where a run's data lies and what it is, so that it is found again when the folder was moved.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use zoetrope_config::{Config, is_file};
use zoetrope_data::given::{STANDARD_INPUT, is_address, name_of, path_of, short_name};
use zoetrope_data::synthetic::is_synthetic;
use zoetrope_data::table::TableReading;

use super::data_change::DataChange;
use super::files;
use super::folder::{RunFolder, write_whole};
use super::summary::DataSummary;
use crate::digest;
use crate::error::RunError;

/// The name of the file.
pub(super) const NAME: &str = "data.json";

/// What a run learns from, written when it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSource {
    /// The absolute path, or the name of a generator.
    pub path: String,
    /// The same seen from the run folder, if that is possible: holds while both move together.
    #[serde(default)]
    pub relative_path: Option<PathBuf>,
    /// Name, size and digest.
    #[serde(flatten)]
    pub data: DataSummary,
    /// How its table was read, so that new data and pairs are read the same way; None for other formats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<TableReading>,
    /// What a user should know about the data: rows that were skipped, files that were not read and the
    /// like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The changes of data that were accepted since the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<DataChange>,
}

impl DataSource {
    /// The source of a run in a folder.
    pub fn new(config: &Config, root: &Path, data: DataSummary) -> Self {
        let path = config.with_absolute_paths().data.path;
        let relative_path = is_stored(&path)
            .then(|| relative(&std::path::absolute(root).ok()?, &path_of(&path)))
            .flatten()
            // What is not text has no place in the file; the other places are looked at anyway.
            .filter(|path| path.to_str().is_some());
        let reading = config.provenance.reading.clone();
        Self { path, relative_path, data, reading, warnings: Vec::new(), changes: Vec::new() }
    }

    /// Reads what a run learns from; None if the run is older than this file.
    ///
    /// # Errors
    /// [`RunError::Io`] if it cannot be read, [`RunError::Damaged`] if it is something
    /// else.
    pub fn read(root: &Path) -> Result<Option<Self>, RunError> {
        files::read_json(&root.join(NAME))
    }
}

impl RunFolder {
    /// Saves what the run learns from.
    ///
    /// # Errors
    /// [`RunError::Io`] if the disk is full or fails.
    pub fn write_source(&self, source: &DataSource) -> Result<(), RunError> {
        let mut text = serde_json::to_vec_pretty(source)
            .map_err(|error| RunError::io(self.root().join(NAME), error.into()))?;
        text.push(b'\n');
        write_whole(&self.root().join(NAME), &text)
    }

    /// Finds the files that the saved configuration of a run names, wherever it was moved: at the
    /// recorded path, at the same place seen from the run folder, in the folder, or beside it. If there
    /// are files at several of these places, the first one with the recorded digest is taken, and the
    /// first one if none has it. What the user named himself is left alone.
    ///
    /// Returns the recorded digest if the data is the run's own by its name: whoever reads it compares.
    ///
    /// # Errors
    /// [`RunError::DataNotFound`] if the data is at none of these places.
    pub fn find_files(root: &Path, config: &mut Config) -> Result<Option<String>, RunError> {
        let saved = Self::read_config(root)?;
        let saved_negatives = &saved.task.negatives_file;
        if let Some(path) = &mut config.task.negatives_file
            && saved_negatives.as_ref() == Some(path)
            && let Some(found) = places(root, path, None).into_iter().find(|place| place.exists())
        {
            *path = found;
        }
        if config.data.path != saved.data.path || is_synthetic(&saved.data.path) {
            return Ok(None);
        }
        let digest = Self::read_digest(root)?;
        let recorded = path_of(&saved.data.path);
        let looked = if is_stored(&saved.data.path) {
            let source = DataSource::read(root)?;
            let relative = source.as_ref().and_then(|source| source.relative_path.as_deref());
            places(root, &recorded, relative)
        } else if saved.data.path == STANDARD_INPUT || recorded.exists() {
            return Ok(digest);
        } else {
            // A pipe that is gone.
            Vec::new()
        };
        match choose(&looked, digest.as_deref()) {
            Some(found) => {
                config.data.path = name_of(found.as_os_str());
                Ok(digest)
            }
            None => Err(RunError::DataNotFound {
                folder: root.to_owned(),
                name: short_name(&saved.data.path),
                sha256: digest,
                looked,
            }),
        }
    }
}

/// Whether the source of data is a file or folder that stays where it is, whatever bytes its name has.
fn is_stored(source: &str) -> bool {
    is_file(source) || is_address(source)
}

/// The first place with the right content; the first one at all if none has it. A file is only read
/// here if there is another one to choose: whoever opens the data learns its digest anyway.
fn choose<'a>(places: &'a [PathBuf], digest: Option<&str>) -> Option<&'a PathBuf> {
    let mut seen = std::collections::HashSet::new();
    // One file may be found on several ways.
    let is_new = |place: &&PathBuf| seen.insert(std::fs::canonicalize(place).ok());
    let there: Vec<&PathBuf> =
        places.iter().filter(|place| place.exists()).filter(is_new).collect();
    let right = |place: &&PathBuf| {
        digest.is_some() && place.is_file() && digest::of_file(place).ok().as_deref() == digest
    };
    let first = there.first().copied();
    match there.len() {
        0 | 1 => first,
        _ => there.into_iter().find(right).or(first),
    }
}

/// Where a file of a run may lie, likeliest first.
fn places(root: &Path, recorded: &Path, relative: Option<&Path>) -> Vec<PathBuf> {
    let mut places = vec![recorded.to_owned()];
    // In older runs, paths in configuration files are relative to the folder in which the run was started.
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

/// A path seen from a folder, both absolute; None if they have nothing in common.
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
