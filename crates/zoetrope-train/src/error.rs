//! Everything that can go wrong around a run, and which kind of failure it is.

use std::path::PathBuf;

use zoetrope_data::DataError;
use zoetrope_dist::DistError;
use zoetrope_graph::GraphError;
use zoetrope_nn::NnError;
use zoetrope_plan::PlanError;
use zoetrope_tensor::{CudaError, TensorError};

use crate::config::ConfigProblem;

/// A failure to configure, start, execute, save or resume a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The configuration is wrong at one or several places.
    #[error("{}", list(problems))]
    Config {
        /// All problems found, in the order of the layers.
        problems: Vec<ConfigProblem>,
    },
    /// It would take more memory than there is.
    #[error(transparent)]
    Memory(#[from] zoetrope_heap::TooLarge),
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The data set cannot be read or does not fit the configuration.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The graph cannot be cut, normalised or smoothed as asked.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A plan cannot be made, read or executed for this run.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A model cannot be built or computed.
    #[error(transparent)]
    Nn(#[from] NnError),
    /// Operands of an operator do not fit.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A GPU or its libraries refuse.
    #[error("{source}{}", device_advice(source))]
    Device {
        /// What they say.
        #[from]
        source: CudaError,
    },
    /// A file of weights does not fit the model.
    #[error("{}: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: NnError,
    },
    /// Configuration and data do not go together.
    #[error("{what}; {advice}")]
    Unfit {
        /// What does not fit.
        what: String,
        /// What to change.
        advice: String,
    },
    /// Nothing that was held out could be judged, so that no metric has a value.
    #[error("no metric has a value: {what}. {advice}")]
    Unmeasured {
        /// Which parts were judged.
        what: String,
        /// What to change.
        advice: String,
    },
    /// A feature or target in the data is NaN or infinite.
    #[error("the {what}{} of vertex {vertex} at step {step} is {value}; mend the data or leave the vertex out{}", column.map_or_else(String::new, |column| format!(" {column}")), if value.is_nan() && column.is_some() { " (data.missing_features=impute fills it in)" } else { "" })]
    NotFinite {
        /// Feature or target.
        what: &'static str,
        /// Which feature.
        column: Option<usize>,
        /// The snapshot, from 0.
        step: usize,
        /// The vertex as the data names it.
        vertex: String,
        /// The value.
        value: f32,
    },
    /// A rank is lost, or ranks disagree.
    #[error(transparent)]
    Ranks(#[from] DistError),
    /// The machine, or this build, lacks something.
    #[error("{what} is not available; {advice}")]
    Unavailable {
        /// What is missing.
        what: String,
        /// What to do instead.
        advice: String,
    },
    /// The end was asked for while something was measured.
    #[error("stopped")]
    Stopped,
    /// The run was asked to stop and has saved what it did.
    #[error(
        "stopped after {epochs} epochs; `zoetrope train --resume {}` continues",
        crate::shell_word(folder)
    )]
    Interrupted {
        /// The run folder.
        folder: PathBuf,
        /// Epochs that are finished.
        epochs: usize,
    },
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
    #[error("{}: this run has no weights yet: it stopped before its first checkpoint; `zoetrope train --resume {}` continues it", folder.display(), crate::shell_word(folder))]
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
        reasons: Vec<TrainError>,
    },
    /// The first of several ranks could not plan the run, and the others end with it.
    #[error("{message}")]
    OfFirstRank {
        /// What it said.
        message: String,
        /// What that means.
        kind: FailureKind,
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

/// What a failure means for the user, coarse enough for an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The command line or a configuration file must change: exit code 2.
    Configuration,
    /// The data, the weights or a checkpoint are wrong: exit code 3.
    Data,
    /// A device, memory, disk or lock is not to be had: exit code 4.
    Resource,
    /// A rank failed, and the others with it: exit code 5.
    Rank,
    /// Numbers stopped being finite: exit code 1.
    NonFinite,
    /// Shapes that should fit do not, which is a bug: exit code 1.
    Tensor,
    /// Anything else: exit code 1.
    Other,
}

impl FailureKind {
    /// The kind of failure that an exit code stands for.
    pub(crate) fn of_exit_code(code: u8) -> Self {
        let known = [Self::Configuration, Self::Data, Self::Resource, Self::Rank];
        known.into_iter().find(|kind| kind.exit_code() == code).unwrap_or(Self::Other)
    }

    /// The exit code of the command line for this kind of failure.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Configuration => 2,
            Self::Data => 3,
            Self::Resource => 4,
            Self::Rank => 5,
            Self::NonFinite | Self::Tensor | Self::Other => 1,
        }
    }
}

