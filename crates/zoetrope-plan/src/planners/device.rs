//! The memory that a plan of frames will take on the GPU of a rank, and what of the plan follows from it:
//! where the graph and the states between blocks lie, and in how many blocks a frame is computed.

use super::GpuFacts;
use super::memory::Estimate;
use crate::plan::device_memory::DeviceMemory;
use crate::plan::frame::Frame;
use crate::plan::frame_plan::Blocks;
use crate::plan::gpu::{Coding, Residency};
use crate::wishes::Wishes;

/// What is lost to the sizes of blocks of memory if the GPU itself told what a step takes: up to 9 %, measured on
/// small shapes; blocks of more than 1 MiB lose less.
const STEP_SLACK: f64 = 1.1;

/// The same of a block of snapshots, of which miniatures compute two, one after the other.
const BLOCK_STEP_SLACK: f64 = 1.05;

/// The same if the processor told it, whose kernels leave less for each other: those of the GRU of T-GCN take 1.6
/// times as much on a GPU.
const OTHER_STEP_SLACK: f64 = 1.7;

/// The share of blocks of memory of another size that have to be taken anew: the others are near enough to free ones.
/// Measured: 0.2 to 0.4 in blocks of two and three snapshots, by one rank and by two.
const TAKEN_ANEW: f64 = 0.5;

/// How much larger than a request a block of memory may be that serves it; a pool takes 1.25, sizes are rounded.
const SERVES: f64 = 1.2;

/// Sizes of blocks above 1 MiB are rounded up by that much.
const ROUNDED: f64 = 1.0 + 1.0 / 64.0;

/// Room for packets of differences has a quarter more than they take.
const ROOM_SLACK: f64 = 1.25;

/// States that a GPU has if the others wait on the host: two that take turns, the gradient of one, and one that is
/// carried on from the frame before.
const STATES_HERE: u64 = 4;

/// A layout on the GPU of a rank.
pub(super) struct OnDevice<'a> {
    /// Of one rank, as a process of its own.
    pub(super) estimate: Estimate<'a>,
    pub(super) facts: &'a GpuFacts,
    pub(super) coding: Coding,
}

/// What lies on the GPU, and what that takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Where the graph lies.
    pub(super) graph: Residency,
    /// Where the states between blocks lie.
    pub(super) block_states: Residency,
    pub(super) memory: DeviceMemory,
}

