//! The verdict that a rank is lost.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::site::Position;

/// How a rank hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// Its process gives no sign: stopped, or its host is gone.
    Silent,
    /// It lives, but does not come to the communication that others wait in.
    Busy,
    /// It waits itself, for something that no rank sends.
    Waiting,
}

/// What happened to a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// It ended: error, panic, exit, signal.
    Ended {
        /// How, as far as it is known.
        how: String,
    },
    /// It does not get on.
    Hung {
        /// In what way.
        manner: Manner,
        /// For how long.
        seconds: f64,
    },
}

/// A rank is lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which one.
    pub rank: usize,
    /// What happened to it.
    pub cause: Cause,
    /// Where each rank was.
    pub positions: Vec<Position>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.rank;
        match &self.cause {
            Cause::Ended { how } => write!(f, "rank {rank} ended: {how}")?,
            Cause::Hung { manner, seconds } => {
                let how = match manner {
                    Manner::Silent => "it gives no sign of life: stopped, or its host is gone",
                    Manner::Busy => "others wait for it, and it does not come",
                    Manner::Waiting => "it waits for something that nobody sends",
                };
                write!(f, "rank {rank} hangs for {seconds:.1} s: {how}")?;
            }
        }
        for (rank, position) in self.positions.iter().enumerate() {
            let separator = if rank == 0 { " [" } else { "; " };
            write!(f, "{separator}rank {rank}: {position}")?;
        }
        if !self.positions.is_empty() {
            write!(f, "]")?;
        }
        Ok(())
    }
}
