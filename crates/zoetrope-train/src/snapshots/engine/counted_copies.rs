//! About the bytes that go to a GPU piece by piece, if only sizes of the graph are known.
//!
//! The same walk as [`SentBytes`](super::SentBytes), snapshot by snapshot, with the words of each estimated: no vertex
//! has more edges than a slice of rows takes, values of unweighted edges follow from degrees (16 bits name one),
//! a difference holds the edges that are new and those that are gone, with a byte each for when, weights change only
//! with their edges, and between snapshots that do not follow each other all edges change that changed on the way.

use std::cell::RefCell;
use std::ops::Range;

use zoetrope_graph::{Difference, SnapshotCounts, SnapshotSequence};
use zoetrope_nn::Adjacency;
use zoetrope_plan::placement::grid::even_starts;
use zoetrope_plan::{Coding, CopySizes, FramePlan, ModelStage, Residency, StageRole};
use zoetrope_tensor::cuda::RowWindow;

use super::StateSize;

/// Rows of a slice.
const SLICE: u64 = 32;
/// Words that a matrix says of itself, and those that a packet and each of its snapshots do.
const HEADER: u64 = 16;
const PACKET: u64 = 24;
const SNAPSHOT: u64 = 8;
/// As `cuda::spmm::coded`: differences have to save as many bytes in a group.
const SAVED_BYTES_MIN: u64 = 2 << 20;

/// What is sent for the pieces of a run, one after the other.
#[derive(Debug)]
pub(crate) struct CountedCopies<'g> {
    graph: &'g SnapshotSequence,
    counts: &'g SnapshotCounts,
    /// The vertices of the rank.
    own: Range<u32>,
    /// The snapshots of the rank, ascending.
    steps: Vec<usize>,
    /// Which of them the GPU has the entries of, for each form and side.
    latest: RefCell<Vec<Option<usize>>>,
    /// Whether that side is the transpose.
    transposed: Vec<bool>,
    differences: bool,
    /// Whether what is on the GPU is not sent again.
    keeps: bool,
    features: u64,
    states: Vec<StateSize>,
}

impl<'g> CountedCopies<'g> {
    /// As [`SentBytes::of_rank`](super::SentBytes::of_rank).
    pub(crate) fn of_rank(
        plan: &FramePlan,
        rank: usize,
        graph: &'g SnapshotSequence,
        forms: &[Adjacency],
        stages: &[ModelStage],
        features: u64,
        states: Vec<StateSize>,
    ) -> Option<Self> {
        let (gpu, counts) = (plan.gpu?, graph.counts()?);
        let streams = gpu.residency == Residency::Stream;
        if streams && plan.keeps_blocks() {
            return None;
        }
        let vertices = graph.vertices();
        let own = match plan.cells() {
            // Vertices of which nothing is known are divided evenly.
            Some(cells) => {
                let members = cells.grid(plan.head.ranks as u32).members;
                let starts = even_starts(vertices, members);
                let member = rank % members as usize;
                starts[member]..starts[member + 1]
            }
            None => 0..vertices,
        };
        let stores = !plan.stored_states(plan.longest_frame()).is_empty();
        if !streams && plan.cells().is_none() && !stores {
            return None;
        }
        let mut steps: Vec<usize> =
            plan.own_pieces(rank, &plan.frames).into_iter().flatten().collect();
        steps.sort_unstable();
        steps.dedup();
        let products = || stages.iter().filter(|stage| stage.role == StageRole::Halo);
        let multiplies = streams && products().next().is_some() && !steps.is_empty();
        let sides = if products().any(|stage| stage.needs_gradient) { 2 } else { 1 };
        let forms = forms.iter().filter(|form| multiplies && !form.is_for_attention()).count();
        let transposed: Vec<bool> =
            (0..forms).flat_map(|_| (0..sides).map(|side| side == 1)).collect();
        let often = if plan.reuse.first_aggregation { 2 } else { 1 };
        let features = features * own.len() as u64 / u64::from(vertices.max(1));
        let sends_features = streams || plan.cells().is_some();
        let mut made = Self {
            own,
            graph,
            counts,
            steps,
            latest: RefCell::new(vec![None; transposed.len()]),
            transposed,
            differences: gpu.coding == Coding::Differences,
            keeps: gpu.coding != Coding::Whole,
            features: if sends_features { often * features } else { 0 },
            states,
        };
        if gpu.coding == Coding::Auto {
            made.differences = made.pay(plan.longest_frame().div_ceil(plan.blocks.count));
        }
        Some(made)
    }

    fn vertices(&self) -> u64 {
        self.own.len() as u64
    }

    /// The rank's part of some edges.
    fn part(&self, edges: u64) -> u64 {
        let all = u128::from(self.graph.vertices().max(1));
        (u128::from(edges) * self.own.len() as u128 / all) as u64
    }