impl OnDevice<'_> {
    /// The bytes by consumer if the graph and the states between blocks lie there.
    fn memory(&self, graph: Residency, block_states: Residency) -> DeviceMemory {
        let host = self.estimate.memory();
        // As counted for the host: one before each block, one after the last, whose gradient flows back.
        let (all, states) = (host.checkpoints, self.estimate.blocks.count as u64 + 1);
        let (slack, rounds) = (self.slack(), self.rounds());
        DeviceMemory {
            graph: match graph {
                Residency::Resident => self.resident_graph(),
                Residency::Stream => self.streamed_graph(),
            },
            features: ((self.features(graph) + self.facts.target_bytes) as f64 * ROUNDED) as u64,
            // What is saved is on the host.
            parameters: self.estimate.workload.learning_bytes(),
            activations: (host.activations as f64 * slack * rounds) as u64,
            checkpoints: match block_states {
                Residency::Resident => all,
                Residency::Stream => all * states.min(STATES_HERE) / states,
            },
            exchanged: (host.exchanged as f64 * rounds) as u64,
            workspace: self.facts.workspace_bytes,
        }
    }

    /// Where the graph and the states between blocks lie: on the GPU if everything has room there, unless asked
    /// otherwise. States are fewer bytes than the graph that every block would send again, so they leave first.
    pub(super) fn placed(&self, wishes: &Wishes) -> Placed {
        use Residency::{Resident, Stream};
        let all = [(Resident, Resident), (Resident, Stream), (Stream, Resident), (Stream, Stream)];
        let is_asked = |&(graph, block_states): &(Residency, Residency)| {
            wishes.residency.is_none_or(|asked| asked == graph)
                && wishes.block_states.is_none_or(|asked| asked == block_states)
        };
        let placed = |(graph, block_states)| Placed {
            graph,
            block_states,
            memory: self.memory(graph, block_states),
        };
        let all: Vec<Placed> = all.into_iter().filter(is_asked).map(placed).collect();
        let fits = |placed: &&Placed| placed.memory.total() <= self.facts.memory_limit;
        let found = all.iter().find(fits);
        let least = || all.iter().min_by_key(|placed| placed.memory.total());
        *found.or_else(least).expect("there is a way for every wish")
    }

    /// The share of snapshots and of vertices of each that the rank has.
    fn shares(&self) -> (f64, f64) {
        let Some(shared) = self.estimate.shared else { return (1.0, 1.0) };
        let Some(cells) = shared.cells else { return (1.0, 1.0) };
        let grid = cells.strategy.grid(shared.ranks);
        (1.0 / f64::from(grid.groups), 1.0 / f64::from(grid.members))
    }

    /// How much more a step takes than miniatures told.
    fn slack(&self) -> f64 {
        let Blocks { count, recompute } = self.estimate.blocks;
        let workload = self.estimate.workload;
        match (workload.measured_on_gpu, workload.cost_in(count, recompute).of_a_block) {
            (false, _) => OTHER_STEP_SLACK,
            (true, false) => STEP_SLACK,
            (true, true) => BLOCK_STEP_SLACK,
        }
    }

    /// How often the memory of the largest block is held, because others need blocks of memory of other sizes.
    ///
    /// A tape on a GPU keeps its memory where it is, and what is much larger than a request does not serve it.
    /// Structure encoders of five snapshots by two ranks have three in one block and two in the next; time encoders
    /// have all of them. Half of a step is taken to be the structure encoders'.
    fn rounds(&self) -> f64 {
        let steps = self.estimate.frames.iter().map(|frame| frame.steps).max().unwrap_or(1);
        let Blocks { count, recompute } = self.estimate.blocks;
        let groups = self.groups() as usize;
        let blocks = if recompute { count.clamp(1, steps.max(1)) } else { 1 };
        let (least, largest) = (steps / blocks, steps.div_ceil(blocks));
        let mut parts = vec![largest.div_ceil(groups)];
        // Which rank has more changes from block to block.
        if blocks > 1 {
            parts.extend([largest / groups, least.div_ceil(groups), least / groups]);
        }
        let structure = held(parts) / (largest as f64 / groups as f64);
        let time = held(vec![largest, least]) / largest as f64;
        let even = (largest.div_ceil(groups) as f64 * groups as f64 / largest as f64 + 1.0) / 2.0;
        even + ((structure + time) / 2.0 - even) * TAKEN_ANEW
    }

    /// Between how many groups of ranks the snapshots of a block are shared.
    fn groups(&self) -> u32 {
        let cells = self.estimate.shared.and_then(|shared| Some((shared.ranks, shared.cells?)));
        cells.map_or(1, |(ranks, cells)| cells.strategy.grid(ranks).groups)
    }

    /// The most snapshots of a piece that the rank has.
    fn at_once(&self) -> f64 {
        let steps = self.estimate.frames.iter().map(|frame| frame.steps).max().unwrap_or(1);
        let block = steps.div_ceil(self.estimate.blocks.count);
        let (groups, _) = self.shares();
        (block as f64 * groups).ceil()
    }

    fn resident_graph(&self) -> u64 {
        let (groups, members) = self.shares();
        let stride = |pair: &[Frame]| pair[1].start.abs_diff(pair[0].start).max(1);
        let frames = self.estimate.frames;
        let often = frames
            .windows(2)
            .next()
            .map_or(1.0, |pair| (frames[0].steps as f64 / stride(pair) as f64).max(1.0));
        // Frames that overlap give a rank other snapshots of each.
        (self.facts.graph_bytes as f64 * (groups * often).min(1.0) * members) as u64
    }

    /// Two groups of places; and for differences the entries of a snapshot twice, with packets of two groups.
    fn streamed_graph(&self) -> u64 {
        let (_, members) = self.shares();
        let (largest, at_once) = (self.facts.snapshot_bytes as f64 * members, self.at_once());
        let places = 2.0 * at_once * largest;
        let differences = match self.coding {
            Coding::Whole => 0.0,
            Coding::Auto | Coding::Differences => {
                let packet = 1.0 + (at_once * 2.0 * self.facts.change).min(at_once);
                2.0 * (1.0 + packet) * largest * ROOM_SLACK
            }
        };
        (places + differences) as u64
    }

    /// Those of all snapshots, or of two pieces, if these go to the GPU piece by piece.
    fn features(&self, residency: Residency) -> u64 {
        let by_piece = residency == Residency::Stream
            || self.estimate.shared.is_some_and(|one| one.cells.is_some());
        let (_, members) = self.shares();
        let reuse = if self.estimate.reuse.first_aggregation { 2.0 } else { 1.0 };
        let steps =
            if by_piece { 2.0 * self.at_once() } else { self.estimate.workload.edges.len() as f64 };
        (steps * self.facts.feature_bytes as f64 * members * reuse) as u64
    }
}

/// The sum of those sizes that no larger one serves.
fn held(mut sizes: Vec<usize>) -> f64 {
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    let mut kept: Vec<usize> = Vec::new();
    for size in sizes.into_iter().filter(|&size| size > 0) {
        if kept.last().is_none_or(|&larger| larger as f64 > SERVES * size as f64) {
            kept.push(size);
        }
    }
    kept.iter().sum::<usize>() as f64
}
