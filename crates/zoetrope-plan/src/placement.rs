//! Placements: which rank computes which cell `(vertex, time step)`.
//!
//! A plan has two, one for the structure encoders and one for the time encoders. Where they differ,
//! activations move between the two.

use serde::{Deserialize, Serialize};

/// A map from cells to ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Placement {
    /// All cells on rank 0.
    Single,
    /// Each time step on one rank.
    BySnapshot {
        /// The rank of each time step.
        ranks: Vec<u32>,
    },
    /// Each vertex, with all its time steps, on one rank.
    ByVertex {
        /// The rank of each vertex.
        ranks: Vec<u32>,
    },
}

impl Placement {
    /// The rank of a cell.
    ///
    /// # Panics
    /// Where the placement does not know the vertex or the time step.
    pub fn rank(&self, vertex: usize, step: usize) -> u32 {
        match self {
            Self::Single => 0,
            Self::BySnapshot { ranks } => ranks[step],
            Self::ByVertex { ranks } => ranks[vertex],
        }
    }
}

/// The placements of structure encoders and of time encoders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placements {
    /// Where structure encoders run.
    pub structure: Placement,
    /// Where time encoders run.
    pub time: Placement,
}