    /// Entries of the matrix of one of the rank's snapshots.
    fn entries(&self, place: usize) -> u64 {
        self.part(self.graph.edges_at(self.steps[place]) as u64) + self.vertices()
    }

    /// Edges that one of the rank's snapshots has and the one before it in its list does not, and the reverse.
    fn changed(&self, place: usize) -> [u64; 2] {
        if self.graph.is_constant() {
            return [0, 0];
        }
        let (from, to) = (self.steps[place - 1], self.steps[place]);
        let now = self.graph.edges_at(to) as u64;
        let before = self.graph.edges_at(from) as u64;
        let added = (from + 1..=to).map(|step| self.counts.added(step)).sum::<u64>().min(now);
        let added = added.max(now.saturating_sub(before));
        [self.part(added), self.part(before + added - now)]
    }

    /// Words of a snapshot as it is.
    fn whole(&self, place: usize) -> u64 {
        let (rows, entries) = (self.vertices(), self.entries(place));
        let slices = rows.div_ceil(SLICE);
        let values = if self.counts.is_weighted() { entries } else { rows.div_ceil(2) };
        HEADER + slices + slices * SLICE + entries + values
    }

    /// Words that some snapshots take as differences, without what each says of its slices.
    fn lists(&self, places: &Range<usize>, follows: bool, transposed: bool) -> u64 {
        let (mut born, mut dead, mut turned) = (0, 0, 0);
        for place in places.clone() {
            if place == places.start && !follows {
                born += self.entries(place);
                turned += self.vertices();
                continue;
            }
            let [added, removed] = self.changed(place);
            (born, dead) = (born + added, dead + removed);
            turned += (added + removed).min(self.vertices());
        }
        let steps = |count: u64| count.div_ceil(4);
        let weights = if self.counts.is_weighted() { born } else { 0 };
        // Factors of weighted edges, and lengths of rows of a transpose, are told for vertices.
        let told = self.counts.is_weighted() || transposed;
        let numbered = (places.len() as u64 * self.vertices()).div_ceil(2);
        let vertices = if told { numbered.min(turned + (5 * turned).div_ceil(4)) } else { 0 };
        let by_row = (self.vertices() + 1).min(born);
        by_row + born + steps(born) + dead + steps(dead) + weights + vertices
    }

    /// Whether differences are worth their launches.
    fn pay(&self, at_once: usize) -> bool {
        let places = 1..self.steps.len();
        let count = places.len().max(1) as u64;
        let saved: u64 = places
            .map(|place| {
                self.whole(place).saturating_sub(self.lists(&(place..place + 1), true, false))
            })
            .sum();
        saved / count * 4 * at_once.min(Difference::STEPS_MAX) as u64 > SAVED_BYTES_MIN
    }

    /// The bytes of some of the rank's snapshots on one side.
    fn send(&self, side: usize, places: Range<usize>) -> u64 {
        let all = |places: &Range<usize>| places.clone().map(|at| self.whole(at)).sum::<u64>();
        if !self.differences {
            return 4 * all(&places);
        }
        let latest = &mut self.latest.borrow_mut()[side];
        let (mut words, mut from) = (0, places.start);
        while from < places.end {
            let run = from..places.end.min(from + Difference::STEPS_MAX);
            let follows = latest.is_some_and(|latest| latest + 1 == from);
            let frames = run.len() as u64 * (SNAPSHOT + HEADER + self.vertices().div_ceil(SLICE));
            let packet = PACKET + frames + self.lists(&run, follows, self.transposed[side]);
            let whole = all(&run);
            *latest = (packet < whole).then_some(run.end - 1);
            words += packet.min(whole);
            from = run.end;
        }
        4 * words
    }

    fn places(&self, steps: &Range<usize>) -> Range<usize> {
        let first = self.steps.partition_point(|&step| step < steps.start);
        first..first + steps.len()
    }
}

impl CopySizes for CountedCopies<'_> {
    fn restart(&self) {
        self.latest.borrow_mut().fill(None);
    }

    fn sent(&self, here: &Range<usize>, steps: &Range<usize>) -> u64 {
        let (at, places) = (self.places(here), self.places(steps));
        let kept = if at.contains(&places.start) && self.keeps {
            at.end.min(places.end)
        } else {
            places.start
        };
        let sides = 0..self.transposed.len();
        let matrices: u64 = sides.map(|side| self.send(side, kept..places.end)).sum();
        matrices + RowWindow::new_rows(here, steps).len() as u64 * self.features
    }

    fn state(&self, block: usize, vertices: u64) -> u64 {
        self.states.get(block).map_or(0, |size| size.bytes(vertices))
    }
}
