//! Ranks that share the cells of frames, and which cells of a frame each of them has.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_dist::{Exchange, ExchangePlan, Ranks, RowList};
use zoetrope_nn::VertexNumbers;
use zoetrope_nn::frame::part_of;
use zoetrope_plan::placement::grid::even_parts;
use zoetrope_plan::placement::route::{Leg, Rows};
use zoetrope_plan::{Blocks, FramePlan, Grid, Overlap, Placements, Renaming, Route};
use zoetrope_tensor::{TensorError, sequence_pieces};

use super::piece::Piece;

/// The ranks of a run and how they share its frames.
#[derive(Debug, Clone)]
pub struct FrameSharing {
    /// This rank's handle.
    pub ranks: Ranks,
    /// Groups that share time steps × members that share vertices.
    pub grid: Grid,
    /// Where the vertices of each member start, and the end of the last ones.
    pub starts: Vec<u32>,
    /// New numbers of the vertices, so that each member owns consecutive ones; None if they can
    /// stay.
    pub renaming: Option<Arc<Renaming>>,
    /// Whether time encoders work on rows of vertices.
    pub time_on_features: bool,
    /// The blocks of a frame, over each of which all ranks are spread.
    pub blocks: Blocks,
    /// How rows are redistributed beside computing, if they are.
    pub overlap: Option<Overlap>,
}

impl FrameSharing {
    /// How the ranks of a plan share cells, as it says; None if they do not.
    pub fn of(plan: &FramePlan, ranks: &Ranks) -> Option<Self> {
        let cells = plan.cells()?;
        let size = plan.head.ranks as u32;
        let renaming = cells.renaming(size).map(Arc::new);
        Some(Self {
            ranks: ranks.clone(),
            grid: cells.grid(size),
            starts: cells.starts(plan.head.vertices as u32, renaming.as_deref()),
            renaming,
            time_on_features: cells.time_on_features,
            blocks: plan.blocks,
            overlap: cells.overlap(),
        })
    }

    pub(super) fn rank(&self) -> u32 {
        self.ranks.rank() as u32
    }

    pub(super) fn size(&self) -> u32 {
        self.ranks.size() as u32
    }

