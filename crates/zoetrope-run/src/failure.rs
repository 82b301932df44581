//! What a failure means for the user.

use zoetrope_data::DataError;
use zoetrope_graph::GraphError;

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
    pub fn of_exit_code(code: u8) -> Self {
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

    /// What a run folder's files fail with is the disk's fault, unless the path itself is wrong.
    pub fn of_io(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound
            | std::io::ErrorKind::NotADirectory
            | std::io::ErrorKind::IsADirectory
            | std::io::ErrorKind::InvalidInput => Self::Configuration,
            _ => Self::Resource,
        }
    }

    /// What is wrong with a data set is the data's fault, unless an option or the disk is.
    pub fn of_data(error: &DataError) -> Self {
        match error {
            DataError::BadParameter { .. } | DataError::CannotHold { .. } => Self::Configuration,
            DataError::Memory(_) => Self::Resource,
            DataError::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::StorageFull
                | std::io::ErrorKind::QuotaExceeded
                | std::io::ErrorKind::FileTooLarge
                | std::io::ErrorKind::ReadOnlyFilesystem
                | std::io::ErrorKind::OutOfMemory => Self::Resource,
                _ => Self::Data,
            },
            _ => Self::Data,
        }
    }

    /// What is wrong with a graph is the data's fault, unless an option or the memory is.
    pub fn of_graph(error: &GraphError) -> Self {
        match error {
            GraphError::BadParameter { .. } | GraphError::TooManyWindows { .. } => {
                Self::Configuration
            }
            GraphError::TooMany { .. } | GraphError::Memory(_) => Self::Resource,
            _ => Self::Data,
        }
    }
}
