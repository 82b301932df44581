//! Everything that can go wrong around a run, and which kind of failure it is.

use std::path::PathBuf;

use zoetrope_config::ConfigError;
use zoetrope_data::DataError;
use zoetrope_dist::DistError;
use zoetrope_graph::GraphError;
use zoetrope_nn::NnError;
use zoetrope_plan::PlanError;
use zoetrope_run::{FailureKind, RunError};
use zoetrope_tensor::cuda::Consumer;
use zoetrope_tensor::{CudaError, TensorError};

/// A failure to configure, start, execute, save or resume a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The configuration is wrong, or does not suit the data.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The files of a run cannot be read or written.
    #[error(transparent)]
    Run(#[from] RunError),
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
        zoetrope_run::shell_word(folder)
    )]
    Interrupted {
        /// The run folder.
        folder: PathBuf,
        /// Epochs that are finished.
        epochs: usize,
    },
    /// The first of several ranks could not plan the run, and the others end with it.
    #[error("{message}")]
    OfFirstRank {
        /// What it said.
        message: String,
        /// What that means.
        kind: FailureKind,
    },
}

impl TrainError {
    /// The kind of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Config(_) | Self::Unfit { .. } => FailureKind::Configuration,
            Self::Run(error) => error.kind(),
            Self::Io { source, .. } => FailureKind::of_io(source),
            Self::Data(error) => FailureKind::of_data(error),
            Self::Graph(error) => FailureKind::of_graph(error),
            Self::Plan(error) => plan_kind(error),
            Self::Nn(error) | Self::Weights { source: error, .. } => nn_kind(error),
            Self::Tensor(_) => FailureKind::Tensor,
            Self::Unavailable { .. } | Self::Memory(_) => FailureKind::Resource,
            Self::Unmeasured { .. } | Self::NotFinite { .. } => FailureKind::Data,
            Self::Device { source: CudaError::Call { .. } | CudaError::Compile { .. } } => {
                FailureKind::Other
            }
            Self::Device { .. } => FailureKind::Resource,
            Self::Interrupted { .. } | Self::Stopped => FailureKind::Other,
            Self::Ranks(DistError::NoMpi { .. }) => FailureKind::Resource,
            Self::Ranks(_) => FailureKind::Rank,
            Self::OfFirstRank { kind, .. } => *kind,
        }
    }

    /// An operating-system failure on a path.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

fn plan_kind(error: &PlanError) -> FailureKind {
    match error {
        PlanError::TooLarge { .. }
        | PlanError::TooLargeForGpu { .. }
        | PlanError::NotLinked { .. }
        | PlanError::Divider { .. } => FailureKind::Resource,
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
        NnError::Graph(error) => FailureKind::of_graph(error),
        NnError::Option { .. } | NnError::UnknownModel { .. } => FailureKind::Configuration,
        _ => FailureKind::Data,
    }
}

/// What to do about a GPU that refuses.
fn device_advice(error: &CudaError) -> &'static str {
    match error {
        CudaError::OutOfMemory { largest, .. } => match largest {
            Consumer::Activations => {
                "; use more plan.blocks, a smaller train.frame or model.hidden, or a larger plan.memory_limit"
            }
            Consumer::Graph => {
                "; use plan.residency=\"stream\", more plan.blocks, or a larger plan.memory_limit"
            }
            Consumer::Features => {
                "; use plan.residency=\"stream\", fewer features, or a larger plan.memory_limit"
            }
            Consumer::States => {
                "; use plan.block_states=\"stream\", fewer plan.blocks, or a larger plan.memory_limit"
            }
            Consumer::Parameters => "; use a smaller model.hidden, or a larger plan.memory_limit",
            Consumer::Workspace => "; use a larger plan.memory_limit: products need as much",
        },
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
    fn what_is_below_says_which_kind_of_failure_it_is() {
        let config = zoetrope_config::Config::builder().set("train.lr=x").build().unwrap_err();
        assert_eq!(TrainError::from(config.clone()).kind().exit_code(), 2);
        assert_eq!(TrainError::from(RunError::from(config)).kind().exit_code(), 2);
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(TrainError::io("runs", full()).kind().exit_code(), 4);
        assert_eq!(TrainError::from(RunError::io("runs", full())).kind().exit_code(), 4);
    }
}
