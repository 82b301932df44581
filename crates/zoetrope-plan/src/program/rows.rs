//! Rows that leave a rank in the exchanges of a piece.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use zoetrope_graph::{GraphError, SnapshotSequence, SnapshotView};

use crate::partition::{Renaming, visit_renamed};
use crate::placement::expected::Expected;
use crate::placement::grid::{Grid, even_parts};
use crate::placement::halo::{Halo, SnapshotHalo};
use crate::placement::route::Route;
use crate::placement::{Placement, Placements};
use crate::plan::frame_plan::FramePlan;
use crate::plan::sharing::Overlap;
use crate::volume;

use super::facts::{FrameFacts, ModelStage, StageRole};

/// How the ranks of a plan share the cells of a frame.
pub(super) struct Cells<'g> {
    grid: Grid,
    ranks: u32,
    rank: u32,
    vertices: u32,
    starts: Vec<u32>,
    renaming: Option<Renaming>,
    graph: &'g SnapshotSequence,
    /// What is known of a snapshot whose vertices are shared, by its number.
    known: RefCell<HashMap<usize, Known>>,
    overlap: Option<Overlap>,
    /// How so many vertices are cut into a number of pieces.
    cut: Box<dyn Fn(usize, usize) -> Vec<Range<usize>>>,
    /// Whether the model describes the last snapshot of a frame only.
    describes_last: bool,
    /// Whether time encoders multiply with the graph.
    gathers_in_time: bool,
}

/// What a rank has of a snapshot whose vertices are shared.
struct Known {
    halo: SnapshotHalo,
    /// Edges into its vertices.
    edges: u64,
}

/// Rows that leave in one exchange, and that come, whose gradients leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowsOut {
    pub(super) forward: u64,
    pub(super) backward: u64,
}

/// What a rank has of a piece, and what it exchanges.
pub(super) struct PieceRows {
    /// The snapshots of its structure encoders, counted from the start of the frame.
    pub(super) own_steps: Range<usize>,
    /// The vertices of its structure encoders.
    pub(super) vertices: u64,
    /// The vertices of its time encoders.
    pub(super) time_vertices: u64,
    /// The snapshots that it answers for, counted from the start of the frame.
    pub(super) answers: Range<usize>,
    /// The edges into its vertices, by own snapshot.
    pub(super) edges: Vec<u64>,
    pub(super) halo: Option<RowsOut>,
    pub(super) to_time: Option<RowsOut>,
    /// The same part by part and piece by piece, if rows move beside computing.
    pub(super) beside: Option<Beside>,
    pub(super) to_answers: Option<RowsOut>,
    /// Rows that time encoders gather, by snapshot of the piece; nothing if they do not or all rows are here.
    pub(super) in_time: Vec<RowsOut>,
    /// Who shares the snapshots, if anybody.
    pub(super) together: Option<Together>,
}

/// Rows that move beside computing: from parts of the snapshots of each rank to pieces of its vertices.
#[derive(Debug, Clone)]
pub(super) struct Beside {
    pub(super) overlap: Overlap,
    rank: usize,
    /// By rank, its snapshots and the vertices of its pieces.
    shares: Vec<(usize, Vec<usize>)>,
}

impl Beside {
    /// The rows that move from a part to a piece, each the number of one and how many there are of its kind.
    pub(super) fn to_time(&self, part: [usize; 2], piece: [usize; 2]) -> RowsOut {
        let steps = |rank: usize| {
            let [number, of] = part;
            even_parts(self.shares[rank].0, of).nth(number).map_or(0, |range| range.len()) as u64
        };
        let vertices = |rank: usize| self.vertices(rank, piece);
        let others = || (0..self.shares.len()).filter(|&rank| rank != self.rank);
        RowsOut {
            forward: steps(self.rank) * others().map(vertices).sum::<u64>(),
            backward: others().map(steps).sum::<u64>() * vertices(self.rank),
        }
    }

    fn vertices(&self, rank: usize, [number, of]: [usize; 2]) -> u64 {
        let pieces = &self.shares[rank].1;
        (if of == 1 { pieces.iter().sum::<usize>() } else { pieces[number] }) as u64
    }

    /// The vertices of one of the rank's pieces.
    pub(super) fn own_vertices(&self, piece: [usize; 2]) -> u64 {
        self.vertices(self.rank, piece)
    }
}

/// The ranks that share a piece.
#[derive(Debug, Clone)]
pub(super) struct Together {
    pub(super) ranks: usize,
    pub(super) rank: usize,
    /// The vertices of each member of a group.
    members: Vec<usize>,
    member: usize,
    own_steps: u64,
    steps: u64,
}

