//! Everything that can go wrong with the files of a run.

use std::path::PathBuf;

use zoetrope_config::ConfigError;
use zoetrope_data::DataError;

use crate::FailureKind;
use crate::shell::shell_word;

/// A failure to read or write a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be written as a whole.
    #[error(transparent)]
    Sink(#[from] DataError),
    /// The configuration of a run is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data of a run is at none of the places where it may be.
    #[error("{}: the data of this run is not there: {name}{}; looked for at {}; name it with --data", folder.display(), with_digest(sha256), places(looked))]
    DataNotFound {
        /// The run folder.
        folder: PathBuf,
        /// The short name of the data.
        name: String,
        /// The digest of what the run learned from, if it is known.
        sha256: Option<String>,
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The run was stopped before it saved anything that could be used.
    #[error("{}: this run has no weights yet: it stopped before its first checkpoint; `zoetrope train --resume {}` continues it", folder.display(), shell_word(folder))]
    NoWeights {
        /// The run folder.
        folder: PathBuf,
    },
    /// Another process works on the run folder.
    #[error("{}: in use by {}; wait for it, or choose another folder with --out", folder.display(), process(*owner))]
    Busy {
        /// The run folder.
        folder: PathBuf,
        /// The process that holds its lock, if it is known.
        owner: Option<u32>,
    },
    /// The folder for a new run holds something.
    #[error("{}: {}", folder.display(), occupied(*is_run))]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// Whether that is a run.
        is_run: bool,
    },
    /// The folder holds no run.
    #[error("{}: not a run folder: it has no {missing}", folder.display())]
    NotARun {
        /// The folder.
        folder: PathBuf,
        /// What a run folder would have.
        missing: &'static str,
    },
    /// A file of a run is not as it was written.
    #[error("{}: damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A run has checkpoints and none of them is as it was written.
    #[error("{}: every checkpoint is damaged:\n{}", folder.display(), reasons.iter().map(Self::to_string).collect::<Vec<_>>().join("\n"))]
    AllDamaged {
        /// The folder of the checkpoints.
        folder: PathBuf,
        /// What is wrong with each, newest first.
        reasons: Vec<RunError>,
    },
    /// A number is NaN or infinite. Nothing was stored.
    #[error(
        "{what} [{index}] is {value} after {step} updates; a lower train.lr or a train.clip may help, and NaN in the data is found by `zoetrope data inspect`"
    )]
    Diverged {
        /// What the number belongs to.
        what: String,
        /// Its place there.
        index: usize,
        /// The number.
        value: f64,
        /// Updates of the weights before it was found.
        step: u64,
    },
}

impl RunError {
    /// The kind of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Io { source, .. } => FailureKind::of_io(source),
            Self::Sink(error) => FailureKind::of_data(error),
            Self::Config(_)
            | Self::Occupied { .. }
            | Self::NotARun { .. }
            | Self::NoWeights { .. } => FailureKind::Configuration,
            Self::Damaged { .. } | Self::AllDamaged { .. } | Self::DataNotFound { .. } => {
                FailureKind::Data
            }
            Self::Busy { .. } => FailureKind::Resource,
            Self::Diverged { .. } => FailureKind::NonFinite,
        }
    }

    /// An operating-system failure on a path.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

fn with_digest(sha256: &Option<String>) -> String {
    sha256.as_ref().map_or_else(String::new, |sha256| format!(" with sha256 {sha256}"))
}

fn places(looked: &[PathBuf]) -> String {
    if looked.is_empty() {
        return "no place, because it came through a pipe".to_owned();
    }
    let places: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
    places.join(", ")
}

fn process(owner: Option<u32>) -> String {
    owner.map_or_else(|| "another process".into(), |owner| format!("process {owner}"))
}

fn occupied(is_run: bool) -> &'static str {
    if is_run {
        "holds a run already; --resume continues it, --out chooses another folder"
    } else {
        "holds files that are not of a run; choose a new or empty folder with --out"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_wrong_path_have_different_exit_codes() {
        let of = |kind| RunError::io("runs", std::io::Error::from(kind)).kind().exit_code();
        assert_eq!(of(std::io::ErrorKind::StorageFull), 4);
        assert_eq!(of(std::io::ErrorKind::NotADirectory), 2);
    }
}
