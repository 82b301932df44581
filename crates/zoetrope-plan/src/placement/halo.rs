//! Halos: the rows of other ranks that a structure encoder gathers.
//!
//! Rank `p` needs the row of vertex `v` at time step `t` if `t` is one of its steps and an edge of
//! that snapshot leads from `v` to one of its vertices (ESDG §4.1, §6.4). The rows of a step after the
//! exchange are its own and those of others in *ascending order of vertices*, so that the entries
//! of a row of the matrix keep their order and sums stay what they are on one rank, bit by bit.

use std::ops::Range;

use zoetrope_graph::{Csr, GraphError, SnapshotView, VertexId};

use super::route::{Leg, Route, Rows};
use super::{Placement, Share};

/// What one snapshot has of a halo, whichever frame or piece it is in: made once for each snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHalo {
    /// Vertices of other ranks whose rows are needed, ascending.
    pub ghosts: Vec<VertexId>,
    /// How many of those come before the rank's own vertices.
    pub below: usize,
    own: Range<u32>,
    /// By member of the rank's group: the rank's vertices, counted from its first, whose rows that member needs.
    asked: Vec<Vec<u32>>,
}

impl SnapshotHalo {
    /// The halo of a rank with these vertices, of members whose vertices start there.
    pub fn of(view: SnapshotView<'_>, own: Range<u32>, starts: &[u32]) -> Self {
        let ghosts = ghosts(view, &own);
        let below = ghosts.partition_point(|&vertex| vertex < own.start);
        let mut seen = vec![0_u32; own.len()];
        let members = starts.windows(2).map(|pair| pair[0]..pair[1]);
        let asked = members.map(|other| {
            let mut rows = Vec::new();
            if other != own {
                asked_by(view, other, &own, &mut seen, |row| rows.push(row));
                rows.shrink_to_fit();
            }
            rows
        });
        Self { asked: asked.collect(), ghosts, below, own }
    }

    /// The halo of a rank among all ranks that vertices are divided between, as those of time encoders are.
    ///
    /// # Panics
    /// If the placement is by other things, or has no chunk of the rank.
    pub fn of_vertices(
        view: SnapshotView<'_>,
        placement: &Placement,
        vertices: u32,
        rank: u32,
    ) -> Self {
        let (starts, _) = placement.row_of_ranks(0, vertices);
        Self::of(view, placement.share(rank, vertices, 0..1).vertices, &starts)
    }

    /// Rows of the snapshot in the matrix after the exchange.
    pub fn rows(&self) -> usize {
        self.own.len() + self.ghosts.len()
    }

    /// The row of a vertex among those of the snapshot, if it is there.
    pub fn column(&self, vertex: VertexId) -> Option<u32> {
        if self.own.contains(&vertex) {
            return Some(vertex - self.own.start + self.below as u32);
        }
        let at = self.ghosts.binary_search(&vertex).ok()?;
        Some(if at < self.below { at } else { at + self.own.len() } as u32)
    }

    /// The rank's rows of a snapshot's matrix, whose columns are the rows after the exchange.
    ///
    /// # Errors
    /// [`GraphError`] if an entry's column is not among them: the matrix has edges that the halo was not made for.
    pub fn matrix(&self, whole: &Csr) -> Result<Csr, GraphError> {
        let first = whole.row_offsets()[self.own.start as usize];
        let end = whole.row_offsets()[self.own.end as usize];
        let entries = first as usize..end as usize;
        let offsets = &whole.row_offsets()[self.own.start as usize..=self.own.end as usize];
        let offsets = offsets.iter().map(|&offset| offset - first).collect();
        let missing = self.rows() as u32; // refused by the matrix as a column out of range
        let columns = whole.column_indices()[entries.clone()].iter();
        let columns = columns.map(|&vertex| self.column(vertex).unwrap_or(missing)).collect();
        let values = whole.values()[entries].to_vec();
        Csr::new(self.own.len() as u32, self.rows() as u32, offsets, columns, values)
    }

    /// The vertices whose rows are there after the exchange, in the order of the rows.
    pub fn vertices(&self) -> impl Iterator<Item = VertexId> {
        let (below, above) = self.ghosts.split_at(self.below);
        below.iter().copied().chain(self.own.clone()).chain(above.iter().copied())
    }
}

/// What a rank exchanges so that its structure encoders have all rows that they gather.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halo {
    /// The exchange, from the rank's own rows to those that its matrices multiply with.
    pub route: Route,
    /// The rank's time steps of the frame, and where the rows of each start in the matrix after the exchange.
    pub first_rows: Vec<(usize, usize)>,
}