impl TrainError {
    /// The kind of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Config { .. } => FailureKind::Configuration,
            Self::Io { source, .. } => io_kind(source),
            Self::Data(error) => data_kind(error),
            Self::Graph(error) => graph_kind(error),
            Self::Plan(error) => plan_kind(error),
            Self::Nn(error) | Self::Weights { source: error, .. } => nn_kind(error),
            Self::Tensor(_) => FailureKind::Tensor,
            Self::Busy { .. } | Self::Unavailable { .. } | Self::Memory(_) => FailureKind::Resource,
            Self::Unfit { .. }
            | Self::Occupied { .. }
            | Self::NotARun { .. }
            | Self::NoWeights { .. } => FailureKind::Configuration,
            Self::Unmeasured { .. }
            | Self::NotFinite { .. }
            | Self::Damaged { .. }
            | Self::AllDamaged { .. }
            | Self::DataNotFound { .. } => FailureKind::Data,
            Self::Device { source: CudaError::Call { .. } | CudaError::Compile { .. } } => {
                FailureKind::Other
            }
            Self::Device { .. } => FailureKind::Resource,
            Self::Interrupted { .. } | Self::Stopped => FailureKind::Other,
            Self::Ranks(DistError::NoMpi { .. }) => FailureKind::Resource,
            Self::Ranks(_) => FailureKind::Rank,
            Self::OfFirstRank { kind, .. } => *kind,
            Self::Diverged { .. } => FailureKind::NonFinite,
        }
    }

    /// An operating-system failure on a path.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// What a run folder's files fail with is the disk's fault, unless the path itself is wrong.
fn io_kind(error: &std::io::Error) -> FailureKind {
    match error.kind() {
        std::io::ErrorKind::NotFound
        | std::io::ErrorKind::NotADirectory
        | std::io::ErrorKind::IsADirectory
        | std::io::ErrorKind::InvalidInput => FailureKind::Configuration,
        _ => FailureKind::Resource,
    }
}

fn data_kind(error: &DataError) -> FailureKind {
    match error {
        DataError::BadParameter { .. } | DataError::CannotHold { .. } => FailureKind::Configuration,
        DataError::Memory(_) => FailureKind::Resource,
        DataError::Io { source, .. } => match source.kind() {
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge
            | std::io::ErrorKind::ReadOnlyFilesystem
            | std::io::ErrorKind::OutOfMemory => FailureKind::Resource,
            _ => FailureKind::Data,
        },
        _ => FailureKind::Data,
    }
}

fn graph_kind(error: &GraphError) -> FailureKind {
    match error {
        GraphError::BadParameter { .. } | GraphError::TooManyWindows { .. } => {
            FailureKind::Configuration
        }
        GraphError::TooMany { .. } | GraphError::Memory(_) => FailureKind::Resource,
        _ => FailureKind::Data,
    }
}

fn plan_kind(error: &PlanError) -> FailureKind {
    match error {
        PlanError::TooLarge { .. }
        | PlanError::NotLinked { .. }
        | PlanError::EventsAcrossRanks { .. } => FailureKind::Resource,
        PlanError::NoSnapshots
        | PlanError::Broken(_)
        | PlanError::NotAPlan(_)
        | PlanError::Schema { .. }
        | PlanError::UnknownKey { .. } => FailureKind::Data,
        _ => FailureKind::Configuration,
    }
}

fn nn_kind(error: &NnError) -> FailureKind {
    match error {
        NnError::Tensor(_) => FailureKind::Tensor,
        NnError::Graph(error) => graph_kind(error),
        NnError::Option { .. } | NnError::UnknownModel { .. } => FailureKind::Configuration,
        _ => FailureKind::Data,
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

fn list(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ConfigProblem::to_string).collect();
    lines.join("\n")
}

/// What to do about a GPU that refuses.
fn device_advice(error: &CudaError) -> &'static str {
    match error {
        CudaError::OutOfMemory { .. } => {
            "; use a smaller train.frame or model.hidden, plan.residency=\"stream\", or a larger plan.memory_limit"
        }
        CudaError::NoDevice { .. } | CudaError::TooOld { .. } => {
            "; `zoetrope doctor` lists the devices, --device cpu needs none"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_wrong_path_have_different_exit_codes() {
        let of = |kind| TrainError::io("runs", std::io::Error::from(kind)).kind().exit_code();
        assert_eq!(of(std::io::ErrorKind::StorageFull), 4);
        assert_eq!(of(std::io::ErrorKind::NotADirectory), 2);
    }
}
