//! Placements: which rank computes which cell `(vertex, time step)`.
//!
//! A plan has two, one for the structure encoders and one for the time encoders. If they differ,
//! activations move between the two ([`route`]); if a structure encoder gathers rows of other
//! ranks, those move too ([`halo`]). [`grid`] fills the two maps for every strategy.
//!
//! Time steps are counted from the start of a frame, so that every frame is spread over all ranks.
//! Vertices are those of the renamed graph ([`Renaming`](crate::partition::Renaming)): the vertices
//! of a rank are consecutive. So the cells of a rank are always some time steps × some consecutive
//! vertices ([`Share`]), kept as rows ordered by (time step, vertex).

pub(crate) mod expected;
pub mod grid;
pub mod halo;
pub mod route;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::plan::contradiction::Contradiction;

/// A map from cells to ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Placement {
    /// All cells on rank 0.
    Single,
    /// Each time step on one rank.
    BySnapshot {
        /// The rank of each time step of a frame.
        ranks: Vec<u32>,
    },
    /// Each vertex, with all its time steps, on one rank.
    ByVertex {
        /// Where the vertices of each chunk start, and the end of the last one.
        starts: Vec<u32>,
        /// The rank of each chunk; each rank has one.
        ranks: Vec<u32>,
    },
    /// Each time step on a group of ranks, its vertices spread over the members of the group.
    /// Member `m` of group `g` is rank `g · members + m`.
    ByGroup {
        /// The group of each time step of a frame.
        groups: Vec<u32>,
        /// Where the vertices of each member start, and the end of the last one.
        starts: Vec<u32>,
    },
}

/// The cells of a rank: all of `steps` × `vertices`, as rows ordered by (time step, vertex).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Time steps of the frame, ascending.
    pub steps: Vec<usize>,
    /// Consecutive vertices.
    pub vertices: Range<u32>,
}

impl Share {
    /// The number of cells.
    pub fn rows(&self) -> usize {
        self.steps.len() * self.vertices.len()
    }

    /// The row of a cell, if the rank has it.
    pub fn row(&self, vertex: u32, step: usize) -> Option<usize> {
        let at = self.steps.binary_search(&step).ok()?;
        let inside = self.vertices.contains(&vertex);
        inside.then(|| at * self.vertices.len() + (vertex - self.vertices.start) as usize)
    }

    /// The cells `(vertex, time step)`, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (u32, usize)> {
        self.steps.iter().flat_map(|&step| self.vertices.clone().map(move |vertex| (vertex, step)))
    }
}

impl Placement {
    /// The rank of a cell.
    ///
    /// # Panics
    /// If the placement does not know the vertex or the time step.
    pub fn rank(&self, vertex: u32, step: usize) -> u32 {
        match self {
            Self::Single => 0,
            Self::BySnapshot { ranks } => ranks[step],
            Self::ByVertex { starts, ranks } => ranks[chunk_of(starts, vertex)],
            Self::ByGroup { groups, starts } => {
                groups[step] * (starts.len() as u32 - 1) + chunk_of(starts, vertex) as u32
            }
        }
    }

    /// The cells of a rank among some time steps of a frame of `vertices` vertices.
    ///
    /// # Panics
    /// If the placement does not know the time steps, or no chunk is that rank's.
    pub fn share(&self, rank: u32, vertices: u32, steps: Range<usize>) -> Share {
        let none = || Share { steps: Vec::new(), vertices: 0..0 };
        let of =
            |owner: &[u32], who: u32| steps.clone().filter(|&step| owner[step] == who).collect();
        match self {
            Self::Single if rank == 0 => Share { steps: steps.collect(), vertices: 0..vertices },
            Self::Single => none(),
            Self::BySnapshot { ranks } => Share { steps: of(ranks, rank), vertices: 0..vertices },
            Self::ByVertex { starts, ranks } => {
                let chunk =
                    ranks.iter().position(|&owner| owner == rank).expect("a rank of the plan");
                Share { steps: steps.collect(), vertices: starts[chunk]..starts[chunk + 1] }
            }
            Self::ByGroup { groups, starts } => {
                let members = starts.len() as u32 - 1;
                let member = (rank % members) as usize;
                let vertices = starts[member]..starts[member + 1];
                Share { steps: of(groups, rank / members), vertices }
            }
        }
    }

    /// Where the vertices of a time step change hands, and with whom: the ranks that share a step
    /// stand in the order of their vertices.
    pub(crate) fn row_of_ranks(&self, step: usize, vertices: u32) -> (Vec<u32>, Vec<u32>) {
        match self {
            Self::Single => (vec![0, vertices], vec![0]),
            Self::BySnapshot { ranks } => (vec![0, vertices], vec![ranks[step]]),
            Self::ByVertex { starts, ranks } => (starts.clone(), ranks.clone()),
            Self::ByGroup { groups, starts } => {
                let members = starts.len() as u32 - 1;
                let first = groups[step] * members;
                (starts.clone(), (first..first + members).collect())
            }
        }
    }

    /// Refuses a placement that does not place every cell of a frame on one of `ranks` ranks.
    ///
    /// # Errors
    /// [`PlanError::Broken`] with what is wrong.
    pub fn check(&self, vertices: u32, steps: usize, ranks: usize) -> Result<(), PlanError> {
        let broken = |what: Contradiction| Err(PlanError::Broken(what));
        let covers = |starts: &[u32]| {
            starts.len() >= 2
                && starts[0] == 0
                && starts.is_sorted()
                && starts.last() == Some(&vertices)
        };
        let of_steps = |owners: &[u32], count: usize, what: &'static str| {
            if owners.len() != steps {
                return broken(Contradiction::PlacedSteps { found: owners.len(), steps });
            }
            match owners.iter().find(|&&owner| owner as usize >= count) {
                Some(&owner) => broken(Contradiction::PlacedOn { what, owner, count }),
                None => Ok(()),
            }
        };
        match self {
            Self::Single => Ok(()),
            Self::BySnapshot { ranks: owners } => of_steps(owners, ranks, "rank"),
            Self::ByVertex { starts, ranks: owners } => {
                if !covers(starts) || owners.len() + 1 != starts.len() {
                    return broken(Contradiction::Uncovered { parts: "chunks", vertices });
                }
                let mut sorted = owners.clone();
                sorted.sort_unstable();
                if sorted.iter().copied().eq(0..ranks as u32) {
                    Ok(())
                } else {
                    broken(Contradiction::ChunkRanks { ranks })
                }
            }
            Self::ByGroup { groups, starts } => {
                if !covers(starts) || !ranks.is_multiple_of(starts.len() - 1) {
                    return broken(Contradiction::Uncovered { parts: "members", vertices });
                }
                of_steps(groups, ranks / (starts.len() - 1), "group")
            }
        }
    }
}

/// The chunk that a vertex lies in; empty chunks have none.
fn chunk_of(starts: &[u32], vertex: u32) -> usize {
    assert!(vertex < starts[starts.len() - 1], "vertex {vertex} has no chunk");
    starts.partition_point(|&start| start <= vertex) - 1
}

/// The placements of structure encoders and of time encoders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placements {
    /// Where structure encoders run.
    pub structure: Placement,
    /// Where time encoders run.
    pub time: Placement,
}