    pub(super) fn vertices(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The vertices of this rank's structure encoders, by their new numbers.
    pub(super) fn own_vertices(&self) -> Range<u32> {
        let member = (self.rank() % self.grid.members) as usize;
        self.starts[member]..self.starts[member + 1]
    }

    /// The number of a vertex in the data.
    pub(super) fn old(&self, new: u32) -> u32 {
        self.renaming.as_ref().map_or(new, |renaming| renaming.old_of_new()[new as usize])
    }

    /// Where the cells of a frame of so many steps are.
    pub(super) fn placements(&self, steps: usize) -> Placements {
        let blocks = self.blocks.of(0..steps);
        self.grid.placements(&self.starts, &blocks, self.time_on_features)
    }

    /// The steps of a piece whose structure encoders run here, counted from the start of its frame.
    pub(super) fn own_steps(&self, placements: &Placements, piece: &Piece) -> Range<usize> {
        self.steps_of(placements, self.rank(), piece.within())
    }

    /// The same of any rank.
    fn steps_of(&self, placements: &Placements, rank: u32, within: Range<usize>) -> Range<usize> {
        let share = placements.structure.share(rank, self.vertices(), within.clone());
        debug_assert!(share.steps.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        let first = share.steps.first().copied().unwrap_or(within.start);
        first..first + share.steps.len()
    }

    pub(super) fn exchange(&self, route: &Route) -> Exchange {
        let by_rank = |legs: &[Leg], kept: &Rows| -> Arc<[RowList]> {
            let mut lists = vec![RowList::default(); self.size() as usize];
            lists[self.ranks.rank()] = row_list(kept);
            for leg in legs {
                lists[leg.peer as usize] = row_list(&leg.rows);
            }
            lists.into()
        };
        let sends = by_rank(&route.sends, &route.kept_before);
        let receives = by_rank(&route.receives, &route.kept_after);
        self.exchange_of([route.rows_before, route.rows_after], sends, receives)
    }

    fn exchange_of(
        &self,
        rows: [usize; 2],
        sends: Arc<[RowList]>,
        receives: Arc<[RowList]>,
    ) -> Exchange {
        let plan = ExchangePlan::of_lists(self.ranks.rank(), rows, sends, receives);
        Exchange::new(&self.ranks, plan.expect("placements give lists that fit each other"))
    }

    /// From the cells of structure encoders to those of time encoders; None if they are the same.
    pub(super) fn to_time(&self, placements: &Placements, piece: &Piece) -> Option<Exchange> {
        let Placements { structure, time } = placements;
        (structure != time).then(|| {
            let (vertices, within) = (self.vertices(), piece.within());
            let ranks = self.size();
            self.exchange(&Route::between(structure, time, vertices, within, ranks, self.rank()))
        })
    }

    /// The pieces of the vertices of each rank's time encoders, whose states are so wide.
    pub fn pieces(&self, vertices: usize, width: usize) -> Vec<Range<usize>> {
        sequence_pieces(vertices, width, self.overlap.map_or(1, |overlap| overlap.pieces))
    }

    /// From the snapshots of each rank, in `parts` parts, to the vertices of each rank, in `pieces` pieces, for each
    /// pair of a part and a piece: by part, then by piece. Ranks have whole snapshots.
    pub(super) fn to_time_in_parts(
        &self,
        placements: &Placements,
        piece: &Piece,
        parts: usize,
        pieces: &dyn Fn(usize) -> Vec<Range<usize>>,
    ) -> Vec<Vec<Exchange>> {
        let (within, vertices, own) = (piece.within(), self.vertices(), self.ranks.rank());
        let share = |rank: u32| {
            let steps = self.steps_of(placements, rank, within.clone());
            let time = placements.time.share(rank, vertices, within.clone()).vertices;
            let of_rank = time.start as usize;
            let cut = pieces(time.len()).into_iter();
            let cut = cut.map(move |one| of_rank + one.start..of_rank + one.end);
            (steps, cut.collect::<Vec<_>>())
        };
        let shares: Vec<(Range<usize>, Vec<Range<usize>>)> = (0..self.size()).map(share).collect();
        let part_of_rank = |rank: usize, part: usize| {
            let steps = &shares[rank].0;
            let own = part_of(steps.len(), parts, part);
            steps.start - within.start + own.start..steps.start - within.start + own.end
        };
        let all = vertices as usize;
        let exchange = |part: usize, number: usize| {
            let sent = part_of_rank(own, part).len();
            let sends = shares.iter().map(|(_, pieces)| {
                let to = &pieces[number];
                RowList::strided(to.start, to.len(), all, sent)
            });
            let mine = shares[own].1[number].len();
            let receives = (0..shares.len()).map(|rank| {
                let steps = part_of_rank(rank, part);
                RowList::strided(steps.start * mine, mine, mine, steps.len())
            });
            let rows = [sent * all, within.len() * mine];
            self.exchange_of(rows, sends.collect(), receives.collect())
        };
        let count = shares[own].1.len();
        let of_part = |part| (0..count).map(|number| exchange(part, number)).collect();
        (0..parts).map(of_part).collect()
    }

    /// Which snapshots of a piece are answered for here, and the exchange that brings all of their
    /// rows, in the order of the data; None if they are here already.
    ///
    /// The members of a group have some vertices of all of its snapshots. For what is asked of
    /// snapshots, the same for every task, each member gets all vertices of some of them.
    pub(super) fn to_answers(&self, own: &Range<usize>) -> (Range<usize>, Option<Exchange>) {
        let members = self.grid.members;
        if members == 1 {
            return (own.clone(), None);
        }
        let (rank, all) = (self.rank(), self.vertices() as usize);
        let (group, member) = (rank / members, (rank % members) as usize);
        let asked: Vec<Range<usize>> = even_parts(own.len(), members as usize).collect();
        let mine = self.own_vertices();
        let empty = || vec![RowList::default(); self.size() as usize];
        let (mut sends, mut receives) = (empty(), empty());
        for (other, steps) in asked.iter().enumerate() {
            let peer = (group * members) as usize + other;
            let first = steps.start * mine.len();
            sends[peer] = RowList::strided(first, mine.len(), mine.len(), steps.len());
            let theirs = self.starts[other]..self.starts[other + 1];
            let places = (0..asked[member].len()).flat_map(|step| {
                theirs.clone().map(move |vertex| (step * all) as u32 + self.old(vertex))
            });
            receives[peer] = RowList::new(&places.collect::<Vec<u32>>());
        }
        let rows = [own.len() * mine.len(), asked[member].len() * all];
        let steps = own.start + asked[member].start..own.start + asked[member].end;
        (steps, Some(self.exchange_of(rows, sends.into(), receives.into())))
    }

    /// The same for models that describe the last snapshot of a frame only, each vertex on the rank of its time
    /// encoder: the rank that is asked about that snapshot gets all of its rows.
    pub(super) fn last_to_answers(
        &self,
        placements: &Placements,
        piece: &Piece,
    ) -> (Range<usize>, Option<Exchange>) {
        let (within, all) = (piece.within(), self.vertices() as usize);
        let last = within.end - 1;
        let asked = self.answerer(piece, piece.steps.end - 1);
        let is_asked = asked == self.ranks.rank();
        let share = |rank| placements.time.share(rank, self.vertices(), within.clone()).vertices;
        let own = share(self.rank());
        let empty = || vec![RowList::default(); self.size() as usize];
        let (mut sends, mut receives) = (empty(), empty());
        sends[asked] = RowList::all(own.len());
        if is_asked {
            for (rank, places) in receives.iter_mut().enumerate() {
                let rows: Vec<u32> = share(rank as u32).map(|vertex| self.old(vertex)).collect();
                *places = RowList::new(&rows);
            }
        }
        let rows = [own.len(), if is_asked { all } else { 0 }];
        let exchange = self.exchange_of(rows, sends.into(), receives.into());
        (last..last + usize::from(is_asked), Some(exchange))
    }

    /// Brings `count` chosen rows of each snapshot of each rank, or all if there are fewer vertices, to all
    /// ranks: by snapshot, then by rank.
    pub(super) fn to_all(&self, placements: &Placements, piece: &Piece, count: usize) -> Exchange {
        let within = piece.within();
        let members = self.grid.members as usize;
        let chosen =
            |member: usize| count.min((self.starts[member + 1] - self.starts[member]) as usize);
        let (mut places, mut of_step) = (Vec::with_capacity(members), 0);
        for member in 0..members {
            places.push(of_step..of_step + chosen(member));
            of_step += chosen(member);
        }
        let own = self.own_steps(placements, piece).len() * chosen(self.rank() as usize % members);
        let sends = vec![RowList::all(own); self.size() as usize];
        let mut receives: Vec<Vec<u32>> = vec![Vec::new(); self.size() as usize];
        for (at, step) in within.clone().enumerate() {
            let group = placements.structure.rank(0, step) as usize / members * members;
            for (member, place) in places.iter().enumerate() {
                let rows = place.clone().map(|row| (at * of_step + row) as u32);
                receives[group + member].extend(rows);
            }
        }
        let receives: Vec<RowList> = receives.iter().map(|rows| RowList::new(rows)).collect();
        self.exchange_of([own, within.len() * of_step], sends.into(), receives.into())
    }

    /// The rank that has the rows of a snapshot of a piece when it is asked about.
    ///
    /// # Panics
    /// If the piece does not have it.
    pub fn answerer(&self, piece: &Piece, step: usize) -> usize {
        let within = step - piece.frame.start;
        let structure = self.placements(piece.frame.len()).structure;
        self.grid.answerer(&structure, piece.within(), within) as usize
    }

    /// The vertices that a rank has, by their numbers in the data.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn numbers(
        &self,
        placements: &Placements,
        piece: &Piece,
    ) -> Result<VertexNumbers, TensorError> {
        let time = placements.time.share(self.rank(), self.vertices(), piece.within()).vertices;
        let of = |vertices: Range<u32>| vertices.map(|new| self.old(new)).collect();
        VertexNumbers::new(self.vertices() as usize, of(self.own_vertices()), of(time))
    }
}

/// Rows of a route as an exchange keeps them.
fn row_list(rows: &Rows) -> RowList {
    match *rows {
        Rows::Strided { first, length, stride, count } => {
            RowList::strided(first, length, stride, count)
        }
        Rows::Listed(ref rows) => RowList::new(rows),
    }
}