impl Together {
    /// Rows that leave for all other ranks if each member sends its `count` best of every snapshot.
    pub(super) fn best(&self, count: usize) -> RowsOut {
        let of = |vertices: &usize| count.min(*vertices) as u64;
        let own = self.own_steps * of(&self.members[self.member]);
        let all = self.steps * self.members.iter().map(of).sum::<u64>();
        RowsOut { forward: own * (self.ranks as u64 - 1), backward: all - own }
    }
}

fn out(route: &Route) -> RowsOut {
    let rows = |legs: &[crate::Leg]| legs.iter().map(|leg| leg.rows.len() as u64).sum();
    RowsOut { forward: rows(&route.sends), backward: rows(&route.receives) }
}

impl<'g> Cells<'g> {
    /// None if ranks do not share cells.
    pub(super) fn of(plan: &FramePlan, rank: usize, facts: &FrameFacts<'g>) -> Option<Self> {
        let cells = plan.cells()?;
        let graph = facts.graph;
        let gathers_in_time = |stage: &ModelStage| stage.role == StageRole::HaloInTime;
        let (ranks, vertices) = (plan.head.ranks as u32, plan.head.vertices as u32);
        let renaming = cells.renaming(ranks);
        Some(Self {
            grid: cells.grid(ranks),
            ranks,
            rank: rank as u32,
            vertices,
            starts: cells.starts(vertices, renaming.as_ref()),
            renaming,
            graph,
            known: RefCell::default(),
            overlap: cells.overlap(),
            cut: {
                let (cut, width) = (facts.pieces, facts.width);
                Box::new(move |vertices, count| cut(vertices, width, count))
            },
            describes_last: facts.describes_last,
            gathers_in_time: facts.stages.iter().any(gathers_in_time),
        })
    }