impl Halo {
    /// The halo of a rank for some time steps of a frame; `of` has that of each of its snapshots, by time step of the
    /// frame.
    ///
    /// # Panics
    /// If the placement does not know the time steps or the ranks, or a snapshot's halo is one of other members.
    pub fn of_snapshots<'h>(
        placement: &Placement,
        vertices: u32,
        steps: Range<usize>,
        rank: u32,
        of: impl Fn(usize) -> &'h SnapshotHalo,
    ) -> Self {
        let share = placement.share(rank, vertices, steps);
        let own = share.vertices.clone();
        let mut legs = Legs::default();
        let mut first_rows = Vec::with_capacity(share.steps.len());
        let (mut kept, mut rows_after) = (Vec::with_capacity(share.rows()), 0);
        for (at, &step) in share.steps.iter().enumerate() {
            let halo = of(step);
            assert_eq!(halo.own, own, "the halo of this rank");
            let (starts, ranks) = placement.row_of_ranks(step, vertices);
            let members = starts.windows(2).zip(&ranks).zip(&halo.asked);
            for ((range, &peer), asked) in members.filter(|&((_, &peer), _)| peer != rank) {
                let base = (at * own.len()) as u32;
                legs.sends.of(peer).extend(asked.iter().map(|row| base + row));
                let first = halo.ghosts.partition_point(|&vertex| vertex < range[0]);
                let end = halo.ghosts.partition_point(|&vertex| vertex < range[1]);
                let shift = if first < halo.below { 0 } else { own.len() } + rows_after;
                legs.receives.of(peer).extend((first..end).map(|ghost| (ghost + shift) as u32));
            }
            kept.extend((0..own.len()).map(|row| (rows_after + halo.below + row) as u32));
            first_rows.push((step, rows_after));
            rows_after += halo.rows();
        }
        Self { route: legs.route(&share, rows_after, kept), first_rows }
    }
}

/// Vertices outside `own` from which an edge leads into it, ascending.
fn ghosts(view: SnapshotView<'_>, own: &Range<u32>) -> Vec<VertexId> {
    let into = edges_into(view, own);
    let mut ghosts: Vec<VertexId> =
        view.src[into].iter().copied().filter(|vertex| !own.contains(vertex)).collect();
    ghosts.sort_unstable();
    ghosts.dedup();
    ghosts
}

/// Calls `each` with every vertex of `own`, counted from its start and ascending, from which an
/// edge leads into `other`. `asked` is scratch of zeros, and is so again afterwards.
fn asked_by(
    view: SnapshotView<'_>,
    other: Range<u32>,
    own: &Range<u32>,
    asked: &mut [u32],
    each: impl FnMut(u32),
) {
    let mut found = Vec::new();
    for &vertex in &view.src[edges_into(view, &other)] {
        let row = vertex.wrapping_sub(own.start);
        if own.contains(&vertex) && std::mem::replace(&mut asked[row as usize], 1) == 0 {
            found.push(row);
        }
    }
    found.sort_unstable();
    found.iter().for_each(|&row| asked[row as usize] = 0);
    found.into_iter().for_each(each);
}

/// Edges that end in a range of vertices; edges are ordered by where they end.
fn edges_into(view: SnapshotView<'_>, vertices: &Range<u32>) -> Range<usize> {
    let before = |end: u32| view.dst.partition_point(|&vertex| vertex < end);
    before(vertices.start)..before(vertices.end)
}

/// Rows by peer while they are found.
#[derive(Default)]
struct Legs {
    sends: ByPeer,
    receives: ByPeer,
}

#[derive(Default)]
struct ByPeer(std::collections::BTreeMap<u32, Vec<u32>>);

impl ByPeer {
    fn of(&mut self, peer: u32) -> &mut Vec<u32> {
        self.0.entry(peer).or_default()
    }

    fn legs(self) -> Vec<Leg> {
        let some = self.0.into_iter().filter(|(_, rows)| !rows.is_empty());
        some.map(|(peer, rows)| Leg { peer, rows: Rows::Listed(rows) }).collect()
    }
}

impl Legs {
    fn route(self, share: &Share, rows_after: usize, kept: Vec<u32>) -> Route {
        let length = share.rows();
        Route {
            rows_before: length,
            rows_after,
            sends: self.sends.legs(),
            receives: self.receives.legs(),
            kept_before: Rows::Strided { first: 0, length, stride: length, count: 1 },
            kept_after: if rows_after == length {
                Rows::Strided { first: 0, length, stride: length, count: 1 }
            } else {
                Rows::Listed(kept)
            },
        }
    }
}
