//! Volumes of communication, as formulas.
//!
//! A *unit* is one row of features: one vertex at one time step. What a rank sends to itself does not
//! count ("excluding self-communication", ESDG §6.4). Bytes are units × width × 4.
//!
//! - Redistribution (§4.2): all cells less those that stay, `T·N − Σ_p |S_p ∩ S'_p|·|V_p ∩ V'_p|`. For
//!   snapshots spread evenly over `P` ranks that is `T·N·(P−1)/P`; if `T` is no multiple of `P` it is
//!   `T·N − Σ_p T_p·N_p`, which the first formula gives too.
//! - Vertex partitioning (§4.1): `Σ_t Σ_v λ_t(v)`, where `λ_t(v)` is the number of ranks *other than the
//!   owner of `v`* that own a vertex to which an edge of snapshot `t` leads from `v`.
//! - Answers: the members of a group, who have some vertices of all of its snapshots, get all vertices
//!   of some of them, `Σ_m T_m·(N − N_m)`: of even members `T·N·(members−1)/members`.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::SnapshotView;

use crate::placement::expected::Expected;
use crate::placement::grid::{Grid, even_parts};
use crate::placement::{Placement, Placements};

/// Units that move, by rank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Units {
    /// Units that each rank sends.
    pub sent: Vec<u64>,
    /// Units that each rank receives.
    pub received: Vec<u64>,
}

impl Units {
    fn none(ranks: u32) -> Self {
        Self { sent: vec![0; ranks as usize], received: vec![0; ranks as usize] }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.sent.iter().sum()
    }

    /// The most that one rank sends or receives.
    pub fn busiest(&self) -> u64 {
        self.sent.iter().chain(&self.received).copied().max().unwrap_or(0)
    }
}

/// The units of one redistribution of some time steps of a frame.
///
/// # Panics
/// If a placement does not know the time steps or the ranks.
pub fn redistribution(
    from: &Placement,
    to: &Placement,
    vertices: u32,
    steps: Range<usize>,
    ranks: u32,
) -> Units {
    let mut units = Units::none(ranks);
    for rank in 0..ranks {
        let [sent, received] = redistribution_of(from, to, vertices, steps.clone(), rank);
        units.sent[rank as usize] = sent;
        units.received[rank as usize] = received;
    }
    units
}

/// The units that one rank sends and receives in a redistribution: all of its cells less those that stay, whoever the
/// others are. Looking at every pair of ranks instead would take a thousand ranks a thousand times as long.
///
/// # Panics
/// If a placement does not know the time steps or the rank.
pub(crate) fn redistribution_of(
    from: &Placement,
    to: &Placement,
    vertices: u32,
    steps: Range<usize>,
    rank: u32,
) -> [u64; 2] {
    let before = from.share(rank, vertices, steps.clone());
    let after = to.share(rank, vertices, steps);
    let both = before.vertices.start.max(after.vertices.start)
        ..before.vertices.end.min(after.vertices.end);
    let common = before.steps.iter().filter(|step| after.steps.binary_search(step).is_ok());
    let stays = common.count() * both.len();
    [(before.rows() - stays) as u64, (after.rows() - stays) as u64]
}

/// The units that make whole snapshots of the rows of a group's members, who are asked about as many
/// snapshots each, over some time steps of a frame.
///
/// # Panics
/// If the placement does not know the time steps.
pub fn answers(placement: &Placement, grid: Grid, vertices: u32, steps: Range<usize>) -> Units {
    let mut units = Units::none(grid.ranks());
    for rank in 0..grid.ranks() {
        let share = placement.share(rank, vertices, steps.clone());
        let (members, member) = (grid.members as usize, (rank % grid.members) as usize);
        let own = share.vertices.len();
        let asked = even_parts(share.steps.len(), members).nth(member).map_or(0, |part| part.len());
        units.sent[rank as usize] = ((share.steps.len() - asked) * own) as u64;
        units.received[rank as usize] = (asked * (vertices as usize - own)) as u64;
    }
    units
}

/// The units that make one whole snapshot, the last of some time steps of a frame, of the rows of time encoders:
/// `N` less those of the rank that is asked.
///
/// # Panics
/// If a placement does not know the time steps.
pub fn last_answers(
    placements: &Placements,
    grid: Grid,
    vertices: u32,
    steps: Range<usize>,
) -> Units {
    let mut units = Units::none(grid.ranks());
    let Some(last) = steps.clone().last() else { return units };
    let asked = grid.answerer(&placements.structure, steps, last);
    for rank in (0..grid.ranks()).filter(|&rank| rank != asked) {
        let own = placements.time.share(rank, vertices, last..last + 1).vertices.len() as u64;
        units.sent[rank as usize] = own;
        units.received[asked as usize] += own;
    }
    units
}

/// What to expect of [`halo`] for one snapshot of which only the number of edges is known.
pub(crate) fn expected_halo(
    placement: &Placement,
    vertices: u32,
    ranks: u32,
    expected: Expected,
) -> Units {
    let mut units = Units::none(ranks);
    let (starts, owners) = placement.row_of_ranks(0, vertices);
    for (at, &rank) in owners.iter().enumerate() {
        let [sent, received] = expected.sent_and_received(&starts, at);
        units.sent[rank as usize] += sent;
        units.received[rank as usize] += received;
    }
    units
}

/// The units that the structure encoders of one layer gather over some time steps of a frame,
/// whose snapshots `graph` gives by time step of the frame.
///
/// One pass over the edges.
///
/// # Panics
/// If a placement does not know the time steps or the vertices.
pub fn halo<'g>(
    placement: &Placement,
    vertices: u32,
    steps: Range<usize>,
    ranks: u32,
    graph: impl Fn(usize) -> SnapshotView<'g>,
) -> Units {
    let mut units = Units::none(ranks);
    let mut owner = vec![0_u32; vertices as usize];
    let mut owners_of = (Vec::new(), Vec::new());
    let mut asked = vec![u64::MAX; vertices as usize];
    for step in steps {
        let row = placement.row_of_ranks(step, vertices);
        if row != owners_of {
            for (range, &rank) in row.0.windows(2).zip(&row.1) {
                owner[range[0] as usize..range[1] as usize].fill(rank);
            }
            owners_of = row;
        }
        if owners_of.1.len() == 1 {
            continue;
        }
        // Edges are ordered by where they end, ranks by their vertices: all edges into one rank
        // follow each other, so the last rank that asked for a row is all there is to remember.
        let view = graph(step);
        for (&src, &dst) in view.src.iter().zip(view.dst) {
            let (sender, receiver) = (owner[src as usize], owner[dst as usize]);
            let question = (step as u64) << 32 | u64::from(receiver);
            if sender != receiver
                && std::mem::replace(&mut asked[src as usize], question) != question
            {
                units.sent[sender as usize] += 1;
                units.received[receiver as usize] += 1;
            }
        }
    }
    units
}