    /// Looks at snapshots that were not looked at yet.
    fn look(&self, steps: Range<usize>) {
        let (own, mut known) = (self.own_vertices(), self.known.borrow_mut());
        for step in steps {
            if known.contains_key(&step) {
                continue;
            }
            let look = |_, view: SnapshotView<'_>| {
                let before = |end: u32| view.dst.partition_point(|&dst| dst < end);
                let edges = (before(own.end) - before(own.start)) as u64;
                let halo = SnapshotHalo::of(view, own.clone(), &self.starts);
                known.insert(step, Known { halo, edges });
                Ok::<_, GraphError>(())
            };
            let looked = visit_renamed(self.graph, self.renaming.as_ref(), step..step + 1, look);
            looked.expect("the plan was made for this graph");
        }
    }

    /// What to expect of some snapshots of which only sizes are known: rows that move, and edges of each.
    fn expected(&self, steps: Range<usize>) -> (RowsOut, Vec<u64>) {
        let (mut rows, mut edges) = (RowsOut { forward: 0, backward: 0 }, Vec::new());
        let own = self.own_vertices();
        for expected in steps.filter_map(|step| Expected::of(self.graph, step)) {
            let [sent, received] = expected.sent_and_received(&self.starts, self.member());
            rows.forward += sent;
            rows.backward += received;
            edges.push(expected.edges_into(own.start, own.end));
        }
        (rows, edges)
    }

    /// What time encoders gather at a snapshot of a frame that begins at `start`.
    fn halo_in_time(&self, time: &Placement, start: usize, step: usize) -> RowsOut {
        let (vertices, rank) = (self.vertices, self.rank);
        let (mut found, at) = (None, start + step);
        if let Some(expected) = Expected::of(self.graph, at) {
            let units = volume::expected_halo(time, vertices, self.ranks, expected);
            return RowsOut {
                forward: units.sent[rank as usize],
                backward: units.received[rank as usize],
            };
        }
        let looked = visit_renamed(self.graph, self.renaming.as_ref(), at..at + 1, |_, view| {
            let halo = SnapshotHalo::of_vertices(view, time, vertices, rank);
            let route = Halo::of_snapshots(time, vertices, step..step + 1, rank, |_| &halo).route;
            found = Some(out(&route));
            Ok::<_, GraphError>(())
        });
        looked.expect("the plan was made for this graph");
        found.expect("the snapshot was shown")
    }

    fn member(&self) -> usize {
        (self.rank % self.grid.members) as usize
    }

    fn own_vertices(&self) -> Range<u32> {
        self.starts[self.member()]..self.starts[self.member() + 1]
    }

    /// Whether rows of other ranks are gathered for all snapshots of a piece at once.
    pub(super) fn splits_snapshots(&self) -> bool {
        self.grid.members > 1
    }

    /// The snapshots of the rank's structure encoders among some of a frame, counted from its start.
    pub(super) fn own_steps(&self, placements: &Placements, within: Range<usize>) -> Range<usize> {
        let steps = placements.structure.share(self.rank, self.vertices, within.clone()).steps;
        let first = steps.first().copied().unwrap_or(within.start);
        first..first + steps.len()
    }

    /// What the rank has of some snapshots of a frame that begins at `start`.
    pub(super) fn piece(
        &self,
        placements: &Placements,
        start: usize,
        within: Range<usize>,
    ) -> PieceRows {
        let Placements { structure, time } = placements;
        let (rank, ranks, vertices) = (self.rank, self.ranks, self.vertices);
        let own_steps = self.own_steps(placements, within.clone());
        let time_vertices = time.share(rank, vertices, within.clone()).vertices.len() as u64;
        let steps = start + own_steps.start..start + own_steps.end;
        let (halo, edges) = if self.splits_snapshots() && self.graph.counts().is_some() {
            let (rows, edges) = self.expected(steps);
            (Some(rows), edges)
        } else if self.splits_snapshots() {
            self.look(steps.clone());
            let known = self.known.borrow();
            let of = |step: usize| &known[&(start + step)].halo;
            let halo = Halo::of_snapshots(structure, vertices, within.clone(), rank, of);
            (Some(out(&halo.route)), steps.map(|step| known[&step].edges).collect())
        } else {
            (None, steps.map(|step| self.graph.edges_at(step) as u64).collect())
        };
        let moves = structure != time;
        let to_time = moves.then(|| {
            let [forward, backward] =
                volume::redistribution_of(structure, time, vertices, within.clone(), rank);
            RowsOut { forward, backward }
        });
        let overlap = self.overlap.filter(|_| moves && halo.is_none());
        let (answers, to_answers) = if self.describes_last {
            self.last_answer(placements, &within)
        } else {
            self.answers(&own_steps)
        };
        let in_time = if self.gathers_in_time {
            within.clone().map(|step| self.halo_in_time(time, start, step)).collect()
        } else {
            Vec::new()
        };
        let together = Together {
            ranks: ranks as usize,
            rank: rank as usize,
            members: self.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).collect(),
            member: self.member(),
            own_steps: own_steps.len() as u64,
            steps: within.len() as u64,
        };
        PieceRows {
            in_time,
            together: Some(together),
            beside: overlap.map(|overlap| self.beside(overlap, placements, &within)),
            own_steps,
            vertices: self.own_vertices().len() as u64,
            time_vertices,
            answers,
            edges,
            halo,
            to_time,
            to_answers,
        }
    }

    /// What each rank has of both ends.
    fn beside(&self, overlap: Overlap, placements: &Placements, within: &Range<usize>) -> Beside {
        let share = |rank: u32| {
            let steps = placements.structure.share(rank, self.vertices, within.clone()).steps;
            let time = placements.time.share(rank, self.vertices, within.clone()).vertices;
            let pieces = (self.cut)(time.len(), overlap.pieces);
            (steps.len(), pieces.iter().map(Range::len).collect())
        };
        Beside { overlap, rank: self.rank as usize, shares: (0..self.ranks).map(share).collect() }
    }

    /// The same if the last snapshot is described by the ranks of its vertices' time encoders.
    fn last_answer(
        &self,
        placements: &Placements,
        within: &Range<usize>,
    ) -> (Range<usize>, Option<RowsOut>) {
        let last = within.end - 1;
        let share = |rank| placements.time.share(rank, self.vertices, last..last + 1).vertices;
        let own = share(self.rank).len() as u64;
        if self.grid.answerer(&placements.structure, within.clone(), last) == self.rank {
            let rows = RowsOut { forward: 0, backward: u64::from(self.vertices) - own };
            return (last..last + 1, Some(rows));
        }
        (last..last, Some(RowsOut { forward: own, backward: 0 }))
    }

    /// The snapshots that this rank answers for, and the exchange that brings all of their rows.
    fn answers(&self, own: &Range<usize>) -> (Range<usize>, Option<RowsOut>) {
        let members = self.grid.members as usize;
        if members == 1 {
            return (own.clone(), None);
        }
        let asked: Vec<Range<usize>> = even_parts(own.len(), members).collect();
        let mine = &asked[self.member()];
        let own_vertices = self.own_vertices().len() as u64;
        let rows = RowsOut {
            forward: (own.len() - mine.len()) as u64 * own_vertices,
            backward: mine.len() as u64 * (u64::from(self.vertices) - own_vertices),
        };
        (own.start + mine.start..own.start + mine.end, Some(rows))
    }
}
