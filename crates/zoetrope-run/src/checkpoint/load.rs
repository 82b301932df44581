//! Reading checkpoints: the newest one that is as it was written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::digest::state_hash;
use super::encode::decode;
use super::files::FileLayer;
use super::manifest::{self, Manifest};
use super::state::SavedState;
use crate::error::RunError;

/// A checkpoint that was found.
#[derive(Debug)]
pub struct Restored {
    /// What it holds.
    pub state: SavedState,
    /// The hash of that.
    pub state_hash: String,
    /// The vector units that it was computed with, if it says.
    pub vector_level: Option<String>,
    /// Where it stands.
    pub path: PathBuf,
    /// The bytes of its files.
    pub bytes: u64,
    /// Newer ones that are damaged, and how.
    pub rejected: Vec<RunError>,
}

/// A folder that may be a checkpoint: its step, and whether it was moved aside for a new one of
/// the same step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) step: u64,
    pub(super) is_current: bool,
    pub(super) name: String,
}

/// The suffix of a checkpoint in the making.
pub(super) const UNFINISHED: &str = ".tmp";
/// The suffix of a checkpoint whose place a new one of the same step takes.
pub(super) const REPLACED: &str = ".old";

/// The name of the checkpoint of a step.
pub(super) fn folder_name(step: u64) -> String {
    format!("step-{step}")
}

/// The candidates among names, newest first.
pub(super) fn candidates(names: Vec<String>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = names
        .into_iter()
        .filter_map(|name| {
            let stem = name.strip_suffix(REPLACED);
            let (is_current, stem) = (stem.is_none(), stem.unwrap_or(&name));
            let step = stem.strip_prefix("step-")?.parse().ok()?;
            // `step-007` and `step-+7` are not names that we give.
            (folder_name(step) == stem).then_some(Candidate { step, is_current, name })
        })
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found
}

/// Reads a checkpoint and holds every byte of it against its manifest.
pub(super) fn load(files: &impl FileLayer, folder: &Path) -> Result<Restored, RunError> {
    let manifest = read_manifest(files, folder)?;
    let mut contents = Vec::new();
    for part in &manifest.files {
        let path = folder.join(&part.name);
        let content = files.read(&path, part.bytes).map_err(|error| unreadable(&path, error))?;
        if !part.is(&content) {
            return Err(damaged(&path, "its content does not match the manifest"));
        }
        contents.push(content);
    }
    let tensors = |index: usize| {
        let path = || folder.join(&manifest.files[index].name);
        decode(&contents[index]).map_err(|reason| damaged(&path(), reason))
    };
    let cursor = serde_json::from_slice(&contents[3])
        .map_err(|error| damaged(&folder.join(manifest::FILES[3]), error))?;
    let state =
        SavedState { weights: tensors(0)?, optimiser: tensors(1)?, hidden: tensors(2)?, cursor };
    let hash = state_hash(&state);
    if hash != manifest.state_hash || state.cursor.step != manifest.step {
        return Err(damaged(folder, "its state is not the one that the manifest names"));
    }
    state.check_finite()?;
    Ok(Restored {
        state,
        state_hash: hash,
        vector_level: manifest.vector_level.clone(),
        path: folder.to_owned(),
        bytes: manifest.files.iter().map(|part| part.bytes).sum(),
        rejected: Vec::new(),
    })
}

/// Reads and checks a manifest.
fn read_manifest(files: &impl FileLayer, folder: &Path) -> Result<Manifest, RunError> {
    let path = folder.join(manifest::NAME);
    let bytes =
        files.read(&path, manifest::MOST_BYTES).map_err(|error| unreadable(&path, error))?;
    Manifest::decode(&bytes).map_err(|reason| damaged(&path, reason))
}

/// A file that is missing or too long is damage; anything else is the disk.
fn unreadable(path: &Path, error: std::io::Error) -> RunError {
    match error.kind() {
        ErrorKind::NotFound => damaged(path, "it is missing"),
        ErrorKind::FileTooLarge => damaged(path, "it is longer than it was written"),
        ErrorKind::InvalidInput | ErrorKind::IsADirectory => damaged(path, error),
        ErrorKind::NotADirectory => damaged(path, "a file stands where its folder should"),
        _ => RunError::io(path, error),
    }
}

fn damaged(path: &Path, reason: impl ToString) -> RunError {
    RunError::Damaged { path: path.to_owned(), reason: reason.to_string() }
}
