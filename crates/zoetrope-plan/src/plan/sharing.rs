//! How ranks share the frames of an epoch.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::contradiction::Contradiction;
use super::frame_plan::Blocks;
use crate::error::PlanError;
use crate::partition::{Partition, Renaming};
use crate::placement::Placements;
use crate::placement::grid::{Grid, even_starts};
use crate::strategy::Strategy;

/// How rows are redistributed beside computing (ESDG §6.5). Few parts and pieces, because each costs messages of its
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlap {
    /// Parts of a rank's snapshots: structure encoders without weights compute one while others are on their way.
    pub parts: usize,
    /// Pieces of a rank's vertices: the same for time encoders that can.
    pub pieces: usize,
}

impl Default for Overlap {
    fn default() -> Self {
        Self { parts: 4, pieces: 1 }
    }
}

impl Overlap {
    /// The most of either.
    pub const MOST: usize = 64;
}

/// How ranks share frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Sharing {
    /// Whole frames: those of an update are computed by different ranks, and only gradients meet. Which rank
    /// computes which frame stands in the updates.
    Frames,
    /// The cells of every frame.
    Cells(CellSharing),
}

impl Sharing {
    /// A few words for a table.
    pub fn name(&self) -> String {
        match self {
            Self::Frames => "frames".to_owned(),
            Self::Cells(cells) => cells.strategy.name(),
        }
    }

    /// How cells are shared, if they are.
    pub fn cells(&self) -> Option<&CellSharing> {
        match self {
            Self::Frames => None,
            Self::Cells(cells) => Some(cells),
        }
    }
}

/// How ranks share the cells of every frame: a rule, and the owners of vertices that it was filled with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSharing {
    /// The rule.
    pub strategy: Strategy,
    /// The member of a group that owns each vertex, by the number of the vertex in the data; nothing if each
    /// group has one member, which owns all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<u32>,
    /// Whether time encoders work on rows of vertices, which are then redistributed; EvolveGCN's work on
    /// weights.
    pub time_on_features: bool,
    /// Whether rows are redistributed beside computing (ESDG §6.5).
    pub overlap: bool,
    /// How, if it is not as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Overlap>,
}

impl CellSharing {
    /// How rows are redistributed beside computing, if they are.
    pub fn overlap(&self) -> Option<Overlap> {
        self.overlap.then(|| self.beside.unwrap_or_default())
    }

    /// The grid of `ranks` ranks.
    pub fn grid(&self, ranks: u32) -> Grid {
        self.strategy.grid(ranks)
    }

    /// New numbers for the vertices, so that those of each member are consecutive; None if they can stay.
    pub fn renaming(&self, ranks: u32) -> Option<Renaming> {
        let parts = self.grid(ranks).members;
        (parts > 1).then(|| Partition { parts, of: self.owners.clone() }.renaming())
    }

    /// Where the vertices of each member start by their new numbers, and the end of the last ones.
    pub fn starts(&self, vertices: u32, renaming: Option<&Renaming>) -> Vec<u32> {
        match renaming {
            Some(renaming) => renaming.starts().to_vec(),
            None => even_starts(vertices, 1),
        }
    }

    /// Which rank computes which cell of a frame of `steps` snapshots that is computed in `blocks`.
    pub fn placements(
        &self,
        ranks: u32,
        vertices: u32,
        steps: usize,
        blocks: Blocks,
    ) -> Placements {
        let renaming = self.renaming(ranks);
        let starts = self.starts(vertices, renaming.as_ref());
        let ranges: Vec<Range<usize>> = blocks.of(0..steps);
        self.grid(ranks).placements(&starts, &ranges, self.time_on_features)
    }

    /// Refuses owners that are not members, or are not those of all vertices.
    pub(super) fn check(&self, ranks: usize, vertices: usize) -> Result<(), PlanError> {
        let Ok(all) = u32::try_from(ranks) else {
            return Err(Contradiction::Count { what: "ranks", count: ranks }.into());
        };
        if let Strategy::Hybrid { members } = self.strategy
            && (members == 0 || !all.is_multiple_of(members))
        {
            return Err(Contradiction::UnevenGroups { members, ranks }.into());
        }
        if let Some(Overlap { parts, pieces }) = self.beside {
            let most = Overlap::MOST;
            if !self.overlap || !(1..=most).contains(&parts) || !(1..=most).contains(&pieces) {
                return Err(Contradiction::Beside { overlap: self.overlap, parts, pieces }.into());
            }
        }
        let members = self.grid(all).members;
        let wanted = if members > 1 { vertices } else { 0 };
        if self.owners.len() != wanted {
            let found = self.owners.len();
            return Err(Contradiction::Owners { found, wanted }.into());
        }
        match self.owners.iter().position(|&owner| owner >= members) {
            Some(vertex) => {
                let owner = self.owners[vertex];
                Err(Contradiction::Owner { vertex, owner, members }.into())
            }
            None => Ok(()),
        }
    }
}
