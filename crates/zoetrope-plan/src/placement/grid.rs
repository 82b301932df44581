//! The grid of ranks: groups that share the time steps × members that share the vertices.
//!
//! Every strategy is a grid. Snapshot partitioning (ESDG §4.2) is one rank a group: structure
//! encoders need nothing from others, time encoders get chunks of vertices by redistribution.
//! Vertex partitioning (§4.1) is one group of all ranks: time encoders need nothing, structure
//! encoders gather rows of others. Hybrid partitioning (§6.5) is what lies between: rows are
//! gathered inside a group, and redistributed between the ranks of different groups that have the
//! same vertices, because member `m`'s vertices are cut again into one chunk for each group.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Placement, Placements};

/// Groups of ranks and the members of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// Groups; each has some time steps.
    pub groups: u32,
    /// Ranks of a group; each has some vertices.
    pub members: u32,
}

impl Grid {
    /// Snapshot partitioning over `ranks` ranks.
    pub fn by_snapshot(ranks: u32) -> Self {
        Self { groups: ranks, members: 1 }
    }

    /// Vertex partitioning over `ranks` ranks.
    pub fn by_vertex(ranks: u32) -> Self {
        Self { groups: 1, members: ranks }
    }

    /// All grids of `ranks` ranks that are neither of those, most groups first.
    pub fn hybrids(ranks: u32) -> impl Iterator<Item = Self> {
        let members = (2..ranks).filter(move |&members| ranks.is_multiple_of(members));
        members.map(move |members| Self { groups: ranks / members, members })
    }

    /// The number of ranks.
    pub fn ranks(self) -> u32 {
        self.groups * self.members
    }

    /// The two placements of a frame.
    ///
    /// `starts` says where the vertices of each member start, and where the last ones end
    /// ([`even_starts`] or a partition's). `blocks` are the blocks of the frame between which
    /// activations are not kept; one block of all steps if they are. `time_on_features` is
    /// false for models whose time encoders work on weights (EvolveGCN): cells then stay where
    /// their structure encoder is.
    ///
    /// # Panics
    /// If there are not `members + 1` starts.
    pub fn placements(
        self,
        starts: &[u32],
        blocks: &[Range<usize>],
        time_on_features: bool,
    ) -> Placements {
        assert_eq!(starts.len(), self.members as usize + 1, "a start for each member and an end");
        let groups = spread_steps(blocks, self.groups);
        let structure = match (self.groups, self.members) {
            (_, 1) => Placement::BySnapshot { ranks: groups },
            (1, members) => {
                Placement::ByVertex { starts: starts.to_vec(), ranks: (0..members).collect() }
            }
            _ => Placement::ByGroup { groups, starts: starts.to_vec() },
        };
        let time = if time_on_features && self.groups > 1 {
            self.chunks(starts)
        } else {
            structure.clone()
        };
        Placements { structure, time }
    }

    /// The rank that is asked about a snapshot of some time steps of a frame that are computed together: the
    /// members of a group are asked about as many of its snapshots each.
    ///
    /// # Panics
    /// If the snapshot is not one of them.
    pub fn answerer(self, structure: &Placement, steps: Range<usize>, step: usize) -> u32 {
        let group_of = |at: usize| structure.rank(0, at) / self.members;
        let group = group_of(step);
        // The steps of a group are consecutive.
        let own: Vec<usize> = steps.filter(|&at| group_of(at) == group).collect();
        let position = step - own[0];
        let mut parts = even_parts(own.len(), self.members as usize);
        let member =
            parts.position(|part| part.contains(&position)).expect("parts cover the steps");
        group * self.members + member as u32
    }

    /// The chunks of time encoders: those of each member, cut into one for each group.
    fn chunks(self, starts: &[u32]) -> Placement {
        let (mut cuts, mut ranks) = (vec![0], Vec::new());
        for (member, range) in starts.windows(2).enumerate() {
            let parts = even_parts((range[1] - range[0]) as usize, self.groups as usize);
            for (group, part) in parts.enumerate() {
                cuts.push(range[0] + part.end as u32);
                ranks.push(group as u32 * self.members + member as u32);
            }
        }
        Placement::ByVertex { starts: cuts, ranks }
    }
}

/// `count` things in `parts` consecutive parts whose sizes differ by at most one, larger ones
/// first.
pub fn even_parts(count: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let (size, larger) = (count / parts.max(1), count % parts.max(1));
    let start = move |part: usize| part * size + part.min(larger);
    (0..parts).map(move |part| start(part)..start(part + 1))
}

/// Where the vertices of each of `parts` ranks start, as evenly as can be, and the end.
pub fn even_starts(vertices: u32, parts: u32) -> Vec<u32> {
    let ends = even_parts(vertices as usize, parts as usize).map(|part| part.end as u32);
    std::iter::once(0).chain(ends).collect()
}

/// The blocks of a frame: `count` of them, or one a step if there are fewer steps.
pub fn blocks(steps: usize, count: usize) -> Vec<Range<usize>> {
    even_parts(steps, count.clamp(1, steps.max(1))).collect()
}

/// The group of each time step: contiguous and even inside each block (ESDG §4.2). What cannot
/// be even goes to another group in the next block, so that none has more of all of them.
fn spread_steps(blocks: &[Range<usize>], groups: u32) -> Vec<u32> {
    let (mut owners, mut next) = (Vec::new(), 0);
    let count = groups as usize;
    for block in blocks {
        let (size, larger) = (block.len() / count, block.len() % count);
        for group in 0..count {
            let extra = usize::from((group + count - next) % count < larger);
            owners.extend(std::iter::repeat_n(group as u32, size + extra));
        }
        next = (next + larger) % count;
    }
    owners
}
