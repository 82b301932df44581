//! Why a plan cannot be simulated.

use zoetrope_plan::TaskKind;

/// A simulation that cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// More ranks than the machine has devices.
    #[error(
        "{ranks} ranks, but {machine} has {nodes} nodes of {devices} devices; ask for at most {} ranks, or describe a larger machine",
        nodes * devices
    )]
    TooManyRanks {
        /// The ranks.
        ranks: usize,
        /// The name of the machine.
        machine: String,
        /// Its nodes.
        nodes: usize,
        /// Devices of each.
        devices: usize,
    },
    /// There are no ranks.
    #[error("there are no ranks to simulate")]
    NoRanks,
    /// A straggler that is not one of the ranks.
    #[error("rank {rank} is slower, but there are {ranks} ranks, from 0")]
    NoSuchRank {
        /// The straggler.
        rank: usize,
        /// How many ranks there are.
        ranks: usize,
    },
    /// A speed that no rank can have.
    #[error("rank {rank} has {speed} times its speed; give a number above 0")]
    Speed {
        /// The rank.
        rank: usize,
        /// Its speed.
        speed: f64,
    },
    /// Ranks do not agree on a message: a bug in what made their programs.
    #[error(
        "message {message} of rank {rank} is {}, that of rank {other} is {}",
        name(*of_rank),
        name(*of_other)
    )]
    Disagree {
        /// The place of the message among those of a rank.
        message: usize,
        /// A rank.
        rank: usize,
        /// What it does there.
        of_rank: Option<TaskKind>,
        /// Another rank.
        other: usize,
        /// What that does there.
        of_other: Option<TaskKind>,
    },
    /// A task waits for what never ends: a bug in what made the programs.
    #[error("rank {rank} waits for ever before its task {task} ({})", kind.name())]
    Stuck {
        /// The rank.
        rank: usize,
        /// The task.
        task: usize,
        /// What it would do.
        kind: TaskKind,
    },
}

fn name(kind: Option<TaskKind>) -> &'static str {
    kind.map_or("none", TaskKind::name)
}
